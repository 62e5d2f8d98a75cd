import {
  type ConsumerRuntime,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type KafkaSettings,
  type RecordHistory,
  type RuntimeEvent,
  type Sink,
  systemClock,
} from '@tailrace/kafka-kit';
import { TOPIC } from '../pipeline/endpoints.ts';

export const GROUP = 'restore-check';
const MIB = 1024 * 1024;

/** A member of a group whose gap policy is restore, with the indexer's batches and bounds. */
export async function startReader(
  settings: KafkaSettings,
  sink: Sink,
  history: RecordHistory,
  observe: (event: RuntimeEvent) => void,
): Promise<ConsumerRuntime> {
  const runtime = createConsumerRuntime(
    {
      group: GROUP,
      topics: [TOPIC],
      sink,
      batch: { maxRecords: 10_000, maxBytes: 4 * MIB, maxAgeMs: 500 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 64 * MIB, resumeAtBytes: 32 * MIB },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 5000, stopMs: 10_000 },
      start: 'earliest',
      gaps: { kind: 'restore' },
    },
    {
      broker: createNativeConsumer(settings, { group: GROUP, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 }),
      clock: systemClock,
      history,
      observe,
    },
  );
  await runtime.start();
  return runtime;
}
