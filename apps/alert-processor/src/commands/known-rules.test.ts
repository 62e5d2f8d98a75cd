import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AlertState } from '../decide/alert-state.ts';
import { alertState } from '../testing/alert-states.ts';
import { groupByOf, type KnownRules, knowledgeOf, knownRules } from './known-rules.ts';
import { matchedBy, silenceOf } from './silence-request.ts';

const folder = mkdtempSync(join(tmpdir(), 'tailrace-known-'));
const file = join(folder, 'rules.yaml');
const NOW_MS = Date.UTC(2026, 0, 1);
const unknown: KnownRules = { unknown: 'ALERT_RULES is not set' };
let known: KnownRules;

beforeAll(async () => {
  writeFileSync(
    file,
    `rules:
- {name: error-burst, summary: s, group_by: [service, region], measure: count, window: 1m, condition: "> 1", response: {do: d, do_not: n}}
`,
  );
  known = await knownRules({ ALERT_RULES: file });
});
afterAll(() => rmSync(folder, { recursive: true }));

const fired = alertState({ rule: 'errors-by-service', group: '["shop",null]' });
const flags = { for: '1h', comment: 'x' };

test('a misspelt rule is refused where the rules are known, also one of tailrace itself', () => {
  expect(() => knowledgeOf('eror-burst', known, [])).toThrow(`There is no rule eror-burst (did you mean error-burst?) in ${file}.`);
  expect(() => knowledgeOf('tailrace.behnid', unknown, [])).toThrow('There is no rule tailrace.behnid (did you mean tailrace.behind?)');
  expect(knowledgeOf('error-burst', known, [])).toEqual({ groupBy: ['service', 'region'], unchecked: undefined });
  expect(knowledgeOf('tailrace.groups', known, []).unchecked).toBeUndefined();
});

test('where no rules are known, what has fired is known, and all else is said not to be checked', () => {
  expect(knowledgeOf('errors-by-service', unknown, [fired])).toEqual({ groupBy: ['service', 'region'], unchecked: undefined });
  expect(knowledgeOf('errors-by-servce', unknown, [fired]).unchecked).toBe(
    'Whether there is a rule errors-by-servce (did you mean errors-by-service?) was not checked: ALERT_RULES is not set.',
  );
  const words = { ...flags, rule: 'slow', group: ['service=shop'] };
  expect(() => silenceOf(words, NOW_MS, knowledgeOf('slow', unknown, []))).toThrow('Nobody here knows what slow groups by');
});

test('a rule that has not fired yet is silenced by group where the rules are known', () => {
  const words = { ...flags, rule: 'error-burst', group: ['region', 'service=shop'] };
  expect(silenceOf(words, NOW_MS, knowledgeOf('error-burst', known, []))).toMatchObject({ group: '["shop",null]' });
});

test('rules that are refused hold up no silence: they are not known, and it is said why', async () => {
  const bad = join(folder, 'bad.yaml');
  writeFileSync(bad, 'rules: 5\n');
  expect(await knownRules({ ALERT_RULES: bad })).toEqual({
    unknown: expect.stringMatching(/bad\.yaml are refused as they stand now \(.*:1:8: /),
  });
  expect(await knownRules({ ALERT_RULES: join(folder, 'none') })).toEqual({ unknown: expect.stringContaining('can not be read') });
  expect(await knownRules({})).toEqual({ unknown: expect.stringContaining('is not set') });
  expect(groupByOf('error-burst', unknown, [])).toBeUndefined();
});

test('a silence says how many of the alerts that fire now it is over', () => {
  const alerts: AlertState[] = [
    fired,
    { ...fired, group: '["web",null]' },
    { ...fired, group: '["nix",null]', state: 'ok' },
    alertState({ rule: 'slow', group: '[]' }),
  ];
  const silence = { id: 's', fromMs: 0, untilMs: 1, comment: 'x' };
  expect(matchedBy(silence, alerts)).toHaveLength(3);
  expect(matchedBy({ ...silence, rule: 'errors-by-service' }, alerts)).toHaveLength(2);
  expect(matchedBy({ ...silence, rule: 'errors-by-service', group: '["chekout",null]' }, alerts)).toEqual([]);
  expect(matchedBy({ ...silence, rule: 'errors-by-service', group: '["nix",null]' }, alerts)).toEqual([]);
});
