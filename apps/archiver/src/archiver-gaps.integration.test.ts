import { randomUUID } from 'node:crypto';
import { connectAdmin, type Lane } from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { auditLake, type ChainId, type ObjectStore, StillThere } from '@tailrace/lake';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(async () => {
  await bench.close();
});

const publish = (count: number): Promise<void> =>
  bench.publish(
    Array.from({ length: count }, (_, i) => ({ partition: i % 2, key: null, value: Buffer.from(`{"service":"s${i}"}`), headers: [] })),
  );
const rows = async (): Promise<number> => (await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0);
const untilArchived = (count: number) => vi.waitFor(async () => expect(await rows()).toBe(count), { timeout: 40_000, interval: 200 });
const deleteBefore = (partition: number, offset: number): Promise<void> =>
  deleteRecordsBefore({ ...bench.config.kafka, clientId: 'archiver-test' }, { topic: bench.topic, partition }, offset);
const laneOf = (chain: ChainId, logStart: number): Lane => ({ ...chain, committed: null, logStart, logEnd: 1_000_000 });

/** The store as a process sees it that dies right after its claims: no object is ever put. */
const dying = (): ObjectStore =>
  new Proxy(bench.store, {
    get(store, name) {
      if (name === 'putIfAbsent')
        return async (key: string, body: Buffer) => {
          if (key.endsWith('.parquet')) throw new Error('killed here');
          return await store.putIfAbsent(key, body);
        };
      const value: unknown = Reflect.get(store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });

it('of a claim whose range Kafka has deleted meanwhile, what is left is a row, and the rest is declared exactly', async () => {
  await publish(300);
  const dead = await bench.archiver('a', dying());
  await vi.waitFor(
    async () => expect((await auditLake(bench.ledger)).partitions.filter(({ pending }) => pending !== null)).toHaveLength(2),
    { timeout: 40_000 },
  );
  await publish(40);
  await deleteBefore(0, 100);
  await deleteBefore(1, 150);
  const next = await bench.archiver('b');
  await untilArchived(50 + 40);
  await dead.stop();
  const repairs = next.events.flatMap((event) => (event.kind === 'claim-checked' ? [event.repair] : []));
  expect(repairs).toEqual(expect.arrayContaining([{ kind: 'rest', from: 100 }, { kind: 'lost' }]));
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  expect(partitions).toMatchObject([
    { next: 170, rows: 70, lost: [{ first: 0, next: 100 }] },
    { next: 170, rows: 20, lost: [{ first: 0, next: 150 }] },
  ]);
});

it('what Kafka deleted before it was archived is declared, and never what it still has', async () => {
  await publish(100);
  const first = await bench.archiver('a');
  await untilArchived(100);
  await first.stop();
  await publish(100);
  await deleteBefore(0, 70);
  const { sink, close } = await bench.unstarted('b');
  const [chain] = (await bench.chains()) as [ChainId];
  const lane = laneOf(chain, 70);
  expect(await sink.assign(lane)).toEqual({ startAt: 50 });
  // Somebody says too much: only what is gone by the broker's own word is declared.
  await expect(sink.gap(lane, { kind: 'expired', from: 50, to: 90 })).rejects.toThrow(StillThere);
  expect(await sink.assign(lane)).toEqual({ startAt: 70 });
  await close();
  const next = await bench.archiver('b');
  await untilArchived(180);
  await next.stop();
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  expect(partitions).toMatchObject([
    { next: 100, rows: 80, lost: [{ first: 50, next: 70 }] },
    { next: 100, rows: 100, lost: [] },
  ]);
});

it('a topic that is made anew gets a chain of its own, and a claim of the old one that nobody wrote is ended', async () => {
  await publish(100);
  const first = await bench.archiver('a');
  await untilArchived(100);
  await first.stop();
  const [old] = (await bench.chains()) as [ChainId];
  const object = (await auditLake(bench.ledger)).partitions[0];
  expect(object).toMatchObject({ next: 50 });
  const claim = { first: 50, next: 60, attempt: randomUUID(), rows: 10, minTimestampMs: 1, maxTimestampMs: 2, voids: [], checksum: 'x' };
  await bench.ledger.claim(old, { kind: 'data', object: 'never-written', ...claim });
  const admin = await connectAdmin({ ...bench.config.kafka, clientId: 'archiver-test' });
  await admin.deleteTopics([bench.topic]);
  await bench.make(admin);
  await admin.close();
  await publish(40);
  const next = await bench.archiver('another-group');
  await untilArchived(140);
  await next.stop();
  expect(next.events.filter((event) => event.kind === 'claim-checked')).toContainEqual({
    kind: 'claim-checked',
    chain: old,
    first: 50,
    next: 60,
    repair: { kind: 'lost' },
  });
  const [anew] = (await bench.chains()) as [ChainId];
  expect(anew.incarnation).not.toBe(old.incarnation);
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  const of = ({ incarnation }: ChainId) => partitions.filter((each) => each.incarnation === incarnation && each.partition === 0);
  expect(of(old)).toMatchObject([{ next: 60, rows: 50, lost: [{ first: 50, next: 60 }], pending: null }]);
  expect(of(anew)).toMatchObject([{ next: 20, rows: 20, lost: [] }]);
}, 120_000);
