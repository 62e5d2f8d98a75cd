import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateEvents, keyOf, SERVICE_EVENTS_TOPIC, serviceEventHeaders, topicsFor } from '@tailrace/events';
import {
  type ClusterAdmin,
  commitGroupOffsets,
  connectAdmin,
  connectPublisher,
  type KafkaSettings,
  planTopics,
  type RawRecord,
  readRanges,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { Database, lakeLayout, S3Store } from '@tailrace/lake';
import { ArchivedLake } from '@tailrace/lake/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { SearchClient } from './search-client.ts';
import { runIndexer } from './testing/indexer-process.ts';

const GROUP = 'indexer';
const TP = { topic: SERVICE_EVENTS_TOPIC, partition: 0 } as const;
const TIMEOUT_MS = 20_000;
const PATIENCE_MS = 120_000;
const endpoints = endpointsFromEnvironment();
const settings: KafkaSettings = {
  bootstrapServers: endpoints.kafkaBootstrapServers,
  clientId: 'restored-test',
  securityProtocol: 'plaintext',
};
const search = new SearchClient({ url: endpoints.opensearchUrl });
const mark = randomUUID();
const prefix = `restored-${mark.slice(0, 8)}`;
let admin: ClusterAdmin;
let temporary: string;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  temporary = await mkdtemp(join(tmpdir(), 'tailrace-restored-'));
});
afterEach(() => killFromSources());
afterAll(async () => {
  await admin.close();
  await search.close();
  await rm(temporary, { recursive: true });
});

const end = async (): Promise<number> =>
  (await admin.groupLag(GROUP, [TP.topic])).find(({ partition }) => partition === TP.partition)?.logEnd ?? 0;

async function publish(count: number): Promise<void> {
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
  const events = generateEvents({ seed: 11, nowMs: Date.now });
  const records = Array.from({ length: count }, () => {
    const event = { ...events.next().value, attributes: { mark } };
    return { ...TP, key: keyOf(event), value: Buffer.from(JSON.stringify(event)), headers: serviceEventHeaders };
  });
  const fates = await publisher.publish(records, { deadlineMs: 10_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
}

/** Puts `[first, next)` of the partition into the lake, as an archiver that began there. */
async function archive(first: number, next: number): Promise<void> {
  const records: RawRecord[] = [];
  for await (const polled of readRanges(settings, [{ ...TP, from: first, to: next }])) records.push(...polled);
  const identity = new TopicIdentity(settings);
  const incarnation = (await identity.lookUp(TP.topic, TIMEOUT_MS)) ?? '';
  identity.close();
  const chain = { ...TP, incarnation };
  const database = await Database.open();
  const lake = new ArchivedLake(database, lakeLayout({ prefix }));
  if (first > 0) await lake.ledger.claim(chain, { kind: 'genesis', first: 0, next: first, attempt: randomUUID() });
  const half = Math.floor(records.length / 2);
  await lake.add(records.slice(0, half), { chain });
  await lake.add(records.slice(half), { chain });
  const { s3 } = endpoints;
  const bucket = new S3Store({ ...s3, endpoint: s3.endpointUrl });
  for await (const { key } of lake.store.list(prefix)) await bucket.putIfAbsent(key, (await lake.store.get(key)) ?? Buffer.alloc(0));
  bucket.close();
  database.close();
}

async function indexed(): Promise<number> {
  await search.request({ method: 'POST', path: `/${TP.topic}/_refresh`, query: { ignore_unavailable: 'true' } });
  const { body } = await search.request({
    method: 'POST',
    path: `/${TP.topic}/_count`,
    query: { ignore_unavailable: 'true' },
    json: { query: { term: { 'attributes.mark': mark } } },
  });
  return (body as { readonly count?: number }).count ?? 0;
}

test('what Kafka deleted before it was indexed comes from the lake, each record once, and the rest from Kafka', {
  timeout: 2 * PATIENCE_MS,
}, async () => {
  const from = await end();
  await publish(500);
  const to = from + 500;
  await archive(from, to);
  // A member that a test before this one killed counts as running until its session has ended.
  await vi.waitFor(() => commitGroupOffsets(settings, GROUP, [{ ...TP, nextToRead: from }], TIMEOUT_MS), {
    timeout: 60_000,
    interval: 1000,
  });
  await publish(40);
  await deleteRecordsBefore(settings, TP, to);
  const indexer = runIndexer({ TAILRACE_LAKE_PREFIX: prefix, TMPDIR: temporary });
  await indexer.said(
    `records are missing (expired) at service-events, partition 0, offsets ${from} to ${to - 1}: they are read from the history`,
  );
  await indexer.said(`reads service-events, partition 0 from Kafka again, from offset ${to} on: 500 records restored`);
  await vi.waitFor(async () => expect(await indexed()).toBe(540), { timeout: PATIENCE_MS, interval: 200 });
  const metrics = await (await fetch(`${indexer.url()}/metrics`)).text();
  expect(metrics).toContain('tailrace_consumer_restored_records_total{group="indexer",topic="service-events",partition="0"} 500');
  expect(metrics).toContain('tailrace_consumer_restoring{group="indexer",topic="service-events",partition="0"} 0');
  // What was opened for it is closed again.
  await vi.waitFor(async () => expect((await readdir(temporary)).filter((name) => name.startsWith('tailrace'))).toEqual([]), {
    timeout: 10_000,
  });
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
  expect((await admin.groupLag(GROUP, [TP.topic])).find(({ partition }) => partition === TP.partition)?.lag).toBe(0);
});
