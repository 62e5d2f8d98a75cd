// The consumer runtime with a sink that does nothing, on a topic of which Kafka holds nothing any more: every record comes from the lake.
import { mkdirSync } from 'node:fs';
import { createConsumerRuntime, createNativeConsumer, DEFAULT_BACKOFF, STORED, systemClock } from '../../packages/kafka-kit/dist/index.js';
import { Database, LakeHistory, Ledger, S3Store } from '../../packages/lake/dist/index.js';
import { s3Of } from '../lib/lake.mjs';
import { measured, task } from '../lib/subject.mjs';

const MIB = 1024 * 1024;
const { goneTopic: topic, records, group, environment, folder, lakePrefix } = task();
const settings = { bootstrapServers: environment.KAFKA_BOOTSTRAP_SERVERS, clientId: group, securityProtocol: 'plaintext' };

mkdirSync(folder, { recursive: true });
await measured(async (firstRecord) => {
  let left = records;
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  const sink = {
    name: 'nothing',
    assign: async () => ({ startAt: 0 }),
    write: async (batch) => {
      firstRecord();
      left -= batch.length;
      if (left <= 0) done();
      return new Array(batch.length).fill(STORED);
    },
  };
  const ledger = new Ledger(new S3Store(s3Of(environment, lakePrefix)), { prefix: lakePrefix, stream: 'service-events' });
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink,
      start: 'earliest',
      gaps: { kind: 'restore' },
      batch: { maxRecords: 1000, maxBytes: MIB, maxAgeMs: 100 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 5000, stopMs: 10_000 },
    },
    {
      broker: createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 }),
      clock: systemClock,
      history: new LakeHistory({ ledger, database: await Database.open(), folder }),
      observe: (event) => {
        if (event.kind === 'outage') console.error(event.cause);
      },
    },
  );
  await runtime.start();
  await all;
});
