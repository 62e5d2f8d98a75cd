/** What a group does about offsets that Kafka no longer holds. */
export type GapPolicy = 'restore' | 'fresh-first' | 'record-and-go-on' | 'halt' | 'skip';

/** What each policy does. */
export const gapPolicies: Readonly<Record<GapPolicy, string>> = {
  restore: 'Reads what is missing from the lake, in order, and goes on from Kafka.',
  'fresh-first': 'Goes on at the newest records that are needed, and says what it did not see.',
  'record-and-go-on': 'Writes the exact range down as lost, and goes on at once: to wait would only lose more.',
  halt: 'The partition stands still, and names the range and the command that ends it.',
  skip: 'Counts and logs the range, and goes on at the first record that is there.',
};

/** A topic of a group's own: dead letters, records that wait for a fixed delay, or replayed records. */
export type SideTopic = 'dlq' | `retry.${string}` | 'replay';

/** One consumer group as it must be. */
export interface GroupDeclaration {
  readonly name: string;
  readonly about: string;
  /** `active`: an app of this release runs it. `planned`: declared, and nothing runs it yet. */
  readonly state: 'active' | 'planned';
  /** How far behind it may be before somebody should look. */
  readonly allowedDelayMs: number;
  readonly gapPolicy: GapPolicy;
  /** What it goes on from: its commit in Kafka, or the chain in the lake, for which no reset of the group can stand. */
  readonly position: 'kafka' | 'lake';
  /** `in-place`: order per key is kept, the lane waits. `topics`: order is given up, the lane goes on (in place while these topics are planned). */
  readonly retry: 'in-place' | 'topics';
  /** `consumer` is KIP-848. `classic` is for a group that must notice a dead member faster than the broker's session allows. */
  readonly protocol: 'consumer' | 'classic';
  /** Where it begins when it never read before. */
  readonly start: 'earliest' | 'latest';
  /** The topics of its own beside each topic that it reads. */
  readonly sideTopics: readonly SideTopic[];
}

const MINUTE_MS = 60_000;

/** Every group that reads the stream `service-events`. */
export const groups = [
  {
    name: 'alert-processor',
    about: 'Turns events into alerts. It answers only stored, skipped or an outage, so it has no topics of its own.',
    state: 'active',
    allowedDelayMs: MINUTE_MS / 2,
    gapPolicy: 'fresh-first',
    position: 'kafka',
    retry: 'in-place',
    protocol: 'classic',
    start: 'latest',
    sideTopics: [],
  },
  {
    name: 'indexer',
    about: 'Writes events to OpenSearch.',
    state: 'active',
    allowedDelayMs: 5 * MINUTE_MS,
    gapPolicy: 'restore',
    position: 'kafka',
    retry: 'topics',
    protocol: 'consumer',
    start: 'earliest',
    sideTopics: ['dlq', 'retry.1m', 'retry.15m', 'replay'],
  },
  {
    name: 'archiver',
    about: 'Writes events to the lake. It answers only stored or an outage, so it has no topics of its own.',
    state: 'active',
    allowedDelayMs: 30 * MINUTE_MS,
    gapPolicy: 'record-and-go-on',
    position: 'lake',
    retry: 'in-place',
    protocol: 'consumer',
    start: 'earliest',
    sideTopics: [],
  },
] as const satisfies readonly GroupDeclaration[];

export type GroupName = (typeof groups)[number]['name'];

type GroupOf<N extends GroupName> = Extract<(typeof groups)[number], { readonly name: N }>;

/** The declaration of a group. */
export function groupNamed<const N extends GroupName>(name: N): GroupOf<N> {
  const found = groups.find((group): group is GroupOf<N> => group.name === name);
  if (found === undefined) throw new Error(`no group is named ${name}`);
  return found;
}

/** The group that reads a group's side channel of replayed records. */
export function replayGroupName(group: string): string {
  return `${group}.replay`;
}

/** The group that reads what a group's first stage publishes, and decides. */
export function decideGroupName(group: string): string {
  return `${group}.decide`;
}

/** The groups that take replays: those with a side channel for them. */
export const replayable: readonly GroupDeclaration[] = groups.filter(({ sideTopics }: GroupDeclaration) => sideTopics.includes('replay'));
