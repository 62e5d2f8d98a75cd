import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Batch,
  type ConsumerRuntime,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type Publisher,
  positionsLog,
  type RuntimeEvent,
  runtimeHealth,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';
import { deleteRecordsBefore, forgetCommits } from '@tailrace/kafka-kit/testing';
import { auditLake, Database, LakeHistory, type LakeRecord, type ObjectStore } from '@tailrace/lake';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

const PARTITIONS = [0, 1] as const;
let bench: Bench;
let folder: string;
let database: Database;
const readers: ConsumerRuntime[] = [];
beforeEach(async () => {
  bench = await Bench.open();
  folder = await mkdtemp(join(tmpdir(), 'tailrace-restore-test-'));
  database = await Database.open();
});
afterEach(async () => {
  for (const reader of readers.splice(0)) await reader.stop();
  await bench.close();
  database.close();
  await rm(folder, { recursive: true });
});

const settings = () => ({ ...bench.config.kafka, clientId: 'restore-test' });

let written = 0;
/** So many to each partition, with keys, headers, tombstones and text that is no JSON among them. */
const publish = (each: number): Promise<void> =>
  bench.publish(
    Array.from({ length: each * 2 }, (_, i) => {
      written += 1;
      const value =
        i % 17 === 0 ? null : Buffer.from(i % 13 === 0 ? `no JSON ${written}` : `{"service":"s${written}","latency_ms":${i / 8}}`);
      return {
        partition: i % 2,
        key: i % 5 === 0 ? null : Buffer.from(`customer-${i % 7}`),
        value,
        headers: [['n', Buffer.from(`${written}`)]] as const,
      };
    }),
  );
const untilArchived = (rows: number) =>
  vi.waitFor(async () => expect((await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0)).toBe(rows), {
    timeout: 60_000,
    interval: 200,
  });
const deleteBefore = async (offset: number): Promise<void> => {
  for (const partition of PARTITIONS) await deleteRecordsBefore(settings(), { topic: bench.topic, partition }, offset);
};

interface Reader {
  readonly runtime: ConsumerRuntime;
  /** What it was handed over of each partition, in order. */
  readonly got: readonly LakeRecord[][];
  readonly told: string[];
}

/** A group with a sink that keeps everything, and the lake as its history. */
async function reader(
  more: { readonly retentionMs?: number; readonly positions?: { topic: string; publisher: Publisher } } = {},
): Promise<Reader> {
  const group = `${bench.id}-reader`;
  const got: LakeRecord[][] = [[], []];
  const told: string[] = [];
  const write = async (batch: Batch) => {
    for (let i = 0; i < batch.length; i += 1) {
      const { offset, timestampMs } = batch.origin(i);
      const [key, value] = [batch.key(i), batch.value(i)].map((bytes) => bytes && Buffer.from(bytes));
      got[batch.source.partition]?.push({ offset, timestampMs, key: key ?? null, value: value ?? null, headers: batch.headers(i) });
    }
    return Array.from({ length: batch.length }, () => STORED);
  };
  const observe = (event: RuntimeEvent): void => {
    if (event.kind === 'gap') told.push(`${event.lane.partition}: ${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}`);
    if (event.kind === 'restore-waits') told.push(`${event.lane.partition}: waits ${event.from}-${event.to}`);
    if (event.kind === 'restore-ended') told.push(`${event.lane.partition}: ended ${event.from}-${event.to} records ${event.records}`);
  };
  const { positions, retentionMs } = more;
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [bench.topic],
      sink: { name: 'keeper', write },
      batch: { maxRecords: 70, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 3000, stopMs: 10_000 },
      start: 'earliest',
      gaps: { kind: 'restore', ...(retentionMs === undefined ? {} : { retentionMs: new Map([[bench.topic, retentionMs]]) }) },
    },
    {
      broker: createNativeConsumer(settings(), { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe,
      history: new LakeHistory({ ledger: bench.ledger, database, folder }),
      ...(positions === undefined ? {} : { positions: positionsLog(settings(), { group, ...positions }) }),
    },
  );
  readers.push(runtime);
  await runtime.start();
  return { runtime, got, told };
}

const untilRead = ({ got }: Reader, each: number) =>
  vi.waitFor(() => expect(got.map(({ length }) => length)).toEqual([each, each]), { timeout: 60_000, interval: 50 });

/** That both partitions were restored is told behind the last record. */
const hasTold = ({ told }: Reader, ended: string, records: number, expired: string) =>
  vi.waitFor(() =>
    expect([...told].sort()).toEqual(
      PARTITIONS.flatMap((p) => [`${p}: ended ${ended} records ${records}`, `${p}: expired ${expired} restored`]),
    ),
  );

/** `[first, next)` of both partitions, as Kafka has it. */
const inKafka = async (first: number, next: number): Promise<LakeRecord[][]> => {
  const all: LakeRecord[][] = [];
  for (const chain of await bench.chains()) all.push(await bench.inKafka(chain, first, next));
  return all;
};

it('a group that Kafka has overtaken gets every record once, byte for byte, from the lake and then from Kafka', async () => {
  await publish(100);
  const before = await reader();
  await untilRead(before, 100);
  await before.runtime.stop();
  await publish(300);
  const archiver = await bench.archiver('a');
  await untilArchived(800);
  await archiver.stop();
  // Behind the lake's end.
  await publish(50);
  const truth = await inKafka(100, 450);
  await deleteBefore(350);
  const after = await reader();
  await untilRead(after, 350);
  expect(after.got).toEqual(truth);
  await publish(20);
  await untilRead(after, 370);
  await hasTold(after, '100-400', 300, '100-350');
  const report = await after.runtime.stop();
  expect(report).toMatchObject({ abandonedRecords: 0, committed: true, closed: true });
  const again = await reader();
  await publish(1);
  await untilRead(again, 1);
});

it('a record that Kafka keeps for long enough is read there, although the lake has it', async () => {
  await publish(10);
  const before = await reader();
  await untilRead(before, 10);
  await before.runtime.stop();
  await publish(200);
  await bench.archiver('a');
  await untilArchived(420);
  const truth = await inKafka(10, 210);
  await deleteBefore(60);
  const after = await reader({ retentionMs: 3_600_000 });
  await untilRead(after, 200);
  expect(after.got).toEqual(truth);
  await hasTold(after, '10-60', 50, '10-60');
});

it('what is not archived yet is waited for, and read when the archiver has written it', async () => {
  await publish(10);
  const before = await reader();
  await untilRead(before, 10);
  await before.runtime.stop();
  const archiver = await bench.archiver('a');
  await untilArchived(20);
  await archiver.stop();
  // It has the records in its spool, and the bucket takes none of them yet.
  let isShut = true;
  const shut: ObjectStore = Object.assign(Object.create(bench.store) as ObjectStore, {
    name: bench.store.name,
    putIfAbsent: async (key: string, body: Buffer) => {
      if (isShut) throw new Error('the bucket is shut');
      return bench.store.putIfAbsent(key, body);
    },
    get: (key: string) => bench.store.get(key),
    getRange: (key: string, start: number, end: number) => bench.store.getRange(key, start, end),
    sizeBytes: (key: string) => bench.store.sizeBytes(key),
    list: bench.store.list.bind(bench.store),
    delete: bench.store.delete.bind(bench.store),
  });
  const late = await bench.archiver('b', shut);
  await publish(100);
  await vi.waitFor(() => expect(late.runtime.lanes().map(({ unsettled }) => unsettled)).toEqual([100, 100]), { timeout: 60_000 });
  const truth = await inKafka(10, 110);
  await deleteBefore(110);
  const after = await reader();
  await vi.waitFor(() => expect(after.told.filter((each) => each.includes('waits'))).toEqual(['0: waits 10-110', '1: waits 10-110']), {
    timeout: 60_000,
  });
  const health = runtimeHealth(after.runtime, { kafka: 'Kafka', sink: 'the keeper', history: 'the lake' });
  expect([health.state, health.sentence]).toEqual(['degraded', expect.stringContaining('offsets 10 to 109 since')]);
  isShut = false;
  await untilArchived(220);
  await untilRead(after, 100);
  expect(after.got).toEqual(truth);
});

it('a group whose commits Kafka forgot, and whose records it deleted, is restored from its kept position on', async () => {
  const topic = `restore-test-positions-${bench.id}`;
  const admin = await connectAdmin(settings());
  await admin.apply([
    {
      kind: 'create',
      topic,
      spec: { name: topic, key: 'entity', partitions: 1, replicationFactor: 1, configs: { 'cleanup.policy': 'compact' } },
    },
  ]);
  const publisher = await connectPublisher(settings(), { producers: 1, maxInFlightBytes: 2 ** 20, log: () => {} });
  const positions = { topic, publisher };
  try {
    await publish(40);
    const before = await reader({ positions });
    await untilRead(before, 40);
    await before.runtime.stop();
    await publish(100);
    await bench.archiver('a');
    await untilArchived(280);
    const truth = await inKafka(40, 140);
    await deleteBefore(140);
    await forgetCommits(settings(), `${bench.id}-reader`);
    const after = await reader({ positions });
    await untilRead(after, 100);
    expect(after.got).toEqual(truth);
    await hasTold(after, '40-140', 100, '40-140');
    await after.runtime.stop();
  } finally {
    await publisher.close(5000);
    await admin.deleteTopics([topic]);
    await admin.close();
  }
});
