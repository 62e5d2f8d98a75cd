import { expect, test } from 'vitest';
import { Cluster } from '../src/cluster/cluster.ts';
import { scenarioConfig } from '../src/config.ts';
import { until } from '../src/machine/until.ts';
import { kafkaSettings, LAKE, s3Settings, TOPIC } from '../src/pipeline/endpoints.ts';
import { countDocuments, walkDocuments } from '../src/proof/index-documents.ts';
import { walkLake } from '../src/proof/lake-rows.ts';
import { Feed } from '../src/torture/feed.ts';

const OLD = 3000;
const NEW = 2000;
const LIMIT_MS = 120_000;

/** How many of something there are of each life of the topic, the largest first. */
function byLife(incarnations: readonly string[]): number[] {
  const counts = new Map<string, number>();
  for (const each of incarnations) counts.set(each, (counts.get(each) ?? 0) + 1);
  return [...counts.values()].sort((a, b) => b - a);
}

test('a topic that is deleted and made anew under running groups: the indexer halts and says so, the archiver begins a new chain, and nothing is mixed', async () => {
  const cluster = await Cluster.start({ brokers: 1, jit: 'fast-start' });
  try {
    const { endpoints, admin } = cluster;
    const indexer = cluster.join('indexer');
    cluster.join('archiver');
    await Promise.all([cluster.settled('indexer'), cluster.settled('archiver')]);
    const rows = async () => {
      const lives: string[] = [];
      await walkLake(s3Settings(endpoints), LAKE, ({ incarnation }) => lives.push(incarnation));
      return byLife(lives);
    };
    const documents = async () => {
      const lives: string[] = [];
      await walkDocuments(endpoints.opensearchUrl, TOPIC, ({ incarnation }) => lives.push(incarnation));
      return byLife(lives);
    };
    const write = async (records: number): Promise<void> => {
      const feed = await Feed.start(kafkaSettings(endpoints), scenarioConfig.seed);
      feed.allow(records);
      await feed.stop();
      expect([...feed.faults]).toEqual([]);
    };
    await write(OLD);
    await until('the old records in index and lake', LIMIT_MS, async () => {
      const [inIndex, [inLake]] = [await countDocuments(endpoints.opensearchUrl, TOPIC), await rows()];
      return inIndex === OLD && inLake === OLD;
    });
    await admin.deleteTopics([TOPIC]);
    await until('the topic made anew', LIMIT_MS, async () => (await cluster.tailrace('topics', 'apply')).code === 0);
    await write(NEW);
    await until('the new records in a chain of their own', LIMIT_MS, async () => {
      const found = await rows();
      if (String(found) === `${OLD},${NEW}`) return true;
      throw new Error(`rows by life: ${found}`);
    });
    const said = await until('the indexer halted', LIMIT_MS, async () => {
      const { text } = await indexer.readyz();
      return text.includes('made anew') ? text : undefined;
    });
    expect(said).toContain('group reset --group indexer');
    expect(await documents()).toEqual([OLD]);
    expect(await indexer.leave()).toBe(0);
    const reset = await cluster.tailrace('group', 'reset', '--group', 'indexer', '--to', 'earliest', '--yes');
    expect(reset.code, reset.stderr).toBe(0);
    cluster.join('indexer');
    await until('the new records in the index', LIMIT_MS, async () => (await countDocuments(endpoints.opensearchUrl, TOPIC)) === OLD + NEW);
    expect(await documents()).toEqual([OLD, NEW]);
  } finally {
    await cluster.stop();
  }
});
