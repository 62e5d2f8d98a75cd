import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeAll } from '../measures/merge.ts';
import { changed, problemsOf, ruleOf } from '../testing/rules-text.ts';
import { conditionHolds } from './condition-holds.ts';
import type { EventObject } from './rule.ts';

/** The only problem of a rule with this measure and condition; undefined: none. */
function problemOf(measure: string, condition: string): string | undefined {
  const [problem, ...others] = problemsOf(changed('measure: count', `measure: ${measure}`).replace('"> 5"', JSON.stringify(condition)));
  expect(others).toEqual([]);
  return problem?.slice('rules.yaml:6:16: '.length);
}

describe('a condition that can never hold, or always does, is refused with what is meant', () => {
  it.each([
    [
      '{ratio: {of: status_code >= 500}}',
      '> 20',
      'A ratio lies between 0 and 1 (0.2 is 20 percent), so "> 20" never holds: 20 percent is "> 0.2".',
    ],
    [
      '{ratio: {of: status_code >= 500}}',
      '>= 1.1',
      'A ratio lies between 0 and 1 (0.2 is 20 percent), so ">= 1.1" never holds: 1.1 percent is ">= 0.011".',
    ],
    ['{ratio: {of: status_code >= 500}}', '< 0', 'A ratio lies between 0 and 1 (0.2 is 20 percent), so "< 0" never holds.'],
    ['{ratio: {of: status_code >= 500}}', '<= 1', 'A ratio lies between 0 and 1 (0.2 is 20 percent), so "<= 1" always holds.'],
    ['count', '< 0', 'A count is 0 or more, so "< 0" never holds.'],
    ['count', '>= 0', 'A count is 0 or more, so ">= 0" always holds.'],
    ['{sum: bytes}', '< 0', 'A sum of this field is 0 or more, so "< 0" never holds.'],
    ['{mean: latency_ms}', '<= -1', 'This field is 0 or more, so "<= -1" never holds.'],
    ['{mean: status_code}', '> 600', 'This field lies between 100 and 599, so "> 600" never holds.'],
    ['{percentile: {field: status_code, p: 95}}', '< 60', 'This field lies between 100 and 599, so "< 60" never holds.'],
    ['{distinct: {field: user_id, limit: 100}}', '< 0', 'Different values are counted from 0 to the limit of 100, so "< 0" never holds.'],
    [
      '{distinct: {field: user_id, limit: 100}}',
      '> 101',
      'It is counted exactly up to the limit of 100 only: the condition can not be about more.',
    ],
    ['{rate: {against: 1h}}', '< 0', 'A rate is 0 or more (2 is twice as many as earlier), so "< 0" never holds.'],
  ])('%s %s', (measure, condition, problem) => {
    expect(problemOf(measure, condition)).toBe(problem);
  });

  it.each([
    ['{ratio: {of: status_code >= 500}}', '>= 1'],
    ['{ratio: {of: status_code >= 500}}', '<= 0'],
    ['count', '< 1'],
    ['count', '> 0'],
    ['{distinct: {field: user_id, limit: 100}}', '> 100'],
    ['{mean: attributes.temperature}', '< -10'],
    ['{sum: attributes.balance}', '< 0'],
    ['{rate: {against: 1h}}', '> 20'],
  ])('%s %s is taken', (measure, condition) => {
    expect(problemOf(measure, condition)).toBeUndefined();
  });
});

/** Each with a condition that can hold. */
const MEASURES = [
  ['count', '> 1'],
  ['{ratio: {of: status_code >= 500}}', '> 0.5'],
  ['{sum: bytes}', '> 1'],
  ['{sum: attributes.n}', '> 1'],
  ['{mean: latency_ms}', '> 1'],
  ['{mean: status_code}', '> 300'],
  ['{percentile: {field: status_code, p: 99}}', '> 300'],
  ['{percentile: {field: latency_ms, p: 1}}', '> 1'],
  ['{distinct: {field: attributes.n, limit: 3}}', '> 1'],
] as const;

/** As the gateway takes them. */
const events: fc.Arbitrary<readonly EventObject[]> = fc.array(
  fc.record(
    {
      status_code: fc.constantFrom(100, 200, 500, 599),
      bytes: fc.nat(),
      latency_ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
      attributes: fc.record({ n: fc.integer({ min: -5, max: 5 }) }),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 12 },
);
const conditions = fc
  .tuple(
    fc.constantFrom('>', '>=', '<', '<='),
    fc.oneof(fc.integer({ min: -3, max: 12 }), fc.constantFrom(0.5, 99, 100, 101, 599, 605, 610)),
  )
  .map(([operator, threshold]) => ({ operator, threshold }) as const);

it.each(MEASURES)('what measures give of any events agrees: %s', (measure, fitting) => {
  const rule = ruleOf(changed('measure: count', `measure: ${measure}`).replace('> 5', fitting));
  const measured = (folded: readonly EventObject[]): number | undefined => {
    const pane = rule.measure.open();
    for (const event of folded) pane.fold(event);
    const merged = mergeAll([pane.partial()]);
    return merged === undefined ? undefined : rule.measure.value(merged);
  };
  fc.assert(
    fc.property(events, conditions, (folded, { operator, threshold }) => {
      const value = measured(folded);
      const problem = problemOf(measure, `${operator} ${threshold}`);
      if (value === undefined || problem === undefined || problem.startsWith('It is counted')) return;
      expect(conditionHolds({ operator, threshold }, value), `${value}: ${problem}`).toBe(problem.includes('always holds'));
    }),
    { numRuns: 300 },
  );
});
