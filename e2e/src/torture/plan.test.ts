import { expect, test } from 'vitest';
import { GROUPS, makePlan, stepsOf } from './plan.ts';

test('a plan holds as many kills of each group as were asked for, and zombies, visitors and brokers beside them', () => {
  const plan = makePlan(1, 30);
  for (const group of GROUPS) {
    const kinds = plan.groups[group].map(({ kind }) => kind).sort();
    expect(kinds).toEqual([...Array(30).fill('kill'), ...Array(6).fill('visit'), ...Array(6).fill('zombie')]);
  }
  expect(plan.brokers).toHaveLength(6);
  expect(stepsOf(plan)).toHaveLength(2 * 42 + 6);
});

test('the same seed makes the same plan, another one makes another', () => {
  expect(makePlan(7, 5)).toEqual(makePlan(7, 5));
  expect(makePlan(8, 5)).not.toEqual(makePlan(7, 5));
});
