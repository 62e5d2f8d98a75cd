import { describe, expect, it } from 'vitest';
import { readRules } from '../rules/read-rules.ts';
import { problemLine } from '../rules/reading.ts';
import { readCases } from './read-cases.ts';

const RULES = `rules:
  - {name: errors, summary: s, group_by: [service], measure: count, window: 1m, condition: "> 1", response: {do: a, do_not: b}}`;

function problemsOf(text: string): string[] {
  const options = { file: 'rules.yaml', paneMs: 10_000, latenessMs: 60_000 };
  const read = readCases('cases.yaml', text, (path) =>
    path === 'gone.yaml'
      ? { unreadable: 'The rules file gone.yaml can not be read.' }
      : readRules(path === 'bad.yaml' ? 'rules: 5' : RULES, options),
  );
  return 'problems' in read ? read.problems.map(problemLine) : [];
}

const one = (changes: string) => `cases:\n- name: one\n${changes}`;
const GOOD = '  events: []\n  expect: []\n';

describe('readCases', () => {
  it('finds nothing wrong with a good file', () => {
    expect(problemsOf(one(GOOD))).toEqual([]);
    expect(problemsOf(`${RULES}\n${one(GOOD)}`)).toEqual([]);
  });

  it.each([
    ['an empty file', '', /^cases\.yaml:1:1: The file is empty/],
    ['no cases', 'rules: []', /^cases\.yaml:1:1: The key cases is missing/],
    ['no expectation', one('  events: []'), /^cases\.yaml:2:3: The key expect is missing/],
    ['an unknown key', one(`${GOOD}  expects: []`), /^cases\.yaml:5:3: There is no key "expects" in a case.*expect/],
    ['a rules file that is not there', one(`${GOOD}  rules: gone.yaml`), /^cases\.yaml:5:10: The rules file gone\.yaml can not be read/],
    ['a bad rules file', one(`${GOOD}  rules: bad.yaml`), /^rules\.yaml:1:8: This must be a list/],
    ['a rule that is not there', one(`${GOOD}  only: [error]`), /^cases\.yaml:5:9: There is no rule error\./],
    [
      'a time',
      one('  events: [{at: 5, event: {service: a}}]\n  expect: []'),
      /^cases\.yaml:3:17: This must be a time after the start.*, and 5 is not/,
    ],
    ['a time in words', one('  events: [{at: soon, event: {service: a}}]\n  expect: []'), /^cases\.yaml:3:17: .* and "soon" is not/],
    [
      'an event that the gateway refuses',
      one('  events: [{at: 5s, event: {service: a, status_code: "500"}}]\n  expect: []'),
      /^cases\.yaml:3:54: The gateway refuses this event: status_code must be/,
    ],
    [
      'an event without a service',
      one('  events: [{at: 5s, event: {region: a}}]\n  expect: []'),
      /^cases\.yaml:3:28: The gateway refuses this event: service is required/,
    ],
    [
      'too many events',
      one('  events: [{at: 0s, times: 600000, event: {service: a}}, {at: 0s, times: 600000, event: {service: a}}]\n  expect: []'),
      /^cases\.yaml:3:11: A case has at most 1000000 events, not 1200000/,
    ],
    [
      'an expected alert of a rule that is not there',
      one('  events: []\n  expect: [{rule: error, fires_at: 5s}]'),
      /^cases\.yaml:4:19: There is no rule error that takes part/,
    ],
    [
      'an expected alert without its group',
      one('  events: []\n  expect: [{rule: errors, fires_at: 5s}]'),
      /^cases\.yaml:4:12: The rule errors groups by service: name exactly these/,
    ],
    [
      'bounds that end before they begin',
      one('  events: []\n  expect: [{rule: errors, group: {service: a}, fires_at: 9s..5s}]'),
      /^cases\.yaml:4:58: This must be a time after the start.* "9s\.\.5s" is not/,
    ],
    [
      'an event with very many values',
      one(`  events: [{at: 0s, event: {service: a, x: [${'1,'.repeat(1000)}1]}}]\n  expect: []`),
      /^cases\.yaml:3:28: This must be a map of an event’s fields, with at most 1000 values/,
    ],
    [
      'an event that is nested deeply',
      one(`  events: [{at: 0s, event: {service: a, x: ${'['.repeat(40)}${']'.repeat(40)}}}]\n  expect: []`),
      /^cases\.yaml:3:\d+: This must be a map of an event’s fields/,
    ],
  ])('tells %s with its line and column', (_, text, problem) => {
    expect(problemsOf(text)[0]).toMatch(problem);
  });
});
