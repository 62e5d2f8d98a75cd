import {
  formatRecordId,
  generateEvents,
  keyOf,
  POSITIONS_TOPIC,
  replayGroupName,
  SERVICE_EVENTS_TOPIC,
  serviceEventHeaders,
  sideTopicName,
  topicsFor,
} from '@tailrace/events';
import {
  type ChannelPosition,
  type ClusterAdmin,
  type Coordinates,
  channelLog,
  connectAdmin,
  connectPublisher,
  type DeadLetter,
  encodeSideRecord,
  type Headers,
  type KafkaSettings,
  type OutgoingRecord,
  type Publisher,
  partitionKey,
  planTopics,
  readDeadLetter,
  readRanges,
  sentRecord,
} from '@tailrace/kafka-kit';
import { addDigest, checksumText, replayDigest } from '@tailrace/kafka-kit/digest';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { indexOfDay } from './index-names.ts';
import { SearchClient } from './search-client.ts';
import { runIndexer } from './testing/indexer-process.ts';

const endpoints = endpointsFromEnvironment();
const kafka: KafkaSettings = { bootstrapServers: endpoints.kafkaBootstrapServers, clientId: 'replay-test', securityProtocol: 'plaintext' };
const CHANNEL = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'replay');
const DLQ = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'dlq');
const GROUP = replayGroupName('indexer');
const DAY_MS = 86_400_000;
const PATIENCE = { timeout: 60_000, interval: 100 };
const search = new SearchClient({ url: endpoints.opensearchUrl });
/** Of a topic that is not the cluster's: ids of no other test. */
const incarnation = `t${process.pid}`.padEnd(8, 'x').slice(0, 8);
let admin: ClusterAdmin;
let publisher: Publisher;

interface Readyz {
  readonly state: string;
  readonly checks: readonly { readonly name: string; readonly state: string; readonly sentence: string }[];
}

async function applyTopics(): Promise<void> {
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
}

beforeAll(async () => {
  admin = await connectAdmin(kafka);
  await applyTopics();
  publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killFromSources());
afterAll(async () => {
  await publisher.close(5000);
  await admin.close();
  await search.close();
});

async function put(records: readonly OutgoingRecord[]): Promise<void> {
  const fates = await publisher.publish(records, { deadlineMs: 10_000 });
  expect(fates.filter(({ kind }) => kind !== 'acknowledged')).toEqual([]);
}

/** The sender's word that a plan is open in a partition. */
function open(plan: number, partition: number): Promise<void> {
  const sent = { group: 'indexer', plan: String(plan), topic: CHANNEL, partition, incarnation: 'unknown0' };
  const nothing = { sideNext: 0, through: -1, records: 0, bytes: 0, checksum: '0'.repeat(16) };
  return put([sentRecord({ topic: POSITIONS_TOPIC, partition: 0 }, { ...sent, ...nothing })]);
}

interface Original {
  readonly origin: Coordinates;
  readonly key: Buffer | null;
  readonly value: Buffer;
}

const events = generateEvents({ seed: 11, nowMs: Date.now });

/** Records as they stood in the live topic. */
function originals(partition: number, offsets: readonly number[], timestampMs = Date.now()): Original[] {
  return offsets.map((offset) => {
    const event = events.next().value;
    const origin = { topic: SERVICE_EVENTS_TOPIC, incarnation, partition, offset, timestampMs };
    return { origin, key: keyOf(event), value: Buffer.from(JSON.stringify(event)) };
  });
}

function send(plan: number | undefined, records: readonly Original[], more: Headers = []): Promise<void> {
  const notes: Headers = [...(plan === undefined ? [] : ([['replay.plan', Buffer.from(String(plan))]] as const)), ...more];
  return put(
    records.map((record) => ({
      topic: CHANNEL,
      partition: record.origin.partition,
      ...encodeSideRecord({ ...record, notes, headers: serviceEventHeaders }),
    })),
  );
}

function checksumOf(records: readonly Original[]): string {
  return checksumText(
    records.reduce((sum, { origin, key, value }) => addDigest(sum, BigInt(`0x${replayDigest(origin.offset, key, value)}`)), 0n),
  );
}

/** What the indexer keeps of a partition of the channel. */
async function applied(partition: number): Promise<ChannelPosition | undefined> {
  const { positions } = await channelLog(kafka, { group: GROUP, topic: POSITIONS_TOPIC, publisher }).read();
  return positions.get(partitionKey({ topic: CHANNEL, partition }));
}

/** Ids of all documents of this test's topic life in a partition, by index. */
async function documents(partition: number): Promise<string[]> {
  await search.request({ method: 'POST', path: `/${SERVICE_EVENTS_TOPIC}/_refresh`, query: { ignore_unavailable: 'true' } });
  const query = { bool: { filter: [{ term: { incarnation } }, { term: { partition } }] } };
  const path = `/${SERVICE_EVENTS_TOPIC}/_search`;
  const { body } = await search.request({ method: 'POST', path, query: { ignore_unavailable: 'true' }, json: { query, size: 10_000 } });
  const { hits } = body as { readonly hits?: { readonly hits: readonly { readonly _index: string; readonly _id: string }[] } };
  return (hits?.hits ?? []).map(({ _index, _id }) => `${_index}/${_id}`).sort();
}

/** How many documents a query finds, after a refresh. */
async function count(query: object): Promise<number> {
  const path = `/${SERVICE_EVENTS_TOPIC}`;
  const lenient = { ignore_unavailable: 'true' };
  await search.request({ method: 'POST', path: `${path}/_refresh`, query: lenient });
  const { body } = await search.request({ method: 'POST', path: `${path}/_count`, query: lenient, json: { query } });
  return (body as { readonly count?: number }).count ?? 0;
}

/** The dead letters of this test's topic life in a partition. */
async function deadLettersOf(partition: number): Promise<DeadLetter[]> {
  const ranges = (await admin.groupLag('indexer', [DLQ])).filter((each) => each.partition === partition);
  const found: DeadLetter[] = [];
  for await (const records of readRanges(
    kafka,
    ranges.map(({ logStart, logEnd }) => ({ topic: DLQ, partition, from: logStart, to: logEnd })),
  ))
    found.push(...records.flatMap((record) => readDeadLetter(record) ?? []));
  return found.filter(({ origin }) => origin.incarnation === incarnation);
}

function placesOf(records: readonly Original[]): string[] {
  return records.map(({ origin }) => `${indexOfDay(SERVICE_EVENTS_TOPIC, origin.timestampMs)}/${formatRecordId(origin)}`).sort();
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

test('records of the side channel land under their origin’s id in their origin’s day, each once, and are counted; the live group stands where it stood', {
  timeout: 180_000,
}, async () => {
  const indexer = runIndexer();
  await indexer.said('"msg":"ready"');
  const before = await vi.waitFor(async () => {
    const lags = await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC]);
    expect(lags.filter(({ committed, logEnd }) => committed !== logEnd)).toEqual([]);
    return lags;
  }, PATIENCE);
  const yesterday = originals(3, range(100, 150), Date.now() - DAY_MS);
  const today = originals(3, range(150, 200));
  await open(7, 3);
  await send(7, [...yesterday, ...today]);
  // A sender that was ended sends its last records again.
  await send(7, today.slice(-10));
  const all = [...yesterday, ...today];
  const counts = { through: 199, stored: 100, skipped: {}, dead: 0, retried: 0, checksum: checksumOf(all) };
  await vi.waitFor(async () => expect((await applied(3))?.plans).toEqual({ 7: counts }), PATIENCE);
  expect(await documents(3)).toEqual(placesOf(all));
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
  expect(await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC])).toEqual(before);
  const side = await admin.groupLag(GROUP, [CHANNEL]);
  expect(side.find(({ partition }) => partition === 3)).toMatchObject({ lag: 0 });
});

test('killed with -9 again and again in the middle of a plan, it goes on, and in the end the counts are true and each document is there once', {
  timeout: 240_000,
}, async () => {
  const partitions = [4, 5];
  const sent = new Map(partitions.map((partition) => [partition, originals(partition, range(0, 6000))]));
  for (const [partition, records] of sent) {
    await open(8, partition);
    await send(8, records);
  }
  const query = { bool: { filter: [{ term: { incarnation } }, { terms: { partition: partitions } }] } };
  const points = Array.from({ length: 4 }, () => Math.floor(Math.random() * 11_000)).sort((one, other) => one - other);
  for (const documentsThere of points) {
    const indexer = runIndexer({ INDEX_MAX_AGE_MS: '50' });
    await vi.waitFor(async () => expect(await count(query)).toBeGreaterThanOrEqual(documentsThere), { ...PATIENCE, interval: 10 });
    indexer.kill('SIGKILL');
    await indexer.exit();
    // What a sender that was ended meanwhile would send again.
    for (const records of sent.values()) await send(8, records.slice(-20));
    console.log(`killed at ${documentsThere} documents or more`);
  }
  const last = runIndexer();
  for (const [partition, records] of sent) {
    const counts = { through: 5999, skipped: {}, dead: 0, checksum: checksumOf(records) };
    await vi.waitFor(async () => expect((await applied(partition))?.plans[8]).toMatchObject(counts), PATIENCE);
    expect((await applied(partition))?.plans[8]?.stored).toBe(6000);
    expect(await documents(partition)).toEqual(placesOf(records));
  }
  last.kill('SIGTERM');
  expect(await last.exit()).toBe(0);
});

test('what is bad on the side channel becomes a dead letter of the group under its origin, with its rounds so far; what is too old is skipped or kept', {
  timeout: 180_000,
}, async () => {
  const [bad] = originals(6, [41]).map((record) => ({ ...record, value: Buffer.from('{"no') }));
  const rounds: Headers = [['dlq.replays', Buffer.from('3')]];
  if (bad === undefined) throw new Error('one record was made');
  const old = originals(6, range(50, 60), Date.now() - 300 * DAY_MS);
  const kept = originals(6, range(60, 70), Date.now() - 301 * DAY_MS);
  await open(9, 6);
  const indexer = runIndexer();
  await indexer.said('"msg":"ready"');
  await send(undefined, [bad], rounds);
  await send(9, [bad, ...old]);
  await send(9, kept, [['replay.keep_days', Buffer.from('5')]]);
  const counts = { through: 69, stored: 10, skipped: { 'beyond-retention': 10 }, dead: 1, checksum: checksumOf([bad, ...old, ...kept]) };
  await vi.waitFor(async () => expect((await applied(6))?.plans[9]).toMatchObject(counts), PATIENCE);
  expect(await documents(6)).toEqual(placesOf(kept));
  const letters = await deadLettersOf(6);
  expect(letters.map(({ replays, origin, via }) => [replays, origin, via.topic])).toEqual([
    [3, bad.origin, CHANNEL],
    [0, bad.origin, CHANNEL],
  ]);
  await search.request({ method: 'DELETE', path: `/${indexOfDay(SERVICE_EVENTS_TOPIC, kept[0]?.origin.timestampMs ?? 0)}` });
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
});

test('on the live topic the headers of a side channel count for nothing', { timeout: 120_000 }, async () => {
  const [forged] = originals(7, [77]);
  if (forged === undefined) throw new Error('one record was made');
  const notes: Headers = [['replay.plan', Buffer.from('7')]];
  const at = { topic: SERVICE_EVENTS_TOPIC, partition: 7 };
  await put([{ ...at, ...encodeSideRecord({ ...forged, notes, headers: serviceEventHeaders }) }]);
  const indexer = runIndexer();
  await vi.waitFor(async () => {
    const [lag] = (await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC])).filter(({ partition }) => partition === 7);
    expect(lag).toMatchObject({ lag: 0, committed: lag?.logEnd });
  }, PATIENCE);
  expect(await documents(7)).toEqual([]);
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
});

test('a side channel that is gone is said in /readyz and stops nothing that is live', { timeout: 180_000 }, async () => {
  const indexer = runIndexer();
  await indexer.said('"msg":"ready"');
  await admin.deleteTopics([CHANNEL]);
  const ready = async () => {
    const answer = await fetch(`${indexer.url()}/readyz`);
    const { state, checks } = (await answer.json()) as Readyz;
    return { status: answer.status, state, replay: checks.find(({ name }) => name === 'replay'), rest: checks };
  };
  await vi.waitFor(
    async () => expect(await ready()).toMatchObject({ status: 200, state: 'degraded', replay: { state: 'degraded' } }),
    PATIENCE,
  );
  const { rest } = await ready();
  expect(rest.filter(({ name, state }) => name !== 'replay' && state !== 'ok')).toEqual([]);
  const event = { ...events.next().value, attributes: { mark: incarnation } };
  await put([{ topic: SERVICE_EVENTS_TOPIC, partition: 7, key: keyOf(event), value: Buffer.from(JSON.stringify(event)) }]);
  await vi.waitFor(async () => {
    const [lag] = (await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC])).filter(({ partition }) => partition === 7);
    expect(lag).toMatchObject({ lag: 0, committed: lag?.logEnd });
  }, PATIENCE);
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
  await applyTopics();
});
