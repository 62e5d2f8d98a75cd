/** A topic as it must be. `key: 'entity'` alone may be compacted: unique keys never shrink. Config values are Kafka's own. */
export interface TopicSpec {
  readonly name: string;
  readonly key: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
  /** The topic whose records it holds apart (dead letters, say): it must keep them longer than that one does in the cluster. */
  readonly source?: string;
}

/** A topic as the cluster has it. `configs` is undefined where they may not be read. */
export interface ActualTopic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string | null>> | undefined;
}

const DAY_MS = 86_400_000;
const RETENTION = 'retention.ms';
const MIN_INSYNC = 'min.insync.replicas';

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** A difference between what is declared and what is. `refused` and `unreadable` are not for `apply` to mend. */
export type TopicChange =
  | { readonly kind: 'create'; readonly topic: string; readonly spec: TopicSpec }
  | { readonly kind: 'set-config'; readonly topic: string; readonly name: string; readonly from: string | null; readonly to: string }
  | { readonly kind: 'refused'; readonly topic: string; readonly sentence: string }
  | { readonly kind: 'unreadable'; readonly topic: string; readonly sentence: string };

/**
 * What must change so that the cluster keeps the declarations. Empty when it does. `brokers` is how many answer; where it is not given,
 * Kafka itself refuses a topic with more replicas.
 */
export function planTopics(specs: readonly TopicSpec[], actual: readonly ActualTopic[], brokers?: number): TopicChange[] {
  const byName = new Map(actual.map((topic) => [topic.name, topic]));
  return specs.flatMap((spec) => [
    ...planTopic(spec, byName.get(spec.name), brokers),
    ...planRetention(spec, spec.source === undefined ? undefined : byName.get(spec.source)),
  ]);
}

/** A record must not be gone from where it was put apart while its neighbours still stand: whoever mends the fault would find it nowhere. */
function planRetention(spec: TopicSpec, source: ActualTopic | undefined): TopicChange[] {
  const own = retentionMs(spec.configs);
  const sources = retentionMs(source?.configs);
  if (source === undefined || own === undefined || sources === undefined || own > sources) return [];
  const kept = `Topic ${spec.name} is declared to keep its records for ${span(own)}, and ${source.name} keeps its own for ${span(sources)} in this cluster`;
  const todo = `lower ${RETENTION} of ${source.name}, or declare a longer one for ${spec.name}`;
  return [
    { kind: 'refused', topic: spec.name, sentence: `${kept}; it must keep them longer than the topic that they come from: ${todo}.` },
  ];
}

/** Infinity for ever (-1); undefined where it is not known. */
export function retentionMs(configs: Readonly<Record<string, string | null>> | undefined): number | undefined {
  const text = configs?.[RETENTION];
  if (text === undefined || text === null) return undefined;
  return Number(text) < 0 ? Number.POSITIVE_INFINITY : Number(text);
}

function span(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return 'ever';
  if (ms > 0 && ms % DAY_MS === 0) return counted(ms / DAY_MS, 'day');
  return ms % 3_600_000 === 0 ? counted(ms / 3_600_000, 'hour') : `${ms} ms`;
}

function planTopic(spec: TopicSpec, actual: ActualTopic | undefined, brokers: number | undefined): TopicChange[] {
  const topic = spec.name;
  const refuse = (sentence: string): TopicChange => ({ kind: 'refused', topic, sentence });
  if (spec.configs['cleanup.policy']?.split(',').includes('compact') && spec.key !== 'entity') {
    return [
      refuse(
        `Topic ${topic} is declared as compacted, but its key is no entity: unique keys would never shrink; declare cleanup.policy=delete.`,
      ),
    ];
  }
  const tooFew =
    brokers !== undefined && brokers < spec.replicationFactor
      ? `Kafka has ${counted(brokers, 'broker')}: where a single broker is meant, set TAILRACE_TOPIC_PROFILE=local`
      : undefined;
  if (actual === undefined) {
    if (tooFew === undefined) return [{ kind: 'create', topic, spec }];
    return [
      refuse(`Topic ${topic} is declared with ${counted(spec.replicationFactor, 'replica')}, and ${tooFew}, else start more brokers.`),
    ];
  }
  const changes: TopicChange[] = [];
  if (actual.partitions !== spec.partitions) {
    const has = `Topic ${topic} has ${actual.partitions} partitions and is declared with ${spec.partitions}`;
    changes.push(
      refuse(`${has}; changing the count breaks the order per key for ever: make a new topic, add it to the stream, and retire this one.`),
    );
  }
  if (actual.replicationFactor !== spec.replicationFactor) {
    const has = `Topic ${topic} has ${counted(actual.replicationFactor, 'replica')} and is declared with ${spec.replicationFactor}`;
    const kept = MIN_INSYNC in spec.configs ? `, so its ${MIN_INSYNC} is left as it is` : '';
    const move = 'move it with Kafka’s own kafka-reassign-partitions';
    const todo = spec.replicationFactor === 1 ? `where a cluster is meant, set TAILRACE_TOPIC_PROFILE=cluster, else ${move}` : move;
    changes.push(refuse(`${has}${kept}; ${tooFew ?? todo}.`));
  }
  if (actual.configs === undefined) {
    changes.push({
      kind: 'unreadable',
      topic,
      sentence: `The settings of topic ${topic} can not be read with these credentials, so they were not checked.`,
    });
    return changes;
  }
  for (const [name, to] of Object.entries(spec.configs)) {
    // It belongs to the declared replicas: above what there are, no record could be stored any more; far below, a broker's death loses some.
    if (name === MIN_INSYNC && actual.replicationFactor !== spec.replicationFactor) continue;
    const from = actual.configs[name] ?? null;
    if (from !== to) changes.push({ kind: 'set-config', topic, name, from, to });
  }
  return changes;
}

function shape({ partitions, replicationFactor }: TopicSpec): string {
  return `${counted(partitions, 'partition')} and ${counted(replicationFactor, 'replica')}`;
}

/** One line for people, once `apply` has carried it out. */
export function describeDone(change: TopicChange): string {
  if (change.kind === 'create') return `+ ${change.topic}: created with ${shape(change.spec)}`;
  if (change.kind === 'set-config') return `~ ${change.topic}: ${change.name} set to ${change.to} (was ${change.from ?? 'not set'})`;
  return describeChange(change);
}

/** One line for people: what is to be done. */
export function describeChange(change: TopicChange): string {
  if (change.kind === 'create') {
    return `+ ${change.topic}: make it with ${shape(change.spec)}`;
  }
  if (change.kind === 'set-config') return `~ ${change.topic}: ${change.name} is ${change.from ?? 'not set'}, must be ${change.to}`;
  return `! ${change.sentence}`;
}
