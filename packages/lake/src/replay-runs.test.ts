import { expect, it } from 'vitest';
import { ReplayRuns } from './replay-runs.ts';
import { MemoryStore } from './testing/index.ts';

const order = (plan: number, attempt = `a${plan}`) => ({ attempt, plan, madeAtMs: 5 });

it('orders get one number after another, and a plan has one run however many commands ask for it at once', async () => {
  const store = new MemoryStore();
  const runs = new ReplayRuns(store, 'lake', 'indexer');
  const plans = [4, 9, 4, 2, 9, 4];
  const made = await Promise.all(plans.map((plan, i) => runs.order(order(plan, `attempt${i}`))));
  expect(new Set(made.map(({ id, order: { plan } }) => `${plan} ${id}`)).size).toBe(3);
  expect((await runs.list()).map(({ id }) => id)).toEqual([1, 2, 3]);
  expect([...store.objects.keys()].sort()[0]).toBe('lake/_replay/indexer/0000000001.json');
  expect(await runs.of(7)).toBeUndefined();
});

it('shows what stands beside an order, and believes the first that was put', async () => {
  const runs = new ReplayRuns(new MemoryStore(), '', 'indexer');
  const { id } = await runs.order(order(4));
  expect(await runs.of(4)).toEqual({ id, order: order(4), isSent: false, isCancelled: false, hasReceipt: false });
  expect(await runs.isCancelled(id)).toBe(false);
  await runs.cancel(id, { cancelledAtMs: 1 });
  expect(await runs.isCancelled(id)).toBe(true);
  const report = { plan: 4, endedAtMs: 1, cancelled: true, partitions: [] };
  expect(await runs.putSent(id, report)).toEqual(report);
  expect(await runs.putSent(id, { ...report, endedAtMs: 2 })).toEqual(report);
  expect(await runs.of(4)).toMatchObject({ isSent: true, isCancelled: true, hasReceipt: false });
});

it.each([
  ['nonsense', /it is not JSON/],
  ['{}', /it is no tailrace-replay-order-1/],
  ['{"format":"tailrace-replay-order-1","plan":"7","attempt":"a","madeAtMs":1}', /does not say which plan/],
])('an order that makes no sense is named with its key: %s', async (body, what) => {
  const store = new MemoryStore();
  await store.putIfAbsent('_replay/indexer/0000000001.json', Buffer.from(body));
  await expect(new ReplayRuns(store, '', 'indexer').list()).rejects.toThrow(what);
});

it('what a receipt is made from is read strictly', async () => {
  const store = new MemoryStore();
  const runs = new ReplayRuns(store, '', 'indexer');
  const { id } = await runs.order(order(4));
  const body = { format: 'tailrace-replay-sent-1', plan: 4, endedAtMs: 1, cancelled: false, partitions: [{ topic: 'a', records: -1 }] };
  await store.putIfAbsent('_replay/indexer/0000000001.sent.json', Buffer.from(JSON.stringify(body)));
  await expect(runs.sent(id)).rejects.toThrow(/does not say what was sent/);
});
