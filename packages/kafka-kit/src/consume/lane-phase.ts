import type { RawRecord } from '../records.ts';
import type { HistoryHole } from '../recover/record-history.ts';
import type { Gap } from './contract.ts';

/** Why a lane reads no further until a person acts or it is assigned anew. */
export type HaltReason =
  | { readonly kind: 'sink'; readonly sentence: string }
  | { readonly kind: 'gap'; readonly gap: Gap; readonly sentence: string }
  | { readonly kind: 'dead'; readonly offset: number; readonly reason: string; readonly sentence: string }
  | { readonly kind: 'budget'; readonly sentence: string };

/**
 * `opening`: position not known yet. `checking`: something unexpected was delivered and is being looked up. `ending`: its topic was
 * made anew; the sink is told where the old one ended, behind all that is proven to be of it, and then a new lane takes its place.
 * `restoring`: what Kafka no longer holds is read from the history, while the client reads nothing.
 */
export type LanePhase =
  | { readonly kind: 'opening' }
  | { readonly kind: 'running' }
  | { readonly kind: 'checking'; readonly held: RawRecord[] }
  | { readonly kind: 'ending' }
  | { readonly kind: 'restoring'; readonly restore: Restore }
  | { readonly kind: 'halted'; readonly why: HaltReason }
  | { readonly kind: 'draining' };

/** How far the reading of a history has come. It goes on at the lane's next expected offset. */
export interface Restore {
  readonly from: number;
  readonly sinceMs: number;
  /** As of the last look-up: what lies below it Kafka has no more. */
  logStart: number;
  records: number;
  passedOffsets: number;
  /** Why Kafka is asked before anything else happens: whether it has what comes next. */
  ask: 'at-end' | 'in-kafka' | HistoryHole | undefined;
  /** While the history does not have what comes next. */
  waits: { readonly sinceMs: number; readonly retryAtMs: number } | undefined;
}

/** The sink or the broker does not do what is needed; tried again at `retryAtMs`, for as long as it takes. */
export interface Outage {
  readonly why: 'sink' | 'retry' | 'gap' | 'open' | 'history' | 'dead-letter';
  readonly reason: string;
  readonly sinceMs: number;
  readonly attempts: number;
  readonly retryAtMs: number;
}

/** The log has records behind the lane's position, and the client delivers none. */
export interface Stall {
  readonly sinceMs: number;
  readonly position: number;
  readonly end: number;
  readonly attempts: number;
  readonly retryAtMs: number;
}
