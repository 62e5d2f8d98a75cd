/** What a group does about offsets that Kafka no longer holds. */
export type GapPolicy = 'restore' | 'fresh-first' | 'record-and-go-on' | 'halt' | 'skip';

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
    about: 'Turns events into alerts.',
    state: 'planned',
    allowedDelayMs: MINUTE_MS / 2,
    gapPolicy: 'fresh-first',
    retry: 'in-place',
    protocol: 'classic',
    start: 'latest',
    sideTopics: ['dlq'],
  },
  {
    name: 'indexer',
    about: 'Writes events to OpenSearch.',
    state: 'active',
    allowedDelayMs: 5 * MINUTE_MS,
    gapPolicy: 'restore',
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
    retry: 'in-place',
    protocol: 'consumer',
    start: 'earliest',
    sideTopics: [],
  },
] as const satisfies readonly GroupDeclaration[];

export type GroupName = (typeof groups)[number]['name'];

/** The declaration of a group. */
export function groupNamed(name: GroupName): GroupDeclaration {
  const found = groups.find((group) => group.name === name);
  if (found === undefined) throw new Error(`no group is named ${name}`);
  return found;
}
