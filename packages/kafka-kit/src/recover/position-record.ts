import type { OutgoingRecord } from '../publish/contract.ts';
import type { RawRecord, TopicPartition } from '../records.ts';

/** Where a group stands on a partition, as it is kept a second time beside the group's commit. */
export interface KeptPosition extends TopicPartition {
  /** The life of the topic that the offset is of. */
  readonly incarnation: string;
  readonly nextToRead: number;
  /** The group began here and has not moved since: it says nothing of where other partitions of the topic are to begin. */
  readonly first?: true;
}

/** What a record of the positions' topic says to one group. `other`: it is another group's, or another kind of record. */
export type PositionRecord =
  | { readonly kind: 'position'; readonly position: KeptPosition }
  | { readonly kind: 'dropped'; readonly partition: TopicPartition }
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable' };

/** The first part of the key: the topic may hold records of other kinds beside these. */
const KIND = 'position';
const INCARNATION = /^[A-Za-z0-9_-]{8}$/;

/** The position as it is published. The topic is compacted: the last record of a key is what counts. */
export function positionRecord(to: TopicPartition, group: string, position: KeptPosition): OutgoingRecord {
  const { topic, partition, incarnation, nextToRead, first } = position;
  return {
    topic: to.topic,
    partition: to.partition,
    key: Buffer.from(JSON.stringify([KIND, group, topic, partition])),
    value: Buffer.from(JSON.stringify({ incarnation, next: nextToRead, ...(first === true ? { first } : {}) })),
  };
}

/** Reads strictly: half a position would be a wrong one. Fields that a later release adds to the value are passed over. */
export function readPositionRecord({ key, value }: Pick<RawRecord, 'key' | 'value'>, group: string): PositionRecord {
  const parts = json(key);
  if (!Array.isArray(parts) || typeof parts[0] !== 'string') return { kind: 'unreadable' };
  const [kind, of, topic, partition] = parts as readonly unknown[];
  if (kind !== KIND || (typeof of === 'string' && of !== group)) return { kind: 'other' };
  if (of !== group || typeof topic !== 'string' || topic === '' || !isWhole(partition) || parts.length !== 4) return { kind: 'unreadable' };
  if (value === null) return { kind: 'dropped', partition: { topic, partition } };
  const said = json(value);
  if (typeof said !== 'object' || said === null) return { kind: 'unreadable' };
  const { incarnation, next, first } = said as Readonly<Record<string, unknown>>;
  if (typeof incarnation !== 'string' || !INCARNATION.test(incarnation) || !isWhole(next)) return { kind: 'unreadable' };
  if (first !== undefined && first !== true) return { kind: 'unreadable' };
  return { kind: 'position', position: { topic, partition, incarnation, nextToRead: next, ...(first === true ? { first } : {}) } };
}

function json(bytes: Buffer | null): unknown {
  if (bytes === null) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // Safe: what is no JSON is unreadable, which is the answer.
    return undefined;
  }
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
