// The consumer runtime with a sink that does nothing.
import { createConsumerRuntime, createNativeConsumer, DEFAULT_BACKOFF, STORED, systemClock } from '../../packages/kafka-kit/dist/index.js';
import { measured, task } from '../lib/subject.mjs';

const MIB = 1024 * 1024;
const { topic, records, group, environment } = task();
const settings = { bootstrapServers: environment.KAFKA_BOOTSTRAP_SERVERS, clientId: group, securityProtocol: 'plaintext' };

await measured(async (firstRecord) => {
  let left = records;
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  const sink = {
    name: 'nothing',
    write: async (batch) => {
      firstRecord();
      left -= batch.length;
      if (left <= 0) done();
      return new Array(batch.length).fill(STORED);
    },
  };
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink,
      start: 'earliest',
      batch: { maxRecords: 1000, maxBytes: MIB, maxAgeMs: 100 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 5000, stopMs: 10_000 },
    },
    {
      broker: createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 }),
      clock: systemClock,
      observe: () => {},
    },
  );
  await runtime.start();
  await all;
});
