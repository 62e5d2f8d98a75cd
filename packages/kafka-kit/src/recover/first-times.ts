import { createNativeConsumer } from '../broker/native-consumer.ts';
import { partitionKey, type TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';

const POLL_MS = 500;
const CLOSE_MS = 5000;
/** No further first record for so long: what is left holds none that can be read (only markers, or a transaction that is open). */
const QUIET_MS = 5000;
const MAX_POLL_INTERVAL_MS = 300_000;

/**
 * The broker time in ms of the first record at or above each offset, by `partitionKey`; without those of which none came. One record of each
 * partition is read, as a consumer under the name `group` that joins no group and commits nothing. Rejects when the cluster can not be reached.
 */
export async function firstTimes(
  settings: KafkaSettings,
  group: string,
  positions: readonly (TopicPartition & { readonly first: number })[],
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  if (positions.length === 0) return times;
  const consumer = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS });
  try {
    await consumer.connect([], {
      rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
      commit: () => {},
      log: () => {},
    });
    const waited = new Set(positions.map(partitionKey));
    consumer.assign(positions.map(({ topic, partition, first }) => ({ topic, partition, nextToRead: first })));
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
    await consumer.close(CLOSE_MS);
  }
}
