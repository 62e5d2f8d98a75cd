import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { planMark, type ReplayPlan, ReplayPlans } from './replay-plans.ts';
import { CHAIN, MemoryStore } from './testing/index.ts';

const plan = (attempt: string): ReplayPlan => ({
  attempt,
  madeAtMs: 3,
  stream: 'service-events',
  into: 'indexer',
  window: { fromMs: 1, toMs: 2, by: 'broker', skewMs: 0 },
  partitions: [
    {
      ...CHAIN,
      ranges: [{ first: 0, next: 5 }],
      records: 5,
      lakeBytes: 7,
      missing: [{ first: 5, next: 6, kind: 'hole', afterMs: null, beforeMs: 4 }],
      clockSteps: [{ offset: 2, backMs: 400_000 }],
    },
  ],
});

it('plans get one number after another, also where many are made at once, and come back as they were', async () => {
  const store = new MemoryStore();
  const plans = new ReplayPlans(store, 'lake');
  const attempts = Array.from({ length: 12 }, (_, i) => `a${i}`);
  const ids = await Promise.all(attempts.map((attempt) => plans.put(plan(attempt))));
  expect([...ids].sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i + 1));
  for (const [i, id] of ids.entries()) expect(await plans.get(id)).toEqual({ id, ...plan(`a${i}`) });
  const listed: number[] = [];
  for await (const { id } of plans.list()) listed.push(id);
  expect(listed).toEqual([...ids].sort((a, b) => a - b));
  expect([...store.objects.keys()][0]).toBe('lake/_replay/plans/0000000001.json');
  expect(await plans.get(13)).toBeUndefined();
});

it('plans of one number that are not the same have names of their own on Kafka', () => {
  const [one, other] = [randomUUID(), randomUUID()];
  expect(planMark({ id: 7, attempt: one })).toMatch(/^7-[0-9a-f]{8}$/);
  expect(planMark({ id: 7, attempt: one })).not.toBe(planMark({ id: 7, attempt: other }));
});

it('a lost answer makes no second plan', async () => {
  // As a client answers that puts a second time what it got no answer for.
  class LostAnswers extends MemoryStore {
    override async putIfAbsent(key: string, body: Buffer): Promise<'exists'> {
      await super.putIfAbsent(key, body);
      return 'exists';
    }
  }
  const store = new LostAnswers();
  expect(await new ReplayPlans(store, '').put(plan('mine'))).toBe(1);
  expect(store.objects.size).toBe(1);
});

it.each([
  ['nonsense', /it is not JSON/],
  ['{}', /it is no tailrace-replay-plan-1/],
  [JSON.stringify({ format: 'tailrace-replay-plan-1', ...plan('no name') }), /it does not say who made it/],
  [JSON.stringify({ format: 'tailrace-replay-plan-1', ...plan('a'), window: { fromMs: 2, toMs: 2 } }), /its window makes no sense/],
  [
    JSON.stringify({
      format: 'tailrace-replay-plan-1',
      ...plan('a'),
      partitions: [{ ...plan('a').partitions[0], ranges: [{ first: 5, next: 5 }] }],
    }),
    /its partitions make no sense/,
  ],
])('a plan that makes no sense is named with its key: %s', async (body, what) => {
  const store = new MemoryStore();
  await store.putIfAbsent('_replay/plans/0000000001.json', Buffer.from(body));
  await expect(new ReplayPlans(store, '').get(1)).rejects.toThrow(what);
});
