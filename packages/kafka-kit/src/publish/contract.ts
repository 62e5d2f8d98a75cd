import type { Headers } from '../records.ts';

/** A record to be written. Without `partition` the key decides (murmur2 as Java's default); without a key it is spread. */
export interface OutgoingRecord {
  readonly topic: string;
  readonly partition?: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers?: Headers;
}

/**
 * The fate of one record. `refused`: it is not in the log and never will be (its own fault). `withdrawn`: it was not handed
 * to the producer before the deadline, so it is not in the log. `unknown`: it may or may not be; writing it again may duplicate it.
 */
export type Published =
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'withdrawn'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Writes records with acks=all. A key always travels through the same producer, so order per key holds. */
export interface Publisher {
  /** Bytes accepted and not answered yet. */
  readonly inFlightBytes: number;
  readonly maxInFlightBytes: number;
  /** Never rejects: one fate per record, in order, by `deadlineMs` from now at the latest. */
  publish(records: readonly OutgoingRecord[], options: { readonly deadlineMs: number }): Promise<readonly Published[]>;
  /** Whether the cluster answered lately: for readiness. */
  readonly reachable: boolean;
  close(timeoutMs: number): Promise<void>;
}
