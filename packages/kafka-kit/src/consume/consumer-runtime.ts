import type { IdleMember } from './idle-member.ts';
import type { LaneView } from './lane-view.ts';
import type { DrainReport } from './options.ts';

/** What the runtime is doing. */
export type RuntimeState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running' }
  | { readonly kind: 'stopping'; readonly deadlineMs: number }
  | { readonly kind: 'stopped'; readonly report: DrainReport }
  | { readonly kind: 'failed'; readonly error: Error; readonly report: DrainReport };

/** A group member that hands records to one sink. */
export interface ConsumerRuntime {
  readonly state: RuntimeState;
  /** Every owned partition with what is known of it. */
  lanes(): readonly LaneView[];
  /** What is known while no partition is owned; undefined while one is. */
  idle(): IdleMember | undefined;
  /** Since when Kafka has answered no question about the topics, of which one is asked every 10 s; undefined while it answers. */
  silentSinceMs(): number | undefined;
  /** Joins the group. Rejects when the first connection can not be made. */
  start(): Promise<void>;
  /**
   * Settles and commits what it can by the deadline, then leaves. `withinMs`: what the caller has left, where that is less than the
   * group's own time for a stop. Callers share one promise; never rejects.
   */
  stop(withinMs?: number): Promise<DrainReport>;
  /** Resolves after a stop; rejects when the client can not go on (a fatal error). */
  readonly finished: Promise<DrainReport>;
}
