import { SERVICE_EVENTS_TOPIC, serviceEventHeaders, topicsFor } from '@tailrace/events';
import { type Batch, connectAdmin, type DeadLetter, type KafkaSettings, planTopics, readDeadLetter, readRanges } from '@tailrace/kafka-kit';
import { produceForeign } from '@tailrace/kafka-kit/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { deadLetterTopic } from './dead-letters.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { IndexSink } from './index-sink.ts';
import { batchOf } from './testing/batch.ts';
import { runIndexer } from './testing/indexer-process.ts';
import { testSearch } from './testing/search.ts';

const search = testSearch();
const kafka: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'unbuildable-test',
  securityProtocol: 'plaintext',
};
const DLQ = deadLetterTopic(SERVICE_EVENTS_TOPIC, 'indexer');
const PARTITION = 5;
const PATIENCE_MS = 60_000;
const mark = `unbuildable-${process.pid}-${Date.now()}`;
const event = JSON.stringify({ timestamp: '2026-01-31T12:00:00Z', service: 'checkout', attributes: { mark } });

afterEach(() => killFromSources());
afterAll(() => search.remove());

it('whatever throws while a record is built makes only that record dead', async () => {
  const sink = new IndexSink(
    { indexName: search.name, retentionDays: 14, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
    { client: search.client, indices: search.indices, incarnations: new IncarnationGate(async () => 'AbCd-_12'), nowMs: Date.now },
  );
  const times = [undefined, 9e15, 2 ** 63, -(2 ** 63), Number.NaN, undefined];
  const batch = batchOf(times.map((timestampMs) => ({ value: event, ...(timestampMs === undefined ? {} : { timestampMs }) })));
  const ours = (): never => {
    throw new TypeError('a fault of ours');
  };
  const broken = (read: 'value' | 'headers' | 'origin'): Batch => ({ ...batchOf([{ value: event }, { value: event }]), [read]: ours });
  const write = (written: Batch) => sink.write(written, new AbortController().signal);
  const outcomes = await write(batch);
  expect(outcomes.map((outcome) => (outcome.kind === 'dead' ? outcome.reason : outcome.kind))).toEqual([
    'stored',
    'bad-time',
    'bad-time',
    'bad-time',
    'bad-time',
    'stored',
  ]);
  expect(outcomes[1]).toMatchObject({ cause: 'the record’s time, 9000000000000000 ms since 1970, is outside of the years 1 to 9999' });
  for (const read of ['value', 'headers', 'origin'] as const) {
    const unbuildable = { kind: 'dead', reason: 'unbuildable', cause: 'a fault of ours' };
    expect(await write(broken(read)), read).toEqual([unbuildable, unbuildable]);
  }
  const { value } = batchOf([{ value: event }, { value: event }]);
  const second = await write({ ...batchOf([{ value: event }, { value: event }]), value: (i) => (i === 0 ? ours() : value(i)) });
  expect(second.map(({ kind }) => kind)).toEqual(['dead', 'stored']);
  const exhausted = {
    ...batch,
    value: () => {
      throw new RangeError('Array buffer allocation failed');
    },
  };
  await expect(write(exhausted)).rejects.toThrow('Array buffer allocation failed');
});

it('records with a time of any 64 bits become dead letters, and the partition goes on', { timeout: 3 * PATIENCE_MS }, async () => {
  const admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  const set = (name: string, to: string) => admin.apply([{ kind: 'set-config', topic: SERVICE_EVENTS_TOPIC, name, from: null, to }]);
  const indexer = runIndexer();
  try {
    await indexer.said('"msg":"ready"');
    await set('message.timestamp.after.max.ms', String(2n ** 63n - 1n));
    await set('message.timestamp.before.max.ms', String(2n ** 63n - 1n));
    await set('message.timestamp.type', 'CreateTime');
    const headers = new Map(serviceEventHeaders.map(([name, bytes]) => [Buffer.from(name), bytes ?? Buffer.alloc(0)]));
    const times = [BigInt(Date.now()), 9n * 10n ** 15n, 2n ** 63n - 1n, 253_402_300_800_000n, BigInt(Date.now())];
    const record = { partition: PARTITION, key: Buffer.from(mark), value: Buffer.from(event), headers };
    // One by one: a batch of records holds their times relative to the first.
    for (const timestampMs of times) await produceForeign(kafka, SERVICE_EVENTS_TOPIC, [{ ...record, timestampMs }]);
    await vi.waitFor(
      async () => {
        const lags = await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC]);
        expect(lags.find(({ partition }) => partition === PARTITION)?.lag).toBe(0);
      },
      { timeout: PATIENCE_MS, interval: 200 },
    );
    const letters: DeadLetter[] = [];
    const ranges = (await admin.groupLag('indexer', [DLQ])).map((p) => ({
      topic: DLQ,
      partition: p.partition,
      from: p.logStart,
      to: p.logEnd,
    }));
    for await (const records of readRanges(kafka, ranges)) letters.push(...records.flatMap((each) => readDeadLetter(each) ?? []));
    const ours = letters.filter(({ key }) => key?.toString() === mark);
    expect(ours.map(({ reason, origin }) => [reason, origin.timestampMs])).toEqual(
      times.slice(1, 4).map((timestampMs) => ['bad-time', Number(timestampMs)]),
    );
    expect(await (await fetch(`${indexer.url()}/readyz`)).json()).toMatchObject({ state: 'ok' });
    const metrics = await (await fetch(`${indexer.url()}/metrics`)).text();
    expect(metrics).toMatch(/^tailrace_consumer_dead_letter_records_total\{group="indexer",reason="bad-time"\} 3$/m);
    expect(indexer.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  } finally {
    await set('message.timestamp.type', 'LogAppendTime');
    await admin.close();
  }
});
