import { type GroupDeclaration, groups } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectTimeReader,
  countGroupMembers,
  type FirstTimes,
  type KafkaSettings,
  oldestUnread,
  type PartitionLag,
  partitionKey,
  reasonsOf,
  TAILRACE,
} from '@tailrace/kafka-kit';
import { span } from '@tailrace/lake';

/** Keeps a replay from slowing the live groups down. */
export interface LiveGuard {
  /** Why the replay must wait now, as one sentence; undefined: it may go on. Looks at Kafka at most every two seconds, and never rejects. */
  check(): Promise<string | undefined>;
}

/** What a guard asks, of a real cluster or of a test. */
export interface GuardPorts {
  readonly admin: Pick<ClusterAdmin, 'groupLag'>;
  readonly firstTimes: FirstTimes;
  /** How many members a group has. */
  readonly members: (group: string) => Promise<number>;
  readonly nowMs: () => number;
  /** Takes one sentence about the guard itself. */
  readonly note: (sentence: string) => void;
}

const LOOK_EVERY_MS = 2000;
const MAX_LAG_MS = 2000;
/** A partition whose commit did not move for so long is not slowed down but stopped, and a replay may be what ends that. */
const STANDS_STILL_MS = 60_000;
/** So long a replay waits because nobody could look. */
const BLIND_MS = 30_000;
const ASK_MS = 5000;

/** What a guard must know of a group. */
type LiveGroup = Pick<GroupDeclaration, 'name' | 'position' | 'allowedDelayMs'>;

const liveGroups: readonly LiveGroup[] = groups.filter(({ state }) => state === 'active');

/** Guards on a real cluster while `work` runs. */
export async function withLiveGuard<T>(
  settings: KafkaSettings,
  topics: readonly string[],
  note: (sentence: string) => void,
  work: (guard: LiveGuard) => Promise<T>,
  live = liveGroups,
): Promise<T> {
  const admin = await connectAdmin(settings);
  try {
    const reader = await connectTimeReader(settings, `${settings.clientId}.guard`);
    try {
      const members = (group: string): Promise<number> => countGroupMembers(settings, group, ASK_MS);
      return await work(liveGuard({ admin, firstTimes: reader.firstTimes, members, nowMs: Date.now, note }, topics, live));
    } finally {
      await reader.close();
    }
  } finally {
    await admin.close();
  }
}

/** What was seen of one partition. */
interface Seen {
  readonly committed: number | null;
  /** Since when the commit is that while records behind it are unread. */
  readonly sinceMs: number;
}

/** The partition of a group that is the furthest behind in time. */
interface Furthest {
  readonly partition: PartitionLag;
  readonly lagMs: number;
}

/**
 * Says to wait while a live group is more than 2 s behind and falls back further. A group that holds batches commits when one is closed, so its lag
 * rises most of the time: for it, while it is behind by more than its allowed delay. A group without members is not slowed down by anybody, and a
 * partition whose commit stands (a minute, or the allowed delay of a group that holds batches) is halted: neither keeps a replay.
 */
export function liveGuard(ports: GuardPorts, topics: readonly string[], live = liveGroups): LiveGuard {
  const seen = new Map<string, Seen>();
  const lastLagMs = new Map<string, number>();
  let answer: string | undefined;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let sawMs = ports.nowMs();
  let isBlind = false;

  const look = async (group: LiveGroup): Promise<string | undefined> => {
    const partitions = await ports.admin.groupLag(group.name, topics);
    // What never committed is nobody's backlog.
    const known = partitions.filter(({ committed }) => committed !== null);
    const times = await oldestUnread(known, ports.firstTimes);
    const nowMs = ports.nowMs();
    const furthest = known.reduce<Furthest | undefined>((before, partition) => {
      const key = `${group.name}/${partitionKey(partition)}`;
      const was = seen.get(key);
      const sinceMs = partition.lag > 0 && was?.committed === partition.committed ? was.sinceMs : nowMs;
      seen.set(key, { committed: partition.committed, sinceMs });
      const timeMs = times.get(partitionKey(partition));
      const stillMs = group.position === 'lake' ? group.allowedDelayMs : STANDS_STILL_MS;
      if (timeMs === undefined || nowMs - sinceMs >= stillMs) return before;
      const lagMs = nowMs - timeMs;
      return before === undefined || lagMs > before.lagMs ? { partition, lagMs } : before;
    }, undefined);
    const beforeMs = lastLagMs.get(group.name) ?? Number.POSITIVE_INFINITY;
    lastLagMs.set(group.name, furthest?.lagMs ?? 0);
    if (furthest === undefined || !isTooFar(group, furthest.lagMs, beforeMs)) return undefined;
    if ((await ports.members(group.name)) === 0) return undefined;
    return waitSentence(group, furthest);
  };

  const lookAtAll = async (): Promise<string | undefined> => {
    try {
      // Every group at every look: whether a lag rises is told by two looks in a row.
      const answers: (string | undefined)[] = [];
      for (const group of live) answers.push(await look(group));
      sawMs = ports.nowMs();
      isBlind = false;
      return answers.find((each) => each !== undefined);
    } catch (fault) {
      // Safe: it is said, and the next look tries again. Kafka may be away for as long as it likes, and then nothing can be sent either.
      const why = `The live groups could not be looked at (${reasonsOf(fault)})`;
      if (ports.nowMs() - sawMs < BLIND_MS) return `${why}: waiting until they can be, for ${span(BLIND_MS)} at most.`;
      if (!isBlind) ports.note(`${why} for ${span(BLIND_MS)}: going on without regard to them, and looking again.`);
      isBlind = true;
      return undefined;
    }
  };

  return {
    async check() {
      if (ports.nowMs() - lookedMs < LOOK_EVERY_MS) return answer;
      answer = await lookAtAll();
      // From its end: a look that takes long must not be all that is done.
      lookedMs = ports.nowMs();
      return answer;
    },
  };
}

function isTooFar({ position, allowedDelayMs }: LiveGroup, lagMs: number, beforeMs: number): boolean {
  return position === 'lake' ? lagMs > allowedDelayMs : lagMs > MAX_LAG_MS && lagMs > beforeMs;
}

function waitSentence({ name, position, allowedDelayMs }: LiveGroup, { partition, lagMs }: Furthest): string {
  const why = position === 'lake' ? `, and may be ${span(allowedDelayMs)}` : ', and it rises';
  const where = `${partition.topic}, partition ${partition.partition}`;
  return `Waiting for the live group ${name}: it is ${span(lagMs)} behind on ${where}${why} (${TAILRACE} group lag --group ${name} shows more).`;
}
