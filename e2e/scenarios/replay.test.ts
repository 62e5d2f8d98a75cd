import { setTimeout as delay } from 'node:timers/promises';
import { TopicIdentity } from '@tailrace/kafka-kit';
import { deleteRecordsBefore, forgetCommits } from '@tailrace/kafka-kit/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import type { Member } from '../src/cluster/member.ts';
import { scenarioConfig } from '../src/config.ts';
import { until } from '../src/machine/until.ts';
import { kafkaSettings, s3Settings, TOPIC } from '../src/pipeline/endpoints.ts';
import { countDocuments, readDocuments, removeIndices } from '../src/proof/index-documents.ts';
import { archiveOld } from '../src/replay/old-lake.ts';
import { report } from '../src/report.ts';
import { type Receipt, sourcesOf } from '../src/story/replay-commands.ts';
import { heldByLake } from '../src/story/window.ts';
import { Feed } from '../src/torture/feed.ts';

const RECORDS = 60_000;
const KILLS = 10;
const CAUGHT_UP_MS = 120_000;
const SIDE = `${TOPIC}.indexer.replay`;
const DAY_MS = 86_400_000;
const iso = (timeMs: number): string => new Date(timeMs).toISOString();

describe('a replay on real servers', () => {
  let cluster: Cluster;
  let feed: Feed;
  let indexer: Member;
  let fromMs: number;
  let toMs: number;

  beforeAll(async () => {
    cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
    indexer = cluster.join('indexer');
    cluster.join('archiver');
    await Promise.all([cluster.settled('indexer'), cluster.settled('archiver')]);
    fromMs = Date.now();
    feed = await Feed.start(kafkaSettings(cluster.endpoints), scenarioConfig.seed);
    feed.allow(RECORDS);
    await until(`${RECORDS} records written`, CAUGHT_UP_MS, () => feed.acknowledged === RECORDS);
    toMs = Date.now();
    await until('all of them in index and lake', CAUGHT_UP_MS, async () => {
      const span = { fromMs, toMs };
      const documents = await countDocuments(cluster.endpoints.opensearchUrl, TOPIC);
      return documents === RECORDS && (await heldByLake(cluster.endpoints, span)).records === RECORDS;
    });
  });

  afterAll(async () => {
    await feed.stop();
    await cluster.stop();
  });

  async function plan(...more: string[]): Promise<string> {
    const { code, stdout, stderr } = await cluster.tailrace(
      'replay',
      'plan',
      '--from',
      iso(fromMs),
      '--to',
      iso(toMs),
      '--into',
      'indexer',
      '--json',
      ...more,
    );
    expect(code, stderr).toBe(0);
    return String((JSON.parse(stdout) as { id: number }).id);
  }

  async function receiptOf(id: string): Promise<Receipt> {
    const { code, stdout, stderr } = await cluster.tailrace('replay', 'run', id, '--json');
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Receipt;
  }

  /** Every record once in the index again, and a receipt that is true. */
  async function isBack({ sent, applied, agrees }: Receipt): Promise<void> {
    const lake = await heldByLake(cluster.endpoints, { fromMs, toMs });
    expect(sent).toMatchObject({ records: RECORDS, checksum: lake.checksum });
    expect(applied).toMatchObject({ stored: RECORDS, skipped: {}, dead: 0, checksum: lake.checksum });
    expect(agrees).toBe(true);
    const documents = await readDocuments(cluster.endpoints.opensearchUrl, TOPIC);
    expect(documents.length).toBe(RECORDS);
    expect(new Set(documents.map(({ place }) => place)).size).toBe(RECORDS);
  }

  test(`killed ${KILLS} times, its consumer too, and resumed: the receipt is true, the index holds each event once`, async () => {
    await removeIndices(cluster.endpoints.opensearchUrl, TOPIC);
    const id = await plan();
    const moments = fc.sample(fc.integer({ min: 500, max: 3000 }), { seed: scenarioConfig.seed, numRuns: KILLS });
    for (const [kill, momentMs] of moments.entries()) {
      const run = cluster.replayer('run', id, '--rate', '2MiB');
      await delay(momentMs);
      expect(run.running, run.printed).toBe(true);
      run.child.kill('SIGKILL');
      await run.ends(10_000);
      if (kill % 3 === 2) {
        await indexer.kill();
        indexer = cluster.join('indexer');
      }
    }
    const receipt = await receiptOf(id);
    report(`a replay of ${RECORDS} records, killed ${KILLS} times: ${JSON.stringify(receipt.applied)}`);
    await isBack(receipt);
  });

  test('waits under its bound while its consumer is away, says so, and goes on', async () => {
    await removeIndices(cluster.endpoints.opensearchUrl, TOPIC);
    expect(await indexer.leave()).toBe(0);
    const maxUnread = 2000;
    const run = cluster.replayer('run', await plan(), '--max-unread', String(maxUnread), '--json');
    await run.prints(/wait/i, CAUGHT_UP_MS);
    const unread = async () => (await cluster.admin.groupLag('indexer.replay', [SIDE])).reduce((sum, { lag }) => sum + lag, 0);
    await until('the bound met', CAUGHT_UP_MS, async () => (await unread()) >= maxUnread * 0.5);
    for (let look = 0; look < 20; look++) expect(await unread()).toBeLessThanOrEqual(maxUnread);
    expect(run.running).toBe(true);
    indexer = cluster.join('indexer');
    expect((await run.ends(CAUGHT_UP_MS)).code, run.stderr).toBe(0);
    await isBack(JSON.parse(run.stdout) as Receipt);
  });

  test('a consumer whose offsets Kafka has forgotten and whose backlog has expired in part comes back with every record, each once', async () => {
    expect(await indexer.leave()).toBe(0);
    const more = 5000;
    feed.allow(RECORDS + more);
    await until('more records in the lake', CAUGHT_UP_MS, async () => {
      const { records } = await heldByLake(cluster.endpoints, { fromMs, toMs: Date.now() });
      return records === RECORDS + more;
    });
    const logs = await cluster.admin.groupLag('indexer', [TOPIC]);
    await until('the group without members', CAUGHT_UP_MS, async () => {
      await forgetCommits(kafkaSettings(cluster.endpoints), 'indexer');
      return true;
    });
    for (const { partition, committed, logEnd } of logs) {
      const half = Math.floor(((committed ?? 0) + logEnd) / 2);
      await deleteRecordsBefore(kafkaSettings(cluster.endpoints), { topic: TOPIC, partition }, half);
    }
    indexer = cluster.join('indexer');
    await until('all of them in the index', CAUGHT_UP_MS, async () => {
      const documents = await countDocuments(cluster.endpoints.opensearchUrl, TOPIC);
      if (documents === RECORDS + more) return true;
      throw new Error(`${documents} documents`);
    });
    const documents = await readDocuments(cluster.endpoints.opensearchUrl, TOPIC);
    expect(new Set(documents.map(({ place }) => place)).size).toBe(RECORDS + more);
  });
});

describe('a window a year old', () => {
  const OLD = 500;
  const BAD = 3;

  test('comes from the lake, and nothing of it is deleted early: neither on the side channel nor among the dead letters', async () => {
    const cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
    try {
      const settings = kafkaSettings(cluster.endpoints);
      // As many records in Kafka as the lake has of a year ago: then Kafka's beginning is moved behind them.
      const feed = await Feed.start(settings, scenarioConfig.seed);
      feed.allow(OLD * 12);
      await feed.stop();
      const logs = await cluster.admin.groupLag('indexer', [TOPIC]);
      const identity = new TopicIdentity(settings);
      const incarnation = (await identity.lookUp(TOPIC, 10_000)) ?? '';
      identity.close();
      const hourMs = Math.floor((Date.now() - 365 * DAY_MS) / 3_600_000) * 3_600_000;
      let records = 0;
      for (const { partition, logEnd } of logs) {
        const rows = Array.from({ length: logEnd }, (_, offset) => ({
          offset,
          timestampMs: hourMs + offset,
          key: Buffer.from(`k${partition}`),
          value: Buffer.from(
            offset < BAD ? 'no event' : JSON.stringify({ timestamp: iso(hourMs), service: 'old', attributes: { n: offset } }),
          ),
          headers: [],
        }));
        if (rows.length > 0) await archiveOld(s3Settings(cluster.endpoints), { topic: TOPIC, incarnation, partition }, rows);
        await deleteRecordsBefore(settings, { topic: TOPIC, partition }, logEnd);
        records += logEnd;
      }
      const dead = logs.reduce((sum, { logEnd }) => sum + Math.min(BAD, logEnd), 0);
      const window = ['--from', iso(hourMs), '--to', iso(hourMs + 3_600_000), '--into', 'indexer', '--json'];
      const refused = await cluster.tailrace('replay', 'plan', ...window);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('--keep');
      const planned = await cluster.tailrace('replay', 'plan', ...window, '--keep', '30');
      expect(planned.code, planned.stderr).toBe(0);
      const { id } = JSON.parse(planned.stdout) as { id: number };
      const sent = await cluster.tailrace('replay', 'run', String(id), '--detach');
      expect(sent.code, sent.stderr).toBe(0);
      // Kafka looks every 5 s for what is to be deleted: three times before anybody reads it.
      await delay(16_000);
      cluster.join('indexer', { INDEX_DEAD_LETTER_HALT: '0' });
      const receipt = await until('the receipt', CAUGHT_UP_MS, async () => {
        const { stdout } = await cluster.tailrace('replay', 'receipt', String(id), '--json');
        const found = JSON.parse(stdout) as Partial<Receipt>;
        return found.applied === undefined ? undefined : (found as Receipt);
      });
      expect(receipt.applied).toMatchObject({ stored: records - dead, dead, skipped: {} });
      expect(sourcesOf(receipt)).toEqual({ fromLake: records, fromKafka: 0 });
      const documents = await readDocuments(cluster.endpoints.opensearchUrl, TOPIC);
      expect(documents.length).toBe(records - dead);
      await delay(scenarioConfig.short ? 6000 : 60_000);
      const letters = await cluster.tailrace('dlq', 'ls', '--group', 'indexer', '--json');
      const { topics } = JSON.parse(letters.stdout) as { topics: readonly { deadLetters: number; expired: number }[] };
      expect(topics).toMatchObject([{ deadLetters: dead, expired: 0 }]);
    } finally {
      await cluster.stop();
    }
  });
});
