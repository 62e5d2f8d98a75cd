import {
  ALERT_PARTIALS_TOPIC,
  decideGroupName,
  groups,
  replayable,
  replayGroupName,
  SERVICE_EVENTS_TOPIC,
  sideTopicName,
  streams,
} from '@tailrace/events';
import {
  BUDGET_RULE,
  type ClusterAdmin,
  countGroupMembers,
  firstTimes,
  type Gap,
  gapAt,
  gapFinding,
  gapWay,
  type KafkaSettings,
  type PartitionLag,
  readRanges,
  TAILRACE,
} from '@tailrace/kafka-kit';
import { ConfigError, printable } from '@tailrace/service';
import { type GroupPartition, LATEST_OFFSETS, type LagPorts, type Trouble, withWaiting } from './group-waiting.ts';
import { EXIT, type Output } from './output.ts';

interface GroupLag {
  readonly group: string;
  /** The group whose side channel it reads, where it reads one: what is brought back into that one. */
  readonly sideChannelOf?: string;
  /** False before its first commit: its lag then counts everything in the log. */
  readonly committed: boolean;
  readonly lag: number;
  /** How long the oldest record of all partitions waits, by this machine's clock. */
  readonly waitingMs?: number;
  /** How many members Kafka counts; asked only where a partition stands still. */
  readonly members?: number;
  readonly partitions: readonly GroupPartition[];
}

const TIMEOUT_MS = 20_000;
const MAX_REASONS = 5;
/** Said of a partition of which no record could be read where the group stands. */
const UNKNOWN = ', for how long is not known (markers of transactions, one that is open, or no answer)';

const stream = streams[SERVICE_EVENTS_TOPIC] ?? [];

/** Groups that read side channels, each with the group whose replayed records and dead letters it applies. */
const sideGroups: ReadonlyMap<string, string> = new Map(
  replayable.filter(({ state }) => state === 'active').map(({ name }) => [replayGroupName(name), name]),
);

/** Groups that read other topics than the stream, each with those. */
const ownTopics: ReadonlyMap<string, readonly string[]> = new Map([
  ...[...sideGroups].map(([name, of]) => [name, stream.map((source) => sideTopicName(source, of, 'replay'))] as const),
  [decideGroupName('alert-processor'), [ALERT_PARTIALS_TOPIC]],
]);

/** What nothing runs in this release would look like a group that is far behind. */
const declared: readonly string[] = groups.filter(({ state }) => state === 'active').map(({ name }) => name);

/** What reads and waits, on a real cluster. */
export function lagPorts(admin: ClusterAdmin, settings: KafkaSettings): LagPorts {
  return {
    admin,
    firstTimes: (positions) => firstTimes(settings, `${settings.clientId}.reader`, positions),
    read: (ranges) => readRanges(settings, ranges),
    members: (group) => countGroupMembers(settings, group, TIMEOUT_MS),
    nowMs: Date.now,
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

/**
 * Shows how many records each group has not settled yet and how long the oldest waits, per partition and in all, and which of them Kafka no longer
 * holds. Exit code 1 when a partition stands before such a gap, stands still, or is later than its group may be. Throws ConfigError for a group that
 * nobody knows.
 */
export async function lagCommand(ports: LagPorts, group: string | undefined, output: Output): Promise<number> {
  const found: GroupLag[] = [];
  for (const name of group === undefined ? [...declared, ...ownTopics.keys()] : [group]) {
    const sideChannelOf = sideGroups.get(name);
    const own = ownTopics.get(name);
    const topics = own ?? stream;
    const rows = [...(await ports.admin.groupLag(name, topics))].sort(byPlace).map((each) => withGap(name, each));
    if (group !== undefined && own === undefined) requireKnownGroup(group, rows);
    // Where nothing was ever brought back or published there is nothing to tell, unless it was asked for.
    if (group === undefined && own !== undefined && rows.every(({ committed, lag }) => committed === null && lag === 0)) continue;
    // Of a group that nobody runs and that never committed nothing is late.
    const isAbsent = rows.every(({ committed }) => committed === null) && (await ports.members(name)) === 0;
    const partitions = isAbsent ? rows : await withWaiting(ports, name, topics, rows);
    const waiting = partitions.flatMap(({ waitingMs }) => waitingMs ?? []);
    found.push({
      group: name,
      ...(sideChannelOf === undefined ? {} : { sideChannelOf }),
      committed: partitions.some(({ committed }) => committed !== null),
      lag: partitions.reduce((sum, each) => sum + each.lag, 0),
      ...(waiting.length === 0 ? {} : { waitingMs: Math.max(...waiting) }),
      ...(partitions.some(standsStill) ? { members: await ports.members(name) } : {}),
      partitions,
    });
  }
  output.result({ groups: found }, found.flatMap(groupLines));
  const bad = found.some(({ partitions }) => partitions.some(({ gap, trouble }) => gap !== undefined || trouble !== undefined));
  return bad ? EXIT.finding : EXIT.good;
}

/**
 * Kafka answers for any name, with nothing committed: a slip of the fingers would look like a group that is far behind. Throws ConfigError for a group
 * that neither this release nor Kafka knows; `partitions` is Kafka's answer.
 */
export function requireKnownGroup(group: string, partitions: readonly PartitionLag[]): void {
  if (declared.includes(group) || partitions.some(({ committed }) => committed !== null)) return;
  throw new ConfigError([`There is no group ${printable(group)} that reads ${SERVICE_EVENTS_TOPIC}: name one of ${declared.join(', ')}.`]);
}

/** Whether a group gets from the lake what Kafka no longer holds. */
export function restores(group: string): boolean {
  return groups.some(({ name, gapPolicy }) => name === group && gapPolicy === 'restore');
}

function withGap(group: string, partition: PartitionLag): GroupPartition {
  // Where the lake keeps the position, the commit is for looks only.
  const kept = groups.some(({ name, position }) => name === group && position === 'lake');
  const gap = kept || partition.committed === null ? undefined : gapAt(partition, partition.committed);
  return gap === undefined ? partition : { ...partition, gap };
}

function groupLines({ group, sideChannelOf, committed, lag, waitingMs, members, partitions }: GroupLag): string[] {
  const named = sideChannelOf === undefined ? group : `${group} (what is brought back into ${sideChannelOf})`;
  if (!committed && partitions.every(({ trouble }) => trouble === undefined))
    return [`${named}: no commits yet (${lag} ${lag === 1 ? 'record' : 'records'} in the log)`];
  return [
    `${named}: ${lag} ${lag === 1 ? 'record' : 'records'} behind${oldestText(waitingMs)}`,
    ...partitions.flatMap((p) => [
      `  ${p.topic}, partition ${p.partition}: ${p.lag} behind${p.lag > 0 && p.waitingMs === undefined ? UNKNOWN : oldestText(p.waitingMs)} (committed ${p.committed ?? 'nothing'}, log ${p.logStart} to ${p.logEnd})`,
      ...(p.gap === undefined ? [] : [`    ${p.gap.kind}: ${gapFinding(group, p, p.gap)}; ${wayOut(group, p, p.gap)}.`]),
      ...troubleLines(group, p),
    ]),
    ...standstillLines(group, members, partitions),
  ];
}

/** By offsets alone a log that was cut back looks like the log of a topic that was made anew, and what ends the halt differs. */
function wayOut(group: string, partition: PartitionLag, { kind }: Gap): string {
  if (kind === 'expired' && restores(group))
    return 'while it runs it reads them from the lake and goes on from Kafka by itself; /readyz of its service says how far it is, or what it waits for';
  if (kind !== 'truncated') return gapWay(group, partition, kind);
  return `its log was cut back, or the topic was deleted and made anew, and /readyz of its service says which: after the first ${gapWay(group, partition, 'truncated')}; after the second with --to earliest, which reads the new topic from its start`;
}

function troubleLines(group: string, { topic, partition, trouble }: GroupPartition): string[] {
  if (trouble === undefined) return [];
  if (trouble.kind === 'late') {
    const kept = groups.some(({ name, position }) => name === group && position === 'lake');
    const look = kept ? `${TAILRACE} lake audit shows how far the lake is` : 'it goes on, and does not keep up';
    return [`    late: longer than the ${durationText(trouble.allowedMs)} that ${group} may take; ${look}.`];
  }
  const reasons = Object.entries(trouble.deadLetters).sort(([, a], [, b]) => b - a);
  const dead = reasons.reduce((sum, [, letters]) => sum + letters, 0);
  const still = `    stands still: nothing was committed for ${durationText(trouble.watchedMs)}`;
  if (dead === 0) return [`${still}.`];
  // Whoever may write to the topic may name a reason.
  const named = reasons.slice(0, MAX_REASONS).map(([reason, letters]) => `${printable(reason)}: ${letters}`);
  const rest = reasons.slice(MAX_REASONS).reduce((sum, [, letters]) => sum + letters, 0);
  const more = rest === 0 ? '' : `, and others: ${rest}`;
  const became = `of the ${BUDGET_RULE.windowRecords} offsets before it ${dead} became dead letters (${named.join(', ')}${more}), which ${TAILRACE} dlq ls --source ${topic}/${partition} shows`;
  if (stopsForDead(trouble)) return [`${still}; ${became}.`];
  return [
    `${still}. It does not look like a halt for dead letters: earlier, ${became}, but of the last ${LATEST_OFFSETS} only ${trouble.latestDead}.`,
  ];
}

/** A halt comes when most of the latest records are dead; a few, or older ones, have nothing to do with it. */
function stopsForDead(trouble: Trouble | undefined): boolean {
  return trouble?.kind === 'stands-still' && trouble.latestDead > LATEST_OFFSETS / 2;
}

/** Once for all partitions: why each of them stands is known to its service alone. */
function standstillLines(group: string, members: number | undefined, partitions: readonly GroupPartition[]): string[] {
  if (members === undefined) return [];
  if (members === 0)
    return [`  Kafka counts no running member of group ${group}: start its service, or see why the one that is there does not answer.`];
  const dead = partitions.some(({ trouble }) => stopsForDead(trouble));
  const stopped = dead
    ? ' One that stopped for its dead letters goes on when what makes them is put right and the service is started again.'
    : '';
  return [
    `  Why a partition stands still is in /readyz of its service and in the log: a server that it waits for, or a halt with what ends it.${stopped}`,
  ];
}

function standsStill({ trouble }: GroupPartition): boolean {
  return trouble?.kind === 'stands-still';
}

function oldestText(waitingMs: number | undefined): string {
  return waitingMs === undefined ? '' : `, the oldest for ${durationText(waitingMs)}`;
}

/** In the unit in which it is a number of two digits or so. */
function durationText(ms: number): string {
  const units = [
    [86_400_000, 'days'],
    [3_600_000, 'h'],
    [60_000, 'min'],
  ] as const;
  const [size, unit] = units.find(([each]) => ms >= 2 * each) ?? [1000, 's'];
  return `${Math.floor(ms / size)} ${unit}`;
}

function byPlace(a: PartitionLag, b: PartitionLag): number {
  return a.topic.localeCompare(b.topic) || a.partition - b.partition;
}
