import { groups, sideTopicName } from '@tailrace/events';
import {
  BUDGET_RULE,
  type ClusterAdmin,
  type FirstTimes,
  type Gap,
  isoTime,
  oldestUnread,
  type PartitionLag,
  partitionKey,
  readDeadLetter,
} from '@tailrace/kafka-kit';
import type { ReadRanges } from './dlq-read.ts';

/** What a look at groups asks, of a real cluster or of a test. */
export interface LagPorts {
  readonly admin: Pick<ClusterAdmin, 'groupLag'>;
  readonly firstTimes: FirstTimes;
  readonly read: ReadRanges;
  /** How many members the group has. */
  readonly members: (group: string) => Promise<number>;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
}

/**
 * What is wrong with a partition of which records wait. Dead letters: of the last 1000 offsets before the commit, by reason;
 * `latestDead`: how many are among the last 100, since one that is halted for its dead letters stands right behind them.
 */
export type Trouble =
  | {
      readonly kind: 'stands-still';
      readonly watchedMs: number;
      readonly deadLetters: Readonly<Record<string, number>>;
      readonly latestDead: number;
    }
  | { readonly kind: 'late'; readonly allowedMs: number };

/** `gap`: what the committed position can not be read for, by the offsets alone. */
export interface GroupPartition extends PartitionLag {
  readonly gap?: Gap;
  /** Broker time of the oldest record that waits in Kafka, and how long that is ago by this machine's clock. */
  readonly oldest?: string;
  readonly waitingMs?: number;
  readonly trouble?: Trouble;
}

/** Who keeps up commits every second, so what waits for longer is worth a second look. */
const SUSPECT_MS = 30_000;
/** How long the second look is after the first. Ten commits of a consumer that goes on. */
const WATCH_MS = 10_000;
/** So many of the latest dead letters of a partition are looked at. */
const MAX_LETTERS = BUDGET_RULE.windowRecords;
/** So many offsets count as right before the commit. */
export const LATEST_OFFSETS = BUDGET_RULE.minRecords;

interface Letters {
  readonly byReason: Map<string, number>;
  latest: number;
}

/**
 * Adds to each partition since when its oldest record waits. Where a commit is the group's position and that is longer than it takes a consumer
 * that goes on, it looks a second time, and says which partitions stand still meanwhile.
 */
export async function withWaiting(
  ports: LagPorts,
  group: string,
  topics: readonly string[],
  partitions: readonly GroupPartition[],
): Promise<readonly GroupPartition[]> {
  const times = await oldestUnread(partitions, ports.firstTimes);
  const nowMs = ports.nowMs();
  const timed = partitions.map((each) => {
    const timeMs = times.get(partitionKey(each));
    if (timeMs === undefined) return each;
    return { ...each, oldest: isoTime(timeMs), waitingMs: Math.max(0, nowMs - timeMs) };
  });
  const declared = groups.find(({ name }) => name === group);
  // What is in the lake is committed when an object is closed: a commit that stands for minutes says nothing.
  const standing = declared?.position === 'lake' ? new Set<string>() : await standingStill(ports, group, topics, timed);
  const letters = standing.size === 0 ? new Map<string, Letters>() : await lettersBefore(ports, group, timed, standing);
  const allowedMs = declared?.allowedDelayMs ?? Number.POSITIVE_INFINITY;
  return timed.map((each): GroupPartition => {
    const key = partitionKey(each);
    if (standing.has(key)) {
      const { byReason = [], latest = 0 } = letters.get(key) ?? {};
      return {
        ...each,
        trouble: { kind: 'stands-still', watchedMs: WATCH_MS, deadLetters: Object.fromEntries(byReason), latestDead: latest },
      };
    }
    if (each.gap === undefined && (each.waitingMs ?? 0) > allowedMs) return { ...each, trouble: { kind: 'late', allowedMs } };
    return each;
  });
}

async function standingStill(
  { admin, wait }: LagPorts,
  group: string,
  topics: readonly string[],
  partitions: readonly GroupPartition[],
): Promise<ReadonlySet<string>> {
  // Of one that stands before a gap it is known why.
  const suspects = partitions.filter(({ gap, waitingMs }) => gap === undefined && (waitingMs ?? 0) > SUSPECT_MS);
  if (suspects.length === 0) return new Set();
  await wait(WATCH_MS);
  const now = new Map((await admin.groupLag(group, topics)).map((each) => [partitionKey(each), each.committed]));
  return new Set(suspects.filter((each) => now.get(partitionKey(each)) === each.committed).map(partitionKey));
}

/** How many of the offsets right before each commit are dead letters of the group, by reason: a sign that it stopped for them. */
async function lettersBefore(
  { admin, read }: LagPorts,
  group: string,
  partitions: readonly GroupPartition[],
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Letters>> {
  const found = new Map<string, Letters>();
  if (!groups.some(({ name, sideTopics }) => name === group && sideTopics.some((kind) => kind === 'dlq'))) return found;
  const commits = new Map(
    partitions.flatMap((each) => (wanted.has(partitionKey(each)) ? [[partitionKey(each), each.committed ?? 0]] : [])),
  );
  const sources = [...new Set(partitions.map(({ topic }) => topic))];
  const extents = await admin.groupLag(
    'tailrace-cli',
    sources.map((source) => sideTopicName(source, group, 'dlq')),
  );
  const tails = extents.map((each) => ({ ...each, from: Math.max(each.logStart, each.logEnd - MAX_LETTERS), to: each.logEnd }));
  const seen = new Set<string>();
  for await (const records of read(tails)) {
    for (const record of records) {
      const letter = readDeadLetter(record);
      if (letter === undefined || letter.group !== group) continue;
      const key = partitionKey(letter.origin);
      const committed = commits.get(key);
      const { offset } = letter.origin;
      // After a crash a dead letter may be there twice.
      if (committed === undefined || offset >= committed || offset < committed - MAX_LETTERS || seen.has(`${key}/${offset}`)) continue;
      seen.add(`${key}/${offset}`);
      const letters = found.get(key) ?? { byReason: new Map<string, number>(), latest: 0 };
      found.set(key, letters);
      letters.byReason.set(letter.reason, (letters.byReason.get(letter.reason) ?? 0) + 1);
      if (offset >= committed - LATEST_OFFSETS) letters.latest += 1;
    }
  }
  return found;
}
