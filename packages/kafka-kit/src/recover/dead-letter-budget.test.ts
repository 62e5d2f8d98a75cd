import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BUDGET_RULE, DeadLetterBudget } from './dead-letter-budget.ts';

const filled = (...fates: readonly (readonly [key: string | undefined, records: number])[]): DeadLetterBudget => {
  const budget = new DeadLetterBudget(BUDGET_RULE);
  for (const [key, records] of fates) budget.add(key, records);
  return budget;
};
const failing = (keys: number, each: number): [string, number][] => Array.from({ length: keys }, (_, i) => [`k${i}`, each]);

it.each([
  ['nothing but one bad key', filled(['k', 100_000]), undefined],
  ['four keys that make all of the traffic', filled(...failing(4, 250)), undefined],
  ['five keys, and nothing went well', filled(...failing(5, 200)), 1000],
  ['twenty keys, and nearly half of the rest goes well', filled([undefined, 450], ...failing(20, 27)), 540],
  ['twenty keys, and more goes well than fails', filled([undefined, 520], ...failing(20, 24)), undefined],
  ['one bad key is most of it, and the few others fail with it', filled(['k', 950], ...failing(4, 10)), undefined],
  ['a handful of bad records at the beginning', filled(...failing(19, 5)), undefined],
  ['what failed long ago', filled(...failing(20, 50), [undefined, 600]), undefined],
])('%s', (_, budget, dead) => {
  expect(budget.verdict()?.dead).toBe(dead);
});

it('what it counts is what the latest records are', () => {
  const fate = fc.tuple(fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { nil: undefined }), fc.integer({ min: 0, max: 30 }));
  const rule = { windowRecords: 40, recordsPerKey: 4, minKeys: 2, minRecords: 5 };
  fc.assert(
    fc.property(fc.array(fate, { maxLength: 40 }), (fates) => {
      const budget = new DeadLetterBudget(rule);
      for (const [key, records] of fates) budget.add(key, records);
      const latest = fates.flatMap(([key, records]) => Array.from({ length: records }, () => key)).slice(-rule.windowRecords);
      const counts = new Map<string, number>();
      for (const key of latest) if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
      const counted = [...counts.values()].reduce((sum, records) => sum + Math.min(records, rule.recordsPerKey), 0);
      const well = latest.filter((key) => key === undefined).length;
      const most = counts.size >= rule.minKeys && counted >= rule.minRecords && counted > well;
      const verdict = budget.verdict();
      expect(verdict === undefined ? undefined : [verdict.records, verdict.dead, new Map(verdict.keys)]).toEqual(
        most ? [latest.length, latest.length - well, counts] : undefined,
      );
    }),
    { numRuns: 500 },
  );
});
