import { createNativeConsumer } from '../broker/native-consumer.ts';
import { partitionKey, type TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';

const POLL_MS = 500;
const CLOSE_MS = 5000;
/** No further first record for so long: what is left holds none that can be read (only markers, or a transaction that is open). */
const QUIET_MS = 5000;
const MAX_POLL_INTERVAL_MS = 300_000;

/** The first record at or above an offset of a partition. */
export type FirstOf = TopicPartition & { readonly first: number };

/**
 * The broker time in ms of the first record at or above each offset, by `partitionKey`; without those of which none came. Rejects when the cluster
 * can not be reached.
 */
export type FirstTimes = (positions: readonly FirstOf[]) => Promise<ReadonlyMap<string, number>>;

/** Reads first times again and again, one look after another. */
export interface TimeReader {
  readonly firstTimes: FirstTimes;
  close(): Promise<void>;
}

/** One record of each partition is read, as a consumer under the name `group` that joins no group and commits nothing. */
export async function connectTimeReader(settings: KafkaSettings, group: string): Promise<TimeReader> {
  const consumer = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS });
  try {
    await consumer.connect([], {
      rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
      commit: () => {},
      log: () => {},
    });
  } catch (fault) {
    await consumer.close(CLOSE_MS);
    throw fault;
  }
  return {
    async firstTimes(positions) {
      const times = new Map<string, number>();
      if (positions.length === 0) return times;
      const waited = new Map(positions.map((position) => [partitionKey(position), position]));
      consumer.assign(positions.map(({ topic, partition, first }) => ({ topic, partition, nextToRead: first })));
      try {
        let deliveredMs = performance.now();
        while (waited.size > 0 && performance.now() - deliveredMs < QUIET_MS) {
          const [record] = await consumer.poll(1, POLL_MS);
          if (record === undefined || !waited.delete(partitionKey(record))) continue;
          times.set(partitionKey(record), record.timestampMs);
          consumer.unassign([{ topic: record.topic, partition: record.partition }]);
          deliveredMs = performance.now();
        }
        return times;
      } finally {
        // The next look may ask for the same partition at another offset.
        if (waited.size > 0) consumer.unassign([...waited.values()].map(({ topic, partition }) => ({ topic, partition })));
      }
    },
    close: () => consumer.close(CLOSE_MS),
  };
}

/** `FirstTimes` once, by a client of its own. */
export async function firstTimes(
  settings: KafkaSettings,
  group: string,
  positions: readonly FirstOf[],
): Promise<ReadonlyMap<string, number>> {
  if (positions.length === 0) return new Map();
  const reader = await connectTimeReader(settings, group);
  try {
    return await reader.firstTimes(positions);
  } finally {
    await reader.close();
  }
}
