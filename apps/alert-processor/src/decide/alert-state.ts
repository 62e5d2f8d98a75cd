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
  /** Start of the first firing window; of the last episode, where the state is ok. */
  readonly episodeMs: number;
  /** Start of the last window that was seen to fire; no window that starts at or before it begins an episode. */
  readonly lastFiringMs: number;
  /** When the state was written, by the owner's clock; and the owner's epoch: the higher one wins. */
  readonly writtenMs: number;
  readonly epoch: number;
  /** Of the present or the last episode, the latest ones. */
  readonly transitions: readonly Transition[];
}

/** Where the owner of a partition stands: the smallest watermark at its commit. */
export interface PartitionState {
  readonly kind: 'partition';
  readonly partition: number;
  readonly watermarkMs: number;
  readonly epoch: number;
}

export interface SilenceState {
  readonly kind: 'silence';
  readonly silence: Silence;
  readonly epoch: number;
}

/** One value of `alert-state`. */
export type StateRecord = AlertState | PartitionState | SilenceState;
