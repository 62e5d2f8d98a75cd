import { groups, POSITIONS_TOPIC, SERVICE_EVENTS_TOPIC, streams } from '@tailrace/events';
import {
  type ClusterAdmin,
  commitGroupOffsets,
  connectPublisher,
  countGroupMembers,
  GroupIsLive,
  type KafkaSettings,
  type KeptPosition,
  type PartitionLag,
  type Position,
  partitionKey,
  positionsLog,
  TAILRACE,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { requireKnownGroup, restores } from './group.ts';
import { EXIT, type Output } from './output.ts';
import { planReset, type ResetStep, resetLines } from './reset-plan.ts';
import { parseResetTarget } from './reset-target.ts';

export interface ResetOptions {
  readonly group: string;
  readonly to: string;
  readonly topic?: string | undefined;
  readonly partition?: string | undefined;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly json: boolean;
}

export interface ResetPorts {
  readonly admin: Pick<ClusterAdmin, 'groupLag' | 'offsetsAt' | 'readTopics'>;
  /** How many members the group has. */
  members(group: string): Promise<number>;
  /** Writes the commits; throws GroupIsLive. */
  commit(group: string, positions: readonly Position[]): Promise<void>;
  /** The positions that are kept beside the group's commits. */
  kept(group: string): Promise<Kept>;
  keep(group: string, positions: readonly KeptPosition[]): Promise<void>;
  /** The present life of a topic; undefined where there is none. */
  incarnation(topic: string): Promise<string | undefined>;
  /** Shows the question and waits for the answer; undefined where there is no terminal to ask at. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined;
  nowMs(): number;
}

type Kept = ReadonlyMap<string, KeptPosition>;

const TIMEOUT_MS = 20_000;
const MAX_IN_FLIGHT_BYTES = 1024 * 1024;
/** Kafka's own topics, by Kafka's own list: the client hides them, and no group reads them. */
const KAFKAS_OWN: readonly string[] = ['__consumer_offsets', '__transaction_state', '__share_group_state'];

/** What of the ports writes and counts, on a real cluster. */
export function resetWriter(settings: KafkaSettings): Omit<ResetPorts, 'admin' | 'confirm' | 'nowMs'> {
  const log = (group: string, publisher: Parameters<typeof positionsLog>[1]['publisher']) =>
    positionsLog(settings, { group, topic: POSITIONS_TOPIC, publisher });
  return {
    members: (group) => countGroupMembers(settings, group, TIMEOUT_MS),
    commit: (group, positions) => commitGroupOffsets(settings, group, positions, TIMEOUT_MS),
    kept: async (group) => (await log(group, { publish: async () => [] }).read()).positions,
    async keep(group, positions) {
      const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: MAX_IN_FLIGHT_BYTES, log: () => {} });
      try {
        await log(group, publisher).write(positions, TIMEOUT_MS);
      } finally {
        await publisher.close(TIMEOUT_MS);
      }
    },
    async incarnation(topic) {
      const identity = new TopicIdentity(settings);
      try {
        return await identity.lookUp(topic, TIMEOUT_MS);
      } finally {
        identity.close();
      }
    },
  };
}

/**
 * Moves the position of a stopped group, after it has shown what that means and was told yes. Throws ConfigError for wrong use (nothing was changed), and
 * GroupIsLive for a group that runs.
 */
export async function resetCommand(ports: ResetPorts, options: ResetOptions, output: Output): Promise<number> {
  const { group, dryRun, yes } = options;
  const target = parseResetTarget(options.to, ports.nowMs());
  const declared = groups.find(({ name }) => name === group);
  if (declared?.position === 'lake')
    throw new ConfigError([
      `The position of ${group} is its chain in the lake, and not its commit in Kafka: a reset would change nothing. ${TAILRACE} lake audit shows where the chain ends.`,
    ]);
  // Asked before any offset: of a topic that is made anew meanwhile the position then names the old life, and the group halts.
  const standing = await standingOf(ports, options);
  // Before anything is asked for that would not help: a wrong name is told first.
  const positions = await affected(ports.admin, options, target.kind === 'offset', standing);
  if (!dryRun && !yes && (ports.confirm === undefined || options.json))
    throw new ConfigError([
      `${TAILRACE} group reset asks before it writes, and ${options.json ? 'with --json' : 'without a terminal'} it can not: say --yes, or --dry-run to see what it would do.`,
    ]);
  const topics = [...new Set(positions.map(({ topic }) => topic))];
  const at = target.kind === 'time' ? await ports.admin.offsetsAt(topics, target.epochMs) : [];
  const steps = planReset(positions, target, { start: declared?.start ?? 'earliest', restores: restores(group) }, at);
  const moved = steps.filter(({ from, to }) => from !== to);
  const keeps = standing.there && (declared?.position === 'kafka' || standing.kept.size > 0);
  const stale = keeps ? steps.filter((each) => isStale(each, standing)) : [];
  const lines = resetLines(group, target, steps);
  const result = (applied: boolean, last: string, asked: boolean): number => {
    output.result({ group, to: options.to, dryRun, applied, partitions: steps }, asked ? [last] : [...lines, last]);
    return EXIT.good;
  };
  if (moved.length + stale.length === 0) return result(false, 'Nothing is to be done.', false);
  const members = await ports.members(group);
  if (dryRun) {
    const running = members === 0 ? '' : ` The group runs (${members} ${members === 1 ? 'member' : 'members'}): stop it before a reset.`;
    return result(false, `Nothing was changed.${running}`, false);
  }
  if (members > 0) throw new GroupIsLive(group, members);
  const ask = yes ? undefined : ports.confirm;
  if (ask !== undefined && !(await ask(`${lines.join('\n')}\nMove the group? [y/N] `))) {
    result(false, 'Nothing was changed.', true);
    return EXIT.finding;
  }
  await ports.commit(group, moved.map(toPosition));
  await verify(ports.admin, group, moved);
  // Behind the commit: where this fails, the same command finds it stale and writes it.
  if (stale.length > 0)
    await ports.keep(
      group,
      stale.map((each) => ({ ...toPosition(each), incarnation: lifeOf(each, standing) })),
    );
  return result(true, 'Moved. Start the group, and it goes on there.', ask !== undefined);
}

/** What is kept beside the group's commits, and the present life of each topic that may be meant. */
interface Standing {
  /** Whether the topic of positions is there. */
  readonly there: boolean;
  readonly kept: Kept;
  readonly lives: ReadonlyMap<string, string>;
}

async function standingOf(ports: ResetPorts, { group, topic }: ResetOptions): Promise<Standing> {
  if ((await ports.admin.readTopics([POSITIONS_TOPIC])).length === 0) return { there: false, kept: new Map(), lives: new Map() };
  const lives = new Map<string, string>();
  for (const each of topic === undefined ? (streams[SERVICE_EVENTS_TOPIC] ?? []) : [topic]) {
    const incarnation = await ports.incarnation(each);
    if (incarnation !== undefined) lives.set(each, incarnation);
  }
  return { there: true, kept: await ports.kept(group), lives };
}

function lifeOf({ topic }: ResetStep, { lives }: Standing): string {
  const incarnation = lives.get(topic);
  if (incarnation === undefined) throw new Error(`Kafka told no id of topic ${topic}: run this again when its brokers answer.`);
  return incarnation;
}

/** Whether the position that is kept says something else than where the partition goes. */
function isStale(step: ResetStep, standing: Standing): boolean {
  const kept = standing.kept.get(partitionKey(step));
  return kept?.nextToRead !== step.to || kept.incarnation !== lifeOf(step, standing);
}

/** The partitions that are meant, with where the group stands on them. */
async function affected(
  admin: ResetPorts['admin'],
  { group, topic, partition }: ResetOptions,
  one: boolean,
  { kept, lives }: Standing,
): Promise<readonly PartitionLag[]> {
  const stream = streams[SERVICE_EVENTS_TOPIC] ?? [];
  if (topic !== undefined && KAFKAS_OWN.includes(topic))
    throw new ConfigError([`Group ${group} does not read ${topic}: it is one of Kafka’s own topics.`]);
  const found = await admin.groupLag(group, topic === undefined ? stream : [topic]);
  // Kafka may have forgotten the commits of a group that its positions still know.
  const isKept = found.some((each) => kept.has(partitionKey(each)));
  const of = found.map((each) => ({ ...each, committed: each.committed ?? keptIn(each, kept, lives) }));
  if (topic === undefined || stream.includes(topic)) {
    if (!isKept) requireKnownGroup(group, of);
  } else if (of.length === 0) throw new ConfigError([`There is no topic ${topic}.`]);
  else if (!isKept && !of.some(({ committed }) => committed !== null))
    throw new ConfigError([`Group ${group} does not read ${topic}: it has no commit there.`]);
  const topics = new Set(of.map((each) => each.topic));
  if (one && (partition === undefined || topics.size > 1))
    throw new ConfigError(['An offset means another record in every partition: name --topic and --partition with it.']);
  if (partition === undefined) return of;
  if (topics.size > 1) throw new ConfigError([`--partition ${partition} needs --topic: the group reads ${[...topics].join(', ')}.`]);
  const named = of.filter((each) => String(each.partition) === partition);
  if (named.length === 0) throw new ConfigError([`--partition ${partition}: ${[...topics].join()} has partitions 0 to ${of.length - 1}.`]);
  return named;
}

/** Where the group goes on without a commit; a position in another life of the topic is none. */
function keptIn(tp: PartitionLag, kept: Kept, lives: Standing['lives']): number | null {
  const position = kept.get(partitionKey(tp));
  return position !== undefined && position.incarnation === lives.get(tp.topic) ? position.nextToRead : null;
}

/** One answer stands for all partitions of a commit, and hides the fault of a single one. */
async function verify(admin: ResetPorts['admin'], group: string, moved: readonly ResetStep[]): Promise<void> {
  const now = await admin.groupLag(group, [...new Set(moved.map(({ topic }) => topic))]);
  const wrong = moved.filter(
    ({ topic, partition, to }) => now.find((each) => each.topic === topic && each.partition === partition)?.committed !== to,
  );
  if (wrong.length === 0) return;
  const named = wrong.map(({ topic, partition }) => `${topic}, partition ${partition}`).join('; ');
  throw new Error(`Kafka confirmed the reset, but shows another position for ${named}: look whether the group was started meanwhile.`);
}

function toPosition({ topic, partition, to }: ResetStep): Position {
  return { topic, partition, nextToRead: to };
}
