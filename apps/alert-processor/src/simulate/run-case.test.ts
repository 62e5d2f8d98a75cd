import { describe, expect, it } from 'vitest';
import { readRules } from '../rules/read-rules.ts';
import { readCases } from './read-cases.ts';
import { runCase } from './run-case.ts';

const RULES = `
rules:
  - name: errors
    summary: "{service} answers with errors"
    where: status_code >= 500
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 10"
    severity: critical
    response: {do: look, do_not: restart}
  - name: silent
    summary: "{service} is silent"
    group_by: [service]
    measure: absence
    window: 1m
    remember: 10m
    response: {do: look, do_not: restart}
  - name: traffic
    summary: all traffic
    measure: count
    window: {tumbling: 1m}
    condition: "< 5"
    for: 1m
    response: {do: look, do_not: restart}
silences:
  - {rule: errors, group: {service: cart}, from: 2026-01-01T00:00:00Z, until: 2026-01-01T00:01:00Z, comment: planned}
`;

function differencesOf(...cases: readonly string[]): (readonly string[])[] {
  const text = `cases:\n${cases.map((each, i) => `- name: case ${i}\n${each}`).join('\n')}`;
  const read = readCases('cases.yaml', text, () => readRules(RULES, { file: 'rules.yaml', paneMs: 10_000, latenessMs: 60_000 }));
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  return read.cases.map((each) => runCase(each).differences);
}

const burst = (expect: string, service = 'shop') => `
  only: [errors]
  events:
    - {at: 5s, every: 1s, times: 20, event: {service: ${service}, status_code: 503}}
    - {at: 0s, every: 5s, times: 60, event: {service: ${service}, status_code: 200}}
  expect: ${expect}`;

const EXPECTED = 'rule: errors, group: {service: shop}';

describe('a test case', () => {
  it('is good when all alerts are as expected', () => {
    expect(
      differencesOf(
        // The eleventh error comes at 15 s; the window that ends at 1m20s holds five, and lateness has passed a minute later.
        burst(`[{${EXPECTED}, fires_at: 15s, resolves_at: 2m20s, severity: critical, value: 11}]`),
        burst(`[{${EXPECTED}, fires_at: 10s..20s, value: "> 10"}]`),
      ),
    ).toEqual([[], []]);
  });

  it.each([
    ['an alert that nobody expects', '[]', 'errors service=shop fired at 15s: not expected. count 11 > 10 in 1 min.'],
    [
      'a wrong time',
      `[{${EXPECTED}, fires_at: 16s..17s}]`,
      'errors service=shop fired at 15s: expected at 16s..17s. count 11 > 10 in 1 min.',
    ],
    ['a wrong end', `[{${EXPECTED}, fires_at: 15s, resolves_at: 1m}]`, 'errors service=shop was over at 2m20s: expected at 1m.'],
    ['an end', `[{${EXPECTED}, fires_at: 15s, resolves_at: never}]`, 'errors service=shop was over at 2m20s: expected never.'],
    ['a severity', `[{${EXPECTED}, fires_at: 15s, severity: info}]`, 'errors service=shop has the severity critical: expected info.'],
    ['a value', `[{${EXPECTED}, fires_at: 15s, value: 12}]`, 'errors service=shop measured 11 when it fired: expected 12.'],
    ['a comparison', `[{${EXPECTED}, fires_at: 15s, value: "<= 3"}]`, 'errors service=shop measured 11 when it fired: expected <= 3.'],
    ['a silence', `[{${EXPECTED}, fires_at: 15s, silenced: true}]`, 'errors service=shop was told: expected a silence.'],
    ['a second alert', `[{${EXPECTED}, fires_at: 15s}, {${EXPECTED}, fires_at: 3m}]`, 'errors service=shop did not fire: expected at 3m.'],
  ])('says what is not as expected: %s', (_, expected, difference) => {
    expect(differencesOf(burst(expected))).toEqual([[difference]]);
  });

  it('says at once what did not fire and what did instead', () => {
    expect(differencesOf(burst('[{rule: errors, group: {service: cart}, fires_at: 15s}]'))).toEqual([
      ['errors service=cart did not fire: expected at 15s.', 'errors service=shop fired at 15s: not expected. count 11 > 10 in 1 min.'],
    ]);
  });

  it('has silences: what fires under one is told when it ends', () => {
    expect(differencesOf(burst('[{rule: errors, group: {service: cart}, fires_at: 1m, resolves_at: 2m20s}]', 'cart'))).toEqual([[]]);
    expect(
      differencesOf(`${burst('[{rule: errors, group: {service: cart}, fires_at: 15s, silenced: true}]', 'cart')}\n  until: 50s`),
    ).toEqual([[]]);
  });

  it('misses what is absent, once time has passed it', () => {
    // The last event at 30 s is of the pane that ends at 40 s: [40 s, 100 s) is the first empty window, and lateness passes it a minute later.
    const silent = `
  only: [silent]
  events:
    - {at: 0s, every: 10s, times: 4, event: {service: shop}}
    - {at: 5m, event: {service: shop}}
  until: 7m
  expect: [{rule: silent, group: {service: shop}, fires_at: 2m40s, resolves_at: 6m10s}]`;
    expect(differencesOf(silent)).toEqual([[]]);
  });

  it('fires below a threshold only once the windows are complete, and the time of `for` is over', () => {
    // [2m, 3m) and [3m, 4m) are empty, and lateness passes 4m at 5m.
    expect(
      differencesOf(`
  only: [traffic]
  events: [{at: 0s, every: 5s, times: 24, event: {service: shop}}]
  expect: [{rule: traffic, fires_at: 5m, resolves_at: never, value: 0}]`),
    ).toEqual([[]]);
  });

  it('counts an event in the time in which it happened, also when it arrives late, and not when it is too late', () => {
    const late = (delay: string, expected: string) => `
  only: [errors]
  events:
    - {at: 0s, every: 1s, times: 11, delay: ${delay}, event: {service: shop, status_code: 500}}
    - {at: 0s, every: 1s, times: 200, event: {service: shop, status_code: 200}}
  expect: ${expected}`;
    expect(
      differencesOf(late('55s', `[{${EXPECTED}, fires_at: 1m5s}]`), late('2m', '[]'), late('2m', `[{${EXPECTED}, fires_at: 2m..3m}]`)),
    ).toEqual([[], [], ['errors service=shop did not fire: expected at 2m..3m.']]);
  });

  it('gives the same alerts whichever partitions the events lie in', () => {
    const of = (partition: number, at: string, times: number) =>
      `    - {at: ${at}, times: ${times}, partition: ${partition}, event: {service: shop, status_code: 500}}`;
    expect(
      differencesOf(`
  only: [errors]
  events:
${of(0, '1s', 4)}
${of(1, '2s', 4)}
${of(2, '3s', 3)}
  expect: [{${EXPECTED}, fires_at: 5s, value: 11}]`),
    ).toEqual([[]]);
  });
});
