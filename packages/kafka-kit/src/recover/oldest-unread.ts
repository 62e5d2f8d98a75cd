import type { PartitionLag } from '../admin/cluster-admin.ts';
import type { FirstTimes } from './first-times.ts';

/**
 * The broker time in ms of the oldest record that a group has not read, by `partitionKey`: a lag in time, once a clock is held against it. Without the
 * partitions that have none, or of whose it is not known.
 */
export async function oldestUnread(partitions: readonly PartitionLag[], firstTimes: FirstTimes): Promise<ReadonlyMap<string, number>> {
  const behind = partitions.filter(({ lag }) => lag > 0);
  const times = await firstTimes(
    behind.map(({ topic, partition, committed, logStart }) => ({ topic, partition, first: Math.max(committed ?? 0, logStart) })),
  );
  // Older than 1970 is no time of a broker.
  return new Map([...times].filter(([, timeMs]) => timeMs >= 0));
}
