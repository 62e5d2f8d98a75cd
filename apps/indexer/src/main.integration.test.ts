import { readFileSync } from 'node:fs';
import { generateEvents, keyOf, SERVICE_EVENTS_TOPIC, serviceEventHeaders, topicsFor } from '@tailrace/events';
import { connectAdmin, connectPublisher, type KafkaSettings, type Publisher, planTopics } from '@tailrace/kafka-kit';
import { pageNames, scrapedNames } from '@tailrace/kafka-kit/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { indexOfDay } from './index-names.ts';
import { SearchClient } from './search-client.ts';
import { runIndexer } from './testing/indexer-process.ts';

const endpoints = endpointsFromEnvironment();
const kafka: KafkaSettings = { bootstrapServers: endpoints.kafkaBootstrapServers, clientId: 'indexer-test', securityProtocol: 'plaintext' };
const search = new SearchClient({ url: endpoints.opensearchUrl });
const mark = `mark-${process.pid}-${Date.now()}`;
let publisher: Publisher;

beforeAll(async () => {
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  const admin = await connectAdmin(kafka);
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  await admin.close();
  publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killFromSources());
afterAll(async () => {
  await publisher.close(5000);
  await search.close();
});

/** Puts so many events of this test into the topic, and waits for their acks. */
async function publish(count: number): Promise<void> {
  const events = generateEvents({ seed: 7, nowMs: Date.now });
  const records = Array.from({ length: count }, () => {
    const event = { ...events.next().value, attributes: { mark } };
    return { topic: SERVICE_EVENTS_TOPIC, key: keyOf(event), value: Buffer.from(JSON.stringify(event)), headers: serviceEventHeaders };
  });
  const fates = await publisher.publish(records, { deadlineMs: 10_000 });
  expect(new Set(fates.map((fate) => fate.kind))).toEqual(new Set(['acknowledged']));
}

async function indexed(): Promise<number> {
  await search.request({ method: 'POST', path: `/${SERVICE_EVENTS_TOPIC}/_refresh`, query: { ignore_unavailable: 'true' } });
  const path = `/${SERVICE_EVENTS_TOPIC}/_count`;
  const { body } = await search.request({
    method: 'POST',
    path,
    query: { ignore_unavailable: 'true' },
    json: { query: { term: { 'attributes.mark': mark } } },
  });
  return (body as { readonly count?: number }).count ?? 0;
}

/** The topic and the group are the real ones, so the indexer may first have to read what other packages' tests have left in it. */
const PATIENCE_MS = 120_000;
const untilIndexed = (count: number) =>
  vi.waitFor(async () => expect(await indexed()).toBe(count), { timeout: PATIENCE_MS, interval: 200 });

const METRICS_PAGE = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');

test('every record is a document once, also over a kill -9 in the middle of the work, and a stop leaves nothing to read again', {
  timeout: 2 * PATIENCE_MS,
}, async () => {
  const first = runIndexer();
  await first.said('"msg":"ready"');
  await publish(500);
  await untilIndexed(500);
  await publish(2000);
  await vi.waitFor(async () => expect(await indexed()).toBeGreaterThan(500), { timeout: 30_000, interval: 20 });
  first.kill('SIGKILL');
  await first.exit();
  await publish(100);
  const second = runIndexer();
  await untilIndexed(2600);
  expect(await (await fetch(`${second.url()}/readyz`)).json()).toMatchObject({ state: 'ok' });
  const figures = await (await fetch(`${second.url()}/metrics`)).text();
  expect(figures).toContain('tailrace_indexer_fallback_documents_total 0');
  // What is registered is on the page, and the page names nothing else.
  expect(scrapedNames(figures)).toEqual(pageNames(METRICS_PAGE, 'Every service that reads from Kafka', 'indexer'));
  second.kill('SIGTERM');
  expect(await second.exit()).toBe(0);
  const admin = await connectAdmin(kafka);
  const lags = await admin.groupLag('indexer', [SERVICE_EVENTS_TOPIC]);
  await admin.close();
  expect(lags.map(({ partition, lag }) => [partition, lag])).toEqual(lags.map(({ partition }) => [partition, 0]));
});

test('an index that is not ours is a fault of the server: it is said in a line and in /readyz, no record is dead, and no restart is needed', {
  timeout: PATIENCE_MS,
}, async () => {
  const today = `/${indexOfDay(SERVICE_EVENTS_TOPIC, Date.now())}`;
  await search.request({ method: 'DELETE', path: today });
  const mappings = { dynamic: 'strict', properties: { service: { type: 'integer' } } };
  await search.demand({ method: 'PUT', path: today, json: { settings: { number_of_replicas: 0 }, mappings } });
  const indexer = runIndexer();
  const why = `Nothing is written to the index ${today.slice(1)}, because its mapping is dynamic: strict instead of false`;
  await indexer.said(why);
  await indexer.said('"msg":"ready"');
  await publish(100);
  await vi.waitFor(
    async () => {
      const answer = await fetch(`${indexer.url()}/readyz`);
      const said = await answer.text();
      // The index is named by its own check, and by a partition that waits for it.
      expect([answer.status, said.split(why).length > 2]).toEqual([503, true]);
    },
    { timeout: 30_000, interval: 100 },
  );
  await search.demand({ method: 'DELETE', path: today });
  await untilIndexed(100);
  await vi.waitFor(async () => expect(await (await fetch(`${indexer.url()}/readyz`)).json()).toMatchObject({ state: 'ok' }), {
    timeout: 30_000,
    interval: 100,
  });
  await indexer.said('The indices that are written to have the indexer’s mapping and aliases.');
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
});

test('a server that is away at the start is waited for, and a stop ends the waiting', async () => {
  const indexer = runIndexer({ OPENSEARCH_URL: 'http://127.0.0.1:9' });
  await indexer.said('can not be reached yet');
  const answer = await fetch(`${indexer.url()}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringMatching(/OpenSearch at http:\S+ was not reached yet: /)]);
  indexer.kill('SIGTERM');
  expect(await indexer.exit()).toBe(0);
});

test('wrong settings are all named at once, with exit code 2', async () => {
  const indexer = runIndexer({ OPENSEARCH_URL: 'localhost', INDEX_RETENTION_DAYS: '0', INDEX_MAX_BULK_BYTES: 'much' });
  expect(await indexer.exit()).toBe(2);
  const said = indexer.errors.join('\n');
  for (const name of ['OPENSEARCH_URL', 'INDEX_RETENTION_DAYS', 'INDEX_MAX_BULK_BYTES']) expect(said).toContain(name);
});
