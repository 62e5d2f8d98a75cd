import { expect, test } from 'vitest';
import type { Rule, RuleSet } from '../rules/rule.ts';
import { reachFaults } from './check-reach.ts';

const HOUR_MS = 3_600_000;
const rule = (name: string, windowMs: number, rest: Partial<Rule> = {}): Rule =>
  ({ name, window: { kind: 'sliding', ms: windowMs }, forMs: 0, ...rest }) as Rule;
const set = (...rules: Rule[]): RuleSet => ({ rules, paneMs: 10_000, latenessMs: 60_000, reachMs: 0, silences: [] });

test('a rule that looks further back than the topic keeps its records is refused by name, with what it would take', () => {
  const rules = set(rule('short', HOUR_MS), rule('long', 20 * HOUR_MS, { compareMs: 4 * HOUR_MS }));
  expect(reachFaults('alert-partials', 48 * HOUR_MS, rules)).toEqual([
    'Rule long looks back 86400000 ms, so with the lateness of 60000 ms and a day in hand alert-partials must keep its records for 172860000 ms, and keeps them for 172800000 ms: shorten its window, or raise retention.ms of the topic.',
  ]);
});

test('every span that a decision needs counts', () => {
  const spans = { forMs: HOUR_MS, compareMs: HOUR_MS, rememberMs: HOUR_MS };
  const just = 24 * HOUR_MS + 60_000 + 4 * HOUR_MS;
  expect(reachFaults('t', just, set(rule('r', HOUR_MS, spans)))).toEqual([]);
  for (const part of Object.keys(spans))
    expect(reachFaults('t', just, set(rule('r', HOUR_MS, { ...spans, [part]: HOUR_MS + 1 })))).toHaveLength(1);
});

test('a topic that keeps its records for ever holds every rule', () => {
  expect(reachFaults('t', undefined, set(rule('r', 1000 * HOUR_MS)))).toEqual([]);
});
