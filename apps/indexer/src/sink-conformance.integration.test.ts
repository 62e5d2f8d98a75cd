import { layWire, type SinkRecord, sinkConformance } from '@tailrace/kafka-kit/testing';
import { DailyIndices } from './daily-indices.ts';
import { IncarnationGate } from './incarnation-gate.ts';
import { IndexSink } from './index-sink.ts';
import { SearchClient } from './search-client.ts';
import { testSearch } from './testing/search.ts';

const INCARNATION = 'AbCd-_12';

/** Mostly events; every seventh is no JSON, and every seventh of a kind that is not indexed. */
function record(offset: number): SinkRecord {
  const own = { key: Buffer.from(`c${offset}`), headers: [] };
  if (offset % 7 === 3) return { ...own, value: Buffer.from(`no JSON ${offset}`), outcome: 'dead', kept: undefined };
  const event = { timestamp: '2026-01-31T23:59:59.5Z', service: 'web', message: `“${offset}” ${'💥'.repeat(offset % 40)}` };
  const value = Buffer.from(JSON.stringify(event));
  if (offset % 7 !== 5) return { ...own, value, outcome: 'stored', kept: event };
  return { ...own, value, headers: [['event.type', Buffer.from('another-kind')]], outcome: 'skipped', kept: undefined };
}

sinkConformance('opensearch', async () => {
  const search = testSearch();
  const wire = await layWire(search.url);
  const client = new SearchClient({ url: wire.url });
  let partition = 0;
  return {
    store: wire,
    open: async () =>
      new IndexSink(
        { indexName: search.name, retentionDays: 14, maxBulkBytes: 3000, bulksAtOnce: 4 },
        {
          client,
          // Of its own, as in another process: what it knows of the indices it must find out by itself.
          indices: new DailyIndices(client, { name: search.name, shards: 1, replicas: 0 }),
          incarnations: new IncarnationGate(async () => INCARNATION),
          nowMs: Date.now,
        },
      ),
    source: async () => ({ topic: 'service-events', partition: partition++, incarnation: INCARNATION }),
    record,
    async kept(source) {
      const documents = [...(await search.documents(source.partition)).values()];
      return documents.map(({ topic, incarnation, partition: of, kafka_timestamp, offset, ...event }) => [Number(offset), event]);
    },
    async close() {
      await client.close();
      wire.end();
      await search.remove();
    },
  };
});
