// The indexer's sink in the runtime, with the indexer's own settings.
import { readIndexerConfig } from '../../apps/indexer/dist/config.js';
import { DailyIndices } from '../../apps/indexer/dist/daily-indices.js';
import { IncarnationGate } from '../../apps/indexer/dist/incarnation-gate.js';
import { IndexSink } from '../../apps/indexer/dist/index-sink.js';
import { SearchClient } from '../../apps/indexer/dist/search-client.js';
import { createConsumerRuntime, createNativeConsumer, DEFAULT_BACKOFF, systemClock } from '../../packages/kafka-kit/dist/index.js';
import { measured, task } from '../lib/subject.mjs';

const MIB = 1024 * 1024;
const { topic, records, group, environment } = task();
Object.assign(process.env, environment);

await measured(async (firstRecord) => {
  const config = readIndexerConfig();
  const client = new SearchClient(config.opensearch);
  const indices = new DailyIndices(client, { name: group, shards: 1, replicas: 0 });
  await indices.putTemplate(new AbortController().signal);
  const broker = createNativeConsumer(
    { ...config.kafka, clientId: group },
    { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 },
  );
  const sink = new IndexSink(
    { ...config, indexName: group },
    { client, indices, incarnations: new IncarnationGate((name) => broker.incarnation(name, 10_000)), nowMs: Date.now },
  );
  let left = records;
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink,
      start: 'earliest',
      batch: { maxRecords: 10_000, maxBytes: 4 * MIB, maxAgeMs: config.maxAgeMs },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 10_000, stopMs: 16_000 },
    },
    {
      broker,
      clock: systemClock,
      observe: (event) => {
        if (event.kind === 'handed-over') firstRecord();
        if (event.kind === 'outage') console.error(event.cause);
        if (event.kind !== 'settled') return;
        left -= event.stored;
        if (left <= 0) done();
      },
    },
  );
  await runtime.start();
  await all;
});
