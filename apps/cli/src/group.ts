import { groups, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import type { ClusterAdmin, PartitionLag } from '@tailrace/kafka-kit';
import { EXIT, type Output } from './output.ts';

/** Shows how many records each group has not settled yet, per partition and in all. */
export async function lagCommand(admin: ClusterAdmin, group: string | undefined, output: Output): Promise<number> {
  const names: string[] = group === undefined ? groups.map(({ name }) => name) : [group];
  const topics = streams[SERVICE_EVENTS_TOPIC] ?? [];
  const found: { group: string; lag: number; partitions: PartitionLag[] }[] = [];
  for (const name of names) {
    const partitions = await admin.groupLag(name, topics);
    // Without a name, groups that never read anything are left out: they are declared, but do not run here.
    if (group === undefined && partitions.every(({ committed }) => committed === null)) continue;
    found.push({ group: name, lag: partitions.reduce((sum, { lag }) => sum + lag, 0), partitions });
  }
  const lines = found.flatMap(({ group: name, lag, partitions }) => [
    `${name}: ${lag} records behind`,
    ...[...partitions]
      .sort(byPlace)
      .map(
        (p) =>
          `  ${p.topic}, partition ${p.partition}: ${p.lag} behind (committed ${p.committed ?? 'nothing'}, log ${p.logStart} to ${p.logEnd})`,
      ),
  ]);
  output.result({ groups: found }, lines.length === 0 ? ['No group has read anything yet.'] : lines);
  return EXIT.good;
}

function byPlace(a: PartitionLag, b: PartitionLag): number {
  return a.topic.localeCompare(b.topic) || a.partition - b.partition;
}
