import { randomBytes } from 'node:crypto';
import { partitionForKey, SERVICE_EVENTS_TOPIC, serviceEventHeaders, topicsFor } from '@tailrace/events';
import {
  connectAdmin,
  connectPublisher,
  type DeadLetter,
  type KafkaSettings,
  planTopics,
  readDeadLetter,
  readRanges,
} from '@tailrace/kafka-kit';
import { S3Store, unsendablePrefix } from '@tailrace/lake/store';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { deadLetterTopic } from './dead-letters.ts';
import { SearchClient } from './search-client.ts';
import { runIndexer } from './testing/indexer-process.ts';

const endpoints = endpointsFromEnvironment();
const kafka: KafkaSettings = { bootstrapServers: endpoints.kafkaBootstrapServers, clientId: 'dead-test', securityProtocol: 'plaintext' };
const search = new SearchClient({ url: endpoints.opensearchUrl });
const DLQ = deadLetterTopic(SERVICE_EVENTS_TOPIC, 'indexer');
const mark = `dead-${process.pid}-${Date.now()}`;
const KEY = Buffer.from(mark);
const PARTITION = partitionForKey(KEY, 12);
const PATIENCE_MS = 120_000;
let admin: Awaited<ReturnType<typeof connectAdmin>>;
let publisher: Awaited<ReturnType<typeof connectPublisher>>;

beforeAll(async () => {
  admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killFromSources());
afterAll(async () => {
  await publisher.close(5000);
  await admin.close();
  await search.close();
});

const good = (i: number): string =>
  JSON.stringify({ timestamp: new Date().toISOString(), service: 'checkout', message: `m${i}`, attributes: { mark } });

/** Puts values into one partition, and waits for their acks. */
async function publish(values: readonly Buffer[]): Promise<void> {
  const records = values.map((value, i) => ({
    topic: SERVICE_EVENTS_TOPIC,
    partition: PARTITION,
    key: KEY,
    value,
    headers: [...serviceEventHeaders, ['n', Buffer.from(String(i))]] as const,
  }));
  const fates = await publisher.publish(records, { deadlineMs: 10_000 });
  expect(new Set(fates.map((fate) => fate.kind))).toEqual(new Set(['acknowledged']));
}

async function indexed(): Promise<number> {
  await search.request({ method: 'POST', path: `/${SERVICE_EVENTS_TOPIC}/_refresh`, query: { ignore_unavailable: 'true' } });
  const json = { query: { term: { 'attributes.mark': mark } } };
  const { body } = await search.request({
    method: 'POST',
    path: `/${SERVICE_EVENTS_TOPIC}/_count`,
    query: { ignore_unavailable: 'true' },
    json,
  });
  return (body as { readonly count?: number }).count ?? 0;
}

/** This test's dead letters, as they lie in Kafka now. */
async function deadLetters(): Promise<(DeadLetter & { readonly at: number })[]> {
  const ranges = (await admin.groupLag('indexer', [DLQ])).map((p) => ({
    topic: DLQ,
    partition: p.partition,
    from: p.logStart,
    to: p.logEnd,
  }));
  const found: (DeadLetter & { at: number })[] = [];
  for await (const records of readRanges(kafka, ranges)) {
    for (const record of records) {
      const letter = readDeadLetter(record);
      if (letter?.key?.equals(KEY)) found.push({ ...letter, at: record.partition });
    }
  }
  return found;
}

async function settled(): Promise<void> {
  await vi.waitFor(
    async () => {
      const lags = await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC]);
      expect(lags.find(({ partition }) => partition === PARTITION)?.lag).toBe(0);
    },
    { timeout: PATIENCE_MS, interval: 200 },
  );
}

test('a bad record in the middle of a bulk: only it is dead, with its bytes and all that is known, and all others are indexed', {
  timeout: 2 * PATIENCE_MS,
}, async () => {
  const bad: Readonly<Record<number, readonly [reason: string, value: Buffer]>> = {
    100: ['not-json', Buffer.from('{"timestamp":"2026-01-31T12:00:00Z","service":"checkout","message":"a\nb"}')],
    200: [
      'not-json',
      Buffer.from(`{"index":{"_index":"${SERVICE_EVENTS_TOPIC}","_id":"trick"}}\n{"service":"trick","attributes":{"mark":"${mark}"}}\n`),
    ],
    300: ['not-json', Buffer.from('{"timestamp":"2026-01-31T12:00:00Z","service":"checkout",')],
    301: ['not-utf8', Buffer.from([0x7b, 0xff, 0x7d])],
    400: ['invalid-field', Buffer.from('{"timestamp":"2026-01-31T12:00:00Z","service":"checkout","latency_ms":"fast"}')],
  };
  const values = Array.from({ length: 500 }, (_, i) => bad[i]?.[1] ?? Buffer.from(good(i)));
  const indexer = runIndexer();
  await indexer.said('"msg":"ready"');
  await publish(values);
  await vi.waitFor(async () => expect(await indexed()).toBe(495), { timeout: PATIENCE_MS, interval: 200 });
  await settled();
  const letters = await deadLetters();
  const numberOf = ({ headers }: DeadLetter): number => Number(headers.find(([name]) => name === 'n')?.[1]);
  expect(letters.map((letter) => [numberOf(letter), letter.reason, letter.value])).toEqual(
    Object.entries(bad).map(([i, [reason, value]]) => [Number(i), reason, value]),
  );
  for (const letter of letters) {
    expect(letter).toMatchObject({ at: PARTITION, group: 'indexer', attempts: 1, replays: 0, detail: expect.stringMatching(/./) });
    expect(letter.headers.slice(0, 2)).toEqual(serviceEventHeaders);
    expect(letter.origin).toMatchObject({ topic: SERVICE_EVENTS_TOPIC, partition: PARTITION });
    expect(letter.via).toEqual(letter.origin);
  }
  const [first, second] = letters;
  expect((second?.origin.offset ?? 0) - (first?.origin.offset ?? 0)).toBe(100);
  expect(await (await fetch(`${indexer.url()}/readyz`)).json()).toMatchObject({ state: 'ok' });
  const metrics = await (await fetch(`${indexer.url()}/metrics`)).text();
  expect(metrics).toMatch(/^tailrace_consumer_dead_letter_records_total\{group="indexer",reason="not-json"\} [3-9]/m);
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
});

test('a dead-letter topic that is deleted under a running indexer is named with what to do, and the partition goes on once it is made anew', {
  timeout: 3 * PATIENCE_MS,
}, async () => {
  const indexer = runIndexer();
  await indexer.said('"msg":"ready"');
  const specs = topicsFor('local').filter(({ name }) => name === DLQ);
  const missing = `the topic ${DLQ} does not exist; run: npx tailrace topics apply`;
  // Before the client has ever heard of the topic, and behind a dead letter that it took.
  for (const round of ['never used', 'used before']) {
    await admin.deleteTopics([DLQ]);
    const fromMs = Date.now();
    const told = indexer.lines.length;
    await publish([Buffer.from(`no JSON, ${round}`)]);
    await vi.waitFor(
      async () => {
        const { state, checks } = (await (await fetch(`${indexer.url()}/readyz`)).json()) as { state: string; checks: unknown };
        expect(JSON.stringify(checks)).toContain(`dead letters can not be written: ${missing}`);
        expect(state).toBe('degraded');
      },
      { timeout: 15_000, interval: 200 },
    );
    console.log(`${round}: told after ${Date.now() - fromMs} ms`);
    expect(indexer.lines.slice(told).some((line) => line.includes(missing))).toBe(true);
    await admin.apply(planTopics(specs, []));
    await settled();
    expect((await deadLetters()).map(({ value }) => value?.toString())).toContain(`no JSON, ${round}`);
  }
});

test('a dead record that its topic refuses is stored in the bucket, whole, and only then passed', {
  timeout: 2 * PATIENCE_MS,
}, async () => {
  const prefix = `${mark}-lake`;
  const indexer = runIndexer({ TAILRACE_LAKE_PREFIX: prefix });
  await indexer.said('"msg":"ready"');
  const limit = (to: string) => admin.apply([{ kind: 'set-config', topic: DLQ, name: 'max.message.bytes', from: null, to }]);
  await limit('3000');
  const store = new S3Store({ ...endpoints.s3, endpoint: endpoints.s3.endpointUrl });
  try {
    const large = randomBytes(9000);
    await publish([large]);
    await settled();
    const keys: string[] = [];
    for await (const { key } of store.list(unsendablePrefix(prefix))) keys.push(key);
    expect(keys).toHaveLength(1);
    const stored = JSON.parse(String(await store.get(keys[0] ?? '')));
    expect(stored).toMatchObject({
      group: 'indexer',
      reason: 'not-utf8',
      key: { text: mark },
      value: { base64: large.toString('base64') },
    });
    expect(keys[0]).toMatch(new RegExp(`^${prefix}/_unsendable/indexer/${SERVICE_EVENTS_TOPIC}~.{8}/${PARTITION}/0{10}\\d{10}\\.json$`));
    const metrics = await (await fetch(`${indexer.url()}/metrics`)).text();
    expect(metrics).toMatch(/^tailrace_consumer_unsendable_records_total\{group="indexer",reason="not-utf8"\} 1$/m);
  } finally {
    store.close();
    await limit(topicsFor('local').find(({ name }) => name === DLQ)?.configs['max.message.bytes'] ?? '');
  }
});
