import { describe, expect, it } from 'vitest';
import { readCases } from '../simulate/read-cases.ts';
import { runCase, type SeenAlert } from '../simulate/run-case.ts';
import { OPTIONS, ruleOf } from '../testing/rules-text.ts';
import { readRules } from './read-rules.ts';
import { ruleLine } from './rule-line.ts';

const rule = (name: string, lines: string) => `
  - name: ${name}
    summary: nothing came
    where: service in ("shop", "cart")
    window: 1m
    response: {do: look, do_not: wait}
    ${lines}`;

const RULES = `rules:${rule('few', 'group_by: [service]\n    measure: count\n    condition: "< 1"')}${rule(
  'silent',
  'group_by: [service]\n    measure: absence\n    remember: 10m',
)}${rule('few-of-all', 'measure: count\n    condition: "< 1"')}${rule('silent-of-all', 'measure: absence\n    remember: 10m')}
`;

/** What fires of events of these services (and always of another one, so that time goes on), in half an hour. */
function fired(...events: readonly string[]): readonly string[] {
  const always = '{at: 0s, every: 5s, times: 360, event: {service: other}}';
  const text = `cases:\n- {name: a, events: [${[always, ...events].join(', ')}], expect: [], until: 30m}\n`;
  const read = readCases('cases.yaml', text, () => readRules(RULES, OPTIONS));
  if ('problems' in read) throw new Error(JSON.stringify(read.problems));
  const [only] = read.cases;
  if (only === undefined) throw new Error('there is no case');
  return runCase(only)
    .alerts.map(({ rule, group }: SeenAlert) => `${rule} ${group}`)
    .sort();
}

describe('of what never came', () => {
  it('nothing is missed, neither by absence nor by a count below 1, with groups and without', () => {
    expect(fired()).toEqual([]);
  });

  it('what came once and not again is missed by both', () => {
    expect(fired('{at: 2m, event: {service: shop}}')).toEqual(['few ["shop"]', 'few-of-all []', 'silent ["shop"]', 'silent-of-all []']);
  });
});

it('a rule that fires when nothing is counted says whom it does not miss, and what would', () => {
  const lineOf = (condition: string) => {
    const of = ruleOf(`rules:${rule('few', `group_by: [service]\n    measure: count\n    condition: "${condition}"`)}\n`);
    return ruleLine(of);
  };
  expect(lineOf('< 1')).toContain(
    'count < 1 in 1m, for each service; only what came before is missed (absence says for how long); looks back 1m',
  );
  expect(lineOf('<= 0')).toContain('absence');
  expect(lineOf('< 5')).not.toContain('absence');
  expect(lineOf('> 1')).not.toContain('absence');
});
