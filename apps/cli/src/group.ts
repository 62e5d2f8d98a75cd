import { groups, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import type { ClusterAdmin, PartitionLag } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { EXIT, type Output } from './output.ts';

interface GroupLag {
  readonly group: string;
  /** False before its first commit: its lag then counts everything in the log. */
  readonly committed: boolean;
  readonly lag: number;
  readonly partitions: readonly PartitionLag[];
}

/** Shows how many records each group has not settled yet, per partition and in all. Throws ConfigError for a group that nobody knows. */
export async function lagCommand(admin: Pick<ClusterAdmin, 'groupLag'>, group: string | undefined, output: Output): Promise<number> {
  // What nothing runs in this release would look like a group that is far behind.
  const declared: string[] = groups.filter(({ state }) => state === 'active').map(({ name }) => name);
  const planned = groups.some(({ name, state }) => name === group && state === 'planned');
  const found: GroupLag[] = [];
  for (const name of group === undefined ? declared : [group]) {
    const partitions = [...(await admin.groupLag(name, streams[SERVICE_EVENTS_TOPIC] ?? []))].sort(byPlace);
    const lag = partitions.reduce((sum, each) => sum + each.lag, 0);
    found.push({ group: name, committed: partitions.some(({ committed }) => committed !== null), lag, partitions });
  }
  // Kafka answers for any name, with nothing committed: a slip of the fingers would look like a group that is far behind.
  if (group !== undefined && !declared.includes(group) && !found.some(({ committed }) => committed)) {
    const why = planned
      ? `Nothing runs the group ${group} in this release`
      : `There is no group ${group} that reads ${SERVICE_EVENTS_TOPIC}`;
    throw new ConfigError([`${why}: name one of ${declared.join(', ')}.`]);
  }
  output.result({ groups: found }, found.flatMap(groupLines));
  return EXIT.good;
}

function groupLines({ group, committed, lag, partitions }: GroupLag): string[] {
  if (!committed) return [`${group}: no commits yet (${lag} ${lag === 1 ? 'record' : 'records'} in the log)`];
  return [
    `${group}: ${lag} ${lag === 1 ? 'record' : 'records'} behind`,
    ...partitions.map(
      (p) =>
        `  ${p.topic}, partition ${p.partition}: ${p.lag} behind (committed ${p.committed ?? 'nothing'}, log ${p.logStart} to ${p.logEnd})`,
    ),
  ];
}

function byPlace(a: PartitionLag, b: PartitionLag): number {
  return a.topic.localeCompare(b.topic) || a.partition - b.partition;
}
