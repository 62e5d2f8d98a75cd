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

/** Where a record stands, and its broker time. */
export interface RecordPlace {
  readonly offset: number;
  readonly timestampMs: number;
}

/** Reads first records again and again, one look after another. */
export interface TimeReader {
  readonly firstTimes: FirstTimes;
  /** As `firstTimes`, with the offset of each record: above the one that was asked for where nothing readable stands there. */
  firstRecords(positions: readonly FirstOf[]): Promise<ReadonlyMap<string, RecordPlace>>;
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
  const firstRecords = async (positions: readonly FirstOf[]): Promise<ReadonlyMap<string, RecordPlace>> => {
    const places = new Map<string, RecordPlace>();
    if (positions.length === 0) return places;
    const waited = new Map(positions.map((position) => [partitionKey(position), position]));
    consumer.assign(positions.map(({ topic, partition, first }) => ({ topic, partition, nextToRead: first })));
    try {
      let deliveredMs = performance.now();
      while (waited.size > 0 && performance.now() - deliveredMs < QUIET_MS) {
        const [record] = await consumer.poll(1, POLL_MS);
        if (record === undefined || !waited.delete(partitionKey(record))) continue;
        places.set(partitionKey(record), { offset: record.offset, timestampMs: record.timestampMs });
        consumer.unassign([{ topic: record.topic, partition: record.partition }]);
        deliveredMs = performance.now();
      }
      return places;
    } finally {
      // The next look may ask for the same partition at another offset.
      if (waited.size > 0) consumer.unassign([...waited.values()].map(({ topic, partition }) => ({ topic, partition })));
    }
  };
  return {
    firstRecords,
    async firstTimes(positions) {
      const places = await firstRecords(positions);
      return new Map([...places].map(([key, { timestampMs }]) => [key, timestampMs]));
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
