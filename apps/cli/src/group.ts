import { groups, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import { type ClusterAdmin, type Gap, gapAt, gapFinding, gapWay, type PartitionLag } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { EXIT, type Output } from './output.ts';

interface GroupLag {
  readonly group: string;
  /** False before its first commit: its lag then counts everything in the log. */
  readonly committed: boolean;
  readonly lag: number;
  readonly partitions: readonly GroupPartition[];
}

/** `gap`: what the committed position can not be read for, by the offsets alone. */
type GroupPartition = PartitionLag & { readonly gap?: Gap };

/** What nothing runs in this release would look like a group that is far behind. */
const declared: readonly string[] = groups.filter(({ state }) => state === 'active').map(({ name }) => name);

/**
 * Shows how many records each group has not settled yet, per partition and in all, and which of them Kafka no longer holds. Exit code 1 when a group
 * stands before such a gap. Throws ConfigError for a group that nobody knows.
 */
export async function lagCommand(admin: Pick<ClusterAdmin, 'groupLag'>, group: string | undefined, output: Output): Promise<number> {
  const found: GroupLag[] = [];
  for (const name of group === undefined ? declared : [group]) {
    const partitions = [...(await admin.groupLag(name, streams[SERVICE_EVENTS_TOPIC] ?? []))]
      .sort(byPlace)
      .map((each) => withGap(name, each));
    const lag = partitions.reduce((sum, each) => sum + each.lag, 0);
    found.push({ group: name, committed: partitions.some(({ committed }) => committed !== null), lag, partitions });
  }
  if (group !== undefined) requireKnownGroup(group, found[0]?.partitions ?? []);
  output.result({ groups: found }, found.flatMap(groupLines));
  return found.some(({ partitions }) => partitions.some(({ gap }) => gap !== undefined)) ? EXIT.finding : EXIT.good;
}

/**
 * Kafka answers for any name, with nothing committed: a slip of the fingers would look like a group that is far behind. Throws ConfigError for a group
 * that neither this release nor Kafka knows; `partitions` is Kafka's answer.
 */
export function requireKnownGroup(group: string, partitions: readonly PartitionLag[]): void {
  if (declared.includes(group) || partitions.some(({ committed }) => committed !== null)) return;
  const planned = groups.some(({ name, state }) => name === group && state === 'planned');
  const why = planned ? `Nothing runs the group ${group} in this release` : `There is no group ${group} that reads ${SERVICE_EVENTS_TOPIC}`;
  throw new ConfigError([`${why}: name one of ${declared.join(', ')}.`]);
}

function withGap(group: string, partition: PartitionLag): GroupPartition {
  // Where the lake keeps the position, the commit is for looks only.
  const kept = groups.some(({ name, position }) => name === group && position === 'lake');
  const gap = kept || partition.committed === null ? undefined : gapAt(partition, partition.committed);
  return gap === undefined ? partition : { ...partition, gap };
}

function groupLines({ group, committed, lag, partitions }: GroupLag): string[] {
  if (!committed) return [`${group}: no commits yet (${lag} ${lag === 1 ? 'record' : 'records'} in the log)`];
  return [
    `${group}: ${lag} ${lag === 1 ? 'record' : 'records'} behind`,
    ...partitions.flatMap((p) => [
      `  ${p.topic}, partition ${p.partition}: ${p.lag} behind (committed ${p.committed ?? 'nothing'}, log ${p.logStart} to ${p.logEnd})`,
      ...(p.gap === undefined ? [] : [`    ${p.gap.kind}: ${gapFinding(group, p, p.gap)}; ${gapWay(group, p, p.gap.kind)}.`]),
    ]),
  ];
}

function byPlace(a: PartitionLag, b: PartitionLag): number {
  return a.topic.localeCompare(b.topic) || a.partition - b.partition;
}
