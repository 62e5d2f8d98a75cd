import type { RawRecord } from '@tailrace/kafka-kit';

/** One record as the lake keeps it; topic, incarnation and partition are the object's. */
export type LakeRecord = Omit<RawRecord, 'topic' | 'partition'>;

/** One partition of one life of a topic: what a ledger chain describes. */
export interface ChainId {
  readonly topic: string;
  /** The first 8 characters of Kafka's topic id in base64url. */
  readonly incarnation: string;
  readonly partition: number;
}

/** Offsets `[first, next)`. */
export interface OffsetRange {
  readonly first: number;
  readonly next: number;
}

/** A chain in words, for messages: `service-events~AbCdEfGh, partition 3`. */
export function chainText(chain: ChainId): string {
  return `${chain.topic}~${chain.incarnation}, partition ${chain.partition}`;
}
