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
  encodeSideRecord,
  type Headers,
  type KafkaSettings,
  type OutgoingRecord,
  type Publisher,
  partitionKey,
  planTopics,
  sentRecord,
} from '@tailrace/kafka-kit';
import { addDigest, checksumText, replayDigest } from '@tailrace/kafka-kit/digest';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { indexOfDay } from './index-names.ts';
import { SearchClient } from './search-client.ts';
import { killIndexers, runIndexer } from './testing/indexer-process.ts';

const endpoints = endpointsFromEnvironment();
const kafka: KafkaSettings = { bootstrapServers: endpoints.kafkaBootstrapServers, clientId: 'replay-test', securityProtocol: 'plaintext' };
const CHANNEL = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'replay');
const GROUP = replayGroupName('indexer');
const DAY_MS = 86_400_000;
const PATIENCE = { timeout: 60_000, interval: 100 };
const search = new SearchClient({ url: endpoints.opensearchUrl });
/** Of a topic that is not the cluster's: ids of no other test. */
const incarnation = `t${process.pid}`.padEnd(8, 'x').slice(0, 8);
let admin: ClusterAdmin;
let publisher: Publisher;
let channelIncarnation: string;

beforeAll(async () => {
  admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  channelIncarnation = 'unknown0';
  publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killIndexers());
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
  const sent = { group: 'indexer', plan: String(plan), topic: CHANNEL, partition, incarnation: channelIncarnation };
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
