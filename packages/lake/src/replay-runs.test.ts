import { expect, it } from 'vitest';
import { FileDamage } from './file-damage.ts';
import type { Receipt, SentReport } from './replay-receipt.ts';
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

const chain = { topic: 'a', incarnation: 'lifeOne1', partition: 0 };
const sums = { records: 1, bytes: 2, checksum: '00000000000000ff', fromLake: 1, fromKafka: 0 };
const sentPart = { ...chain, ...sums, sideTopic: 'b', sideIncarnation: 'lifeTwo2', sideNext: 3, lost: 0, beforeArchive: 0, voids: 0 };
const report: SentReport = { plan: 4, endedAtMs: 1, cancelled: false, partitions: [sentPart] };
const applied = { stored: 0, skipped: { old: 1 }, dead: 0, retried: 0, checksum: '00000000000000ff' };
const receipt: Receipt = {
  run: 1,
  plan: 4,
  into: 'indexer',
  window: { fromMs: 1, toMs: 2, by: 'broker', skewMs: 0 },
  startedAtMs: 1,
  sentAtMs: 2,
  madeAtMs: 3,
  cancelled: false,
  sent: sums,
  applied,
  gone: 0,
  holes: 1,
  agrees: true,
  partitions: [{ ...sentPart, missing: [{ first: 1, next: 2, kind: 'hole' }], applied, gone: 0, agrees: true }],
};

/** The value, and the same without each of the fields that it has at any depth (but for the names of a record's own). */
function* lacking(value: object): Generator<readonly [string, object]> {
  for (const [name, field] of Object.entries(value)) {
    if (name === 'old') continue;
    const { [name]: _, ...rest } = value as Record<string, unknown>;
    if (!Array.isArray(value)) yield [name, rest];
    if (typeof field !== 'object') continue;
    for (const [path, less] of lacking(field))
      yield [`${name}.${path}`, Array.isArray(value) ? value.with(Number(name), less) : { ...value, [name]: less }];
  }
}

it.each(['sent', 'receipt'] as const)(
  'a %s object that lacks any of its fields is named with its key, and a whole one is read',
  async (kind) => {
    const whole = kind === 'sent' ? report : receipt;
    const read = async (body: object): Promise<unknown> => {
      const store = new MemoryStore();
      const runs = new ReplayRuns(store, '', 'indexer');
      const { id } = await runs.order(order(4));
      const key = `_replay/indexer/0000000001.${kind}.json`;
      await store.putIfAbsent(key, Buffer.from(JSON.stringify({ format: `tailrace-replay-${kind}-1`, ...body })));
      return await runs[kind](id);
    };
    expect(await read(whole)).toEqual(whole);
    const paths: string[] = [];
    for (const [path, less] of lacking(whole)) {
      paths.push(path);
      const fault: unknown = await read(less).catch((error: unknown) => error);
      expect(fault, path).toBeInstanceOf(FileDamage);
      expect((fault as FileDamage).message, path).toContain(`_replay/indexer/0000000001.${kind}.json`);
    }
    expect(paths).toContain('partitions.0.checksum');
  },
);
