import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateEvents, keyOf, SERVICE_EVENTS_TOPIC, serviceEventHeaders, topicsFor } from '@tailrace/events';
import {
  connectAdmin,
  connectPublisher,
  type KafkaSettings,
  type PartitionLag,
  type Publisher,
  planTopics,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import { pageNames, scrapedNames } from '@tailrace/kafka-kit/testing';
import { Ledger, lakeLayout, S3Store } from '@tailrace/lake';
import { FaultyProxy } from '@tailrace/lake/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { runArchiver, runLake } from './testing/processes.ts';

const kafka: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'archiver-test',
  securityProtocol: 'plaintext',
};
const mark = randomUUID();
const prefix = `archiver-main-${mark.slice(0, 8)}`;
let dataFolder = '';
let publisher: Publisher;
const own = () => ({ ARCHIVER_DATA_DIR: dataFolder, TAILRACE_LAKE_PREFIX: prefix });

beforeAll(async () => {
  dataFolder = await mkdtemp(join(tmpdir(), 'tailrace-archiver-main-'));
  const specs = topicsFor('local').filter(({ name }) => name === SERVICE_EVENTS_TOPIC);
  const admin = await connectAdmin(kafka);
  await admin.apply(planTopics(specs, await admin.readTopics([SERVICE_EVENTS_TOPIC])));
  await beginAtTheEnd(await admin.groupLag('archiver', [SERVICE_EVENTS_TOPIC]));
  await admin.close();
  publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterEach(() => killFromSources());
afterAll(async () => {
  await publisher.close(5_000);
  await rm(dataFolder, { recursive: true });
});

/** Other tests write into this topic too: the chains of this test's lake begin behind what is there. */
async function beginAtTheEnd(partitions: readonly PartitionLag[]): Promise<void> {
  const identity = new TopicIdentity(kafka);
  const incarnation = (await identity.lookUp(SERVICE_EVENTS_TOPIC, 10_000)) ?? '';
  identity.close();
  const { s3 } = endpointsFromEnvironment();
  const store = new S3Store({ ...s3, endpoint: s3.endpointUrl });
  const ledger = new Ledger(store, lakeLayout({ prefix }));
  for (const { topic, partition, logEnd } of partitions)
    if (logEnd > 0)
      await ledger.claim({ topic, incarnation, partition }, { kind: 'genesis', first: 0, next: logEnd, attempt: randomUUID() });
  store.close();
}

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

const OURS = `attributes ->> '$.mark' = '${mark}'`;

async function archived(): Promise<number> {
  const { code, out, errors } = await runLake(['query', `SELECT count(*) AS n FROM events WHERE ${OURS}`, '--json'], own());
  expect([code, errors]).toEqual([0, expect.stringContaining('fetching')]);
  return (JSON.parse(out) as { rows: { n: number }[] }).rows[0]?.n ?? -1;
}

const untilArchived = (count: number) => vi.waitFor(async () => expect(await archived()).toBe(count), { timeout: 80_000, interval: 500 });

const METRICS_PAGE = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');

test('every record is a row once, also over a kill -9 in the middle of the work; the lake is audited clean and the spool is empty', async () => {
  const beganMs = Date.now();
  const first = runArchiver(own());
  await first.said('"msg":"ready"');
  await publish(500);
  await untilArchived(500);
  await publish(20_000);
  await first.said('are in the lake');
  first.kill('SIGKILL');
  await first.exit();
  expect(await readdir(dataFolder)).toEqual([`spool-${first.pid}`]);
  await publish(100);
  const second = runArchiver(own());
  await untilArchived(20_600);
  expect(await readdir(dataFolder)).toEqual([`spool-${second.pid}`]);
  expect(await (await fetch(`${second.url()}/readyz`)).json()).toMatchObject({ state: 'ok' });
  const figures = await (await fetch(`${second.url()}/metrics`)).text();
  expect(figures).toMatch(/tailrace_archiver_rows_total \d{4}/);
  // What is registered is on the page, and the page names nothing else.
  expect(scrapedNames(figures)).toEqual(pageNames(METRICS_PAGE, 'Every service that reads from Kafka', 'archiver'));
  // Since when a replay can read from either, as `replay window` finds it in the first entry and in the log.
  await vi.waitFor(
    async () => {
      const scraped = await (await fetch(`${second.url()}/metrics`)).text();
      const starts = (source: string) =>
        [...scraped.matchAll(new RegExp(`^tailrace_replay_window_start_seconds\\{source="${source}",.* (\\S+)$`, 'gm'))].map(([, value]) =>
          Number(value),
        );
      expect(starts('lake')).toHaveLength(12);
      for (const seconds of starts('lake')) expect(seconds * 1000).toBeGreaterThan(beganMs - 60_000);
      expect(starts('kafka')).toHaveLength(12);
      expect(Math.max(...starts('kafka'))).toBeLessThanOrEqual(Date.now() / 1000);
      expect(scraped).toMatch(/^tailrace_replay_window_hole_offsets\{.*\} 0$/m);
    },
    { timeout: 30_000, interval: 500 },
  );
  second.kill('SIGTERM');
  expect(await second.exit()).toBe(0);
  expect(await readdir(dataFolder)).toEqual([]);
  const distinct = `SELECT count(*) AS n FROM (SELECT DISTINCT incarnation, partition, "offset" FROM events WHERE ${OURS})`;
  expect(JSON.parse((await runLake(['query', distinct, '--json'], own())).out)).toMatchObject({ rows: [{ n: 20_600 }] });
  const audit = await runLake(['audit'], own());
  expect([audit.code, audit.errors]).toEqual([0, '']);
  expect(audit.out).toContain('Clean: every offset is covered exactly once.');
  expect(JSON.parse((await runLake(['audit', '--json'], own())).out)).toMatchObject({ clean: true, findings: [] });
}, 180_000);

test('a store that is away at the start is waited for, and a stop ends the waiting', async () => {
  const archiver = runArchiver({ ...own(), AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' });
  await archiver.said('can not be reached yet');
  const answer = await fetch(`${archiver.url()}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringMatching(/S3 at http:\S+ was not reached yet: /)]);
  archiver.kill('SIGTERM');
  expect(await archiver.exit()).toBe(0);
});

test('a store that stops answering is told in readiness before the client gives it up, and the archiver goes on by itself', async () => {
  const proxy = await FaultyProxy.open(endpointsFromEnvironment().s3.endpointUrl);
  const archiver = runArchiver({ ...own(), AWS_ENDPOINT_URL_S3: proxy.url });
  const readyz = async (): Promise<string> => await (await fetch(`${archiver.url()}/readyz`)).text();
  await archiver.said('"msg":"ready"');
  await vi.waitFor(async () => expect(await readyz()).toContain('The lake takes in 12 partitions.'), { timeout: 40_000, interval: 200 });
  const before = await archived();
  proxy.fault = () => ({ kind: 'hung' });
  await publish(50);
  await vi.waitFor(async () => expect(await readyz()).toContain('to write to the store has had no answer for'), {
    timeout: 40_000,
    interval: 200,
  });
  // Not one attempt has failed: it is seen while the client still waits.
  expect(archiver.lines.filter((line) => line.includes('failed and is tried again'))).toEqual([]);
  proxy.fault = () => ({ kind: 'none' });
  await untilArchived(before + 50);
  await vi.waitFor(async () => expect(await readyz()).toContain('The lake takes in 12 partitions.'), { timeout: 40_000, interval: 200 });
  archiver.kill('SIGTERM');
  expect(await archiver.exit()).toBe(0);
  await proxy.close();
}, 180_000);

test('wrong settings are all named at once, with exit code 2', async () => {
  const archiver = runArchiver({ ARCHIVER_IDLE_MS: 'soon', ARCHIVER_MEMORY_MB: '1', AWS_ENDPOINT_URL_S3: 'localhost' });
  expect(await archiver.exit()).toBe(2);
  const said = archiver.errors.join('\n');
  for (const name of ['ARCHIVER_IDLE_MS', 'ARCHIVER_DATA_DIR', 'ARCHIVER_MEMORY_MB', 'AWS_ENDPOINT_URL_S3']) expect(said).toContain(name);
});

test('a query that is interrupted leaves nothing on the disk', async () => {
  const temporary = await mkdtemp(join(tmpdir(), 'tailrace-interrupted-'));
  const endless = 'SELECT sum(hash(a.range)) FROM range(1000000000000) a';
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    let seen: readonly string[] = [];
    await runLake(['query', endless], { ...own(), TMPDIR: temporary }, (errors, child) => {
      if (!errors.includes('fetching')) return;
      seen = readdirSync(temporary).filter((name) => name.startsWith('tailrace-query-'));
      child.kill(signal);
    });
    expect(seen, signal).toHaveLength(1);
    expect(
      (await readdir(temporary)).filter((name) => name.startsWith('tailrace-query-')),
      signal,
    ).toEqual([]);
  }
  await rm(temporary, { recursive: true });
}, 60_000);
