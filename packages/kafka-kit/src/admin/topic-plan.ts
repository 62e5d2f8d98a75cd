/** A topic as it must be. `key: 'entity'` alone may be compacted: unique keys never shrink. Config values are Kafka's own. */
export interface TopicSpec {
  readonly name: string;
  readonly key: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
}

/** A topic as the cluster has it. `configs` is undefined where they may not be read. */
export interface ActualTopic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string | null>> | undefined;
}

/** A difference between what is declared and what is. `refused` and `unreadable` are not for `apply` to mend. */
export type TopicChange =
  | { readonly kind: 'create'; readonly topic: string; readonly spec: TopicSpec }
  | { readonly kind: 'set-config'; readonly topic: string; readonly name: string; readonly from: string | null; readonly to: string }
  | { readonly kind: 'refused'; readonly topic: string; readonly sentence: string }
  | { readonly kind: 'unreadable'; readonly topic: string; readonly sentence: string };

/** What must change so that the cluster keeps the declarations. Empty when it does. */
export function planTopics(specs: readonly TopicSpec[], actual: readonly ActualTopic[]): TopicChange[] {
  const byName = new Map(actual.map((topic) => [topic.name, topic]));
  return specs.flatMap((spec) => planTopic(spec, byName.get(spec.name)));
}

function planTopic(spec: TopicSpec, actual: ActualTopic | undefined): TopicChange[] {
  const topic = spec.name;
  const refuse = (sentence: string): TopicChange => ({ kind: 'refused', topic, sentence });
  if (spec.configs['cleanup.policy']?.split(',').includes('compact') && spec.key !== 'entity') {
    return [
      refuse(
        `Topic ${topic} is declared as compacted, but its key is no entity: unique keys would never shrink; declare cleanup.policy=delete.`,
      ),
    ];
  }
  if (actual === undefined) return [{ kind: 'create', topic, spec }];
  const changes: TopicChange[] = [];
  if (actual.partitions !== spec.partitions) {
    const has = `Topic ${topic} has ${actual.partitions} partitions and is declared with ${spec.partitions}`;
    changes.push(
      refuse(`${has}; changing the count breaks the order per key for ever: make a new topic, add it to the stream, and retire this one.`),
    );
  }
  if (actual.replicationFactor !== spec.replicationFactor) {
    const has = `Topic ${topic} has ${actual.replicationFactor} replicas and is declared with ${spec.replicationFactor}`;
    changes.push(refuse(`${has}; move it with Kafka’s own kafka-reassign-partitions.`));
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
    const from = actual.configs[name] ?? null;
    if (from !== to) changes.push({ kind: 'set-config', topic, name, from, to });
  }
  return changes;
}

/** One line for people. */
export function describeChange(change: TopicChange): string {
  if (change.kind === 'create') {
    const { partitions, replicationFactor } = change.spec;
    return `+ ${change.topic}: make it with ${partitions} partitions and ${replicationFactor} replica${replicationFactor === 1 ? '' : 's'}`;
  }
  if (change.kind === 'set-config') return `~ ${change.topic}: ${change.name} is ${change.from ?? 'not set'}, must be ${change.to}`;
  return `! ${change.sentence}`;
}
