import { type GroupDeclaration, groups, type SideTopic } from './groups.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
/** A side topic's record carries the original's headers and its own on top. */
const SIDE_TOPIC_EXTRA_BYTES = 64 * 1024;

/** The topic into which services' events go. */
export const SERVICE_EVENTS_TOPIC = 'service-events';

/** Where each group stands, kept a second time. */
export const POSITIONS_TOPIC = 'tailrace.positions';

/** What the panes of rules hold, on their way to the deciding stage. */
export const ALERT_PARTIALS_TOPIC = 'alert-partials';

/** The state of each alert. */
export const ALERT_STATE_TOPIC = 'alert-state';

/** What a record's key stands for. Only an `entity` key may be compacted: unique keys never shrink. */
export type KeyMeaning = 'customer' | 'entity' | 'as-source' | 'none';

/** One topic as it must be. Values of `configs` are Kafka's own, in its own words. */
export interface TopicDeclaration {
  readonly name: string;
  readonly about: string;
  /** `active`: something uses it now, so `tailrace topics apply` makes it. `planned`: declared, not made yet. */
  readonly state: 'active' | 'planned';
  readonly key: KeyMeaning;
  /** Never raised on a keyed topic: that breaks the order per key for ever. */
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly configs: Readonly<Record<string, string>>;
  /** Of a side topic: whose records it holds. It must keep them longer than this one does in the cluster. */
  readonly source?: string;
}

/** `cluster`: three brokers or more. `local`: one broker, so nothing is kept twice. */
export type TopicProfile = 'cluster' | 'local';

type Row = Omit<TopicDeclaration, 'replicationFactor'>;

const PARTITIONS = 12;

/** Topics that carry events take the broker's time: producers' clocks are skewed, and an old event must not be deleted early. */
const brokerTime = { 'message.timestamp.type': 'LogAppendTime' };
const deleted = (retentionMs: number) => ({ 'cleanup.policy': 'delete', 'retention.ms': String(retentionMs) });

const rows: readonly Row[] = [
  {
    name: SERVICE_EVENTS_TOPIC,
    about: 'Every accepted event, for 48 hours.',
    state: 'active',
    key: 'customer',
    partitions: PARTITIONS,
    configs: { ...deleted(2 * DAY_MS), ...brokerTime, 'segment.ms': String(HOUR_MS), 'compression.type': 'producer' },
  },
  {
    name: `${SERVICE_EVENTS_TOPIC}.rejected`,
    about: 'What the gateway refused, with its original bytes and the reason.',
    state: 'planned',
    key: 'none',
    partitions: PARTITIONS,
    configs: { ...deleted(14 * DAY_MS), ...brokerTime },
  },
  ...groups.flatMap(sideTopics),
  {
    name: 'user-profile',
    about: 'The latest profile of each user; a null value deletes it.',
    state: 'planned',
    key: 'entity',
    partitions: PARTITIONS,
    configs: {
      'cleanup.policy': 'compact',
      'min.cleanable.dirty.ratio': '0.5',
      'delete.retention.ms': String(DAY_MS),
      'segment.ms': String(HOUR_MS),
      'max.compaction.lag.ms': String(DAY_MS),
    },
  },
  {
    name: ALERT_PARTIALS_TOPIC,
    about:
      'Partial measures of rules on their way to the deciding stage, by rule and group. Kept for the longest look-back of a rule, the lateness and a day: look-backs up to about 23 hours.',
    state: 'active',
    key: 'none',
    partitions: PARTITIONS,
    configs: { ...deleted(2 * DAY_MS), ...brokerTime, 'segment.ms': String(10 * 60_000) },
  },
  {
    name: ALERT_STATE_TOPIC,
    about: 'The state of each alert.',
    state: 'active',
    key: 'entity',
    partitions: PARTITIONS,
    // Read to its end whenever a partition is taken over, and the segment that is written to is never compacted.
    configs: {
      'cleanup.policy': 'compact,delete',
      'retention.ms': String(30 * DAY_MS),
      ...brokerTime,
      'segment.ms': String(HOUR_MS),
    },
  },
  {
    name: POSITIONS_TOPIC,
    about: 'Where each group stands, kept a second time: Kafka forgets the offsets of a group without members.',
    state: 'active',
    key: 'entity',
    // One: a reader takes all that there is, and it is read to its end whenever partitions are opened.
    partitions: 1,
    // The segment that is written to is never compacted: with Kafka's 7 days it would be most of what is read.
    configs: { 'cleanup.policy': 'compact', 'segment.ms': String(HOUR_MS) },
  },
  {
    name: 'tailrace.control',
    about: 'Orders to lanes.',
    state: 'planned',
    key: 'entity',
    partitions: 1,
    configs: { 'cleanup.policy': 'compact' },
  },
  {
    name: 'tailrace.acts',
    about: 'Who did what.',
    state: 'planned',
    key: 'none',
    partitions: 1,
    configs: { ...deleted(365 * DAY_MS), ...brokerTime },
  },
];

function sideTopicAbout(group: string, kind: SideTopic): string {
  if (kind === 'dlq') return `Records that ${group} could not take, each with the reason.`;
  if (kind === 'replay') return `Replayed records for ${group}, apart from the live ones.`;
  return `Records that ${group} tries again after ${kind.slice('retry.'.length)}: their only pending copy.`;
}

/** The topics that only one group reads and writes. They are kept longer than the source, and hold its records with more headers. */
function sideTopics(group: GroupDeclaration): Row[] {
  return group.sideTopics.map((kind) => ({
    name: sideTopicName(SERVICE_EVENTS_TOPIC, group.name, kind),
    about: sideTopicAbout(group.name, kind),
    // Retries come with a later release.
    state: kind.startsWith('retry.') ? 'planned' : group.state,
    key: 'as-source',
    source: SERVICE_EVENTS_TOPIC,
    partitions: PARTITIONS,
    configs: {
      ...deleted((kind === 'replay' ? 7 : 14) * DAY_MS),
      ...brokerTime,
      'max.message.bytes': String(MAX_MESSAGE_BYTES + SIDE_TOPIC_EXTRA_BYTES),
    },
  }));
}

/** The name of a group's own topic beside `source`. */
export function sideTopicName(source: string, group: string, kind: SideTopic): string {
  return `${source}.${group}.${kind}`;
}

/** Every declared topic as it must be under a profile. */
export function topicsFor(profile: TopicProfile): TopicDeclaration[] {
  const [replicationFactor, minInsyncReplicas] = profile === 'cluster' ? [3, 2] : [1, 1];
  return rows.map((row) => ({
    ...row,
    replicationFactor,
    configs: {
      'max.message.bytes': String(MAX_MESSAGE_BYTES),
      'min.insync.replicas': String(minInsyncReplicas),
      'unclean.leader.election.enable': 'false',
      ...row.configs,
    },
  }));
}

/** A stream is the ordered list of topics that belong together: consumers subscribe to it, and the lake's prefix names it. */
export const streams: Readonly<Record<string, readonly string[]>> = { 'service-events': [SERVICE_EVENTS_TOPIC] };
