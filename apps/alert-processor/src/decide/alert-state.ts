import type { Silence } from '../messages/message.ts';
import type { Notification } from '../notify/notification.ts';

/** What became of telling one transition through one channel. */
export interface Send {
  readonly key: string;
  readonly channel: string;
  /** `pending` is written, and acknowledged, before the first try. `refused`: the receiver will never take it; `given-up`: tried for too long. */
  readonly status: 'pending' | 'sent' | 'refused' | 'given-up';
  readonly attempts: number;
  readonly lastAttemptMs?: number;
  readonly reason?: string;
}

/** One change of an alert that people are told of. */
export interface Transition {
  /** The word in the idempotency key: `firing`, `resolved`, `again-1`. */
  readonly name: string;
  readonly atMs: number;
  /** As it is told: the content does not change with the rule's later texts. */
  readonly notification: Notification;
  /** Why nobody is told: the id of a silence. */
  readonly silencedBy?: string;
  readonly sends: readonly Send[];
}

/** The state of one (rule, group), as `alert-state` keeps it. */
export interface AlertState {
  readonly kind: 'alert';
  readonly rule: string;
  readonly group: string;
  readonly version: string;
  readonly state: 'ok' | 'firing';
  /** Start of the first firing window, or, where an earlier episode began there or later, the end of that; of the last episode, where the state is ok. */
  readonly episodeMs: number;
  /** An earlier episode began here, and none before it began later: no start up to it is taken again, whatever window the rule has by then. */
  readonly afterMs?: number;
  /** End of the first firing window. Windows that end before it may still be undecided: it fired early, on what was there. */
  readonly firstEndMs: number;
  /** Start of the last window that was seen to fire. */
  readonly lastFiringMs: number;
  /** Every window that ends at or before it is decided: none of them begins an episode again, whatever is read a second time. */
  readonly decidedMs: number;
  /** Start of a firing stretch that was found before the episode and is not told yet: it may still turn out to touch it. */
  readonly earlierMs?: number;
  /** When the state was written, by the owner's clock; and the owner's epoch: the higher one wins. */
  readonly writtenMs: number;
  readonly epoch: number;
  /** Sends that were given up since too many newer ones waited, too: their transitions are not kept. */
  readonly givenUp?: number;
  /** Of the present or the last episode, the latest ones. */
  readonly transitions: readonly Transition[];
}

/** Where the owner of a partition stands: the smallest watermark at its commit. */
export interface PartitionState {
  readonly kind: 'partition';
  readonly partition: number;
  /** Null: nothing was decided yet. */
  readonly watermarkMs: number | null;
  readonly epoch: number;
  /** Told apart by it are two processes that take the partition over at the same time. */
  readonly owner: string;
}

export interface SilenceState {
  readonly kind: 'silence';
  readonly silence: Silence;
  readonly epoch: number;
}

/** One value of `alert-state`. */
export type StateRecord = AlertState | PartitionState | SilenceState;
