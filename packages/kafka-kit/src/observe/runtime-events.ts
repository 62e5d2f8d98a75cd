import type { ClientLogLine, CommitResult } from '../broker/broker-consumer.ts';
import type { CloseReason, Gap } from '../consume/contract.ts';
import type { HaltReason } from '../consume/lane-phase.ts';
import type { StuckLane } from '../consume/options.ts';
import type { TopicPartition } from '../records.ts';
import type { GapDone } from '../recover/gap-policy.ts';
import type { PassedPart } from '../recover/record-history.ts';

/** Everything worth telling that happens in a runtime. Logs and metrics are derived from these, and from nothing else. */
export type RuntimeEvent =
  | { readonly kind: 'rebalanced'; readonly how: 'assigned' | 'revoked' | 'lost'; readonly partitions: readonly TopicPartition[] }
  | {
      readonly kind: 'drained';
      readonly why: 'revoke' | 'stop';
      readonly tookMs: number;
      readonly abandonedRecords: number;
      readonly stuck: readonly StuckLane[];
    }
  | { readonly kind: 'lane-opened'; readonly lane: TopicPartition; readonly startAt: number }
  | { readonly kind: 'lane-halted'; readonly lane: TopicPartition; readonly why: HaltReason }
  | { readonly kind: 'lane-reopened'; readonly lane: TopicPartition; readonly cause: unknown; readonly abandonedRecords: number }
  | { readonly kind: 'gap'; readonly lane: TopicPartition; readonly gap: Gap; readonly done: GapDone }
  /** Read from the history: counted as delivered, and handed over like any other. */
  | { readonly kind: 'restored'; readonly lane: TopicPartition; readonly records: number }
  /** Offsets that the history declares to be gone, passed. */
  | { readonly kind: 'restore-passed'; readonly lane: TopicPartition; readonly why: PassedPart; readonly from: number; readonly to: number }
  /** The history does not have `[from, to)` yet, nor does Kafka any more. */
  | { readonly kind: 'restore-waits'; readonly lane: TopicPartition; readonly from: number; readonly to: number }
  /** The lane goes on from Kafka at `to`. */
  | {
      readonly kind: 'restore-ended';
      readonly lane: TopicPartition;
      readonly from: number;
      readonly to: number;
      readonly records: number;
      readonly passedOffsets: number;
      readonly tookMs: number;
    }
  | { readonly kind: 'handed-over'; readonly lane: TopicPartition; readonly records: number; readonly closedBy: CloseReason }
  | {
      readonly kind: 'settled';
      readonly lane: TopicPartition;
      readonly stored: number;
      readonly skipped: number;
      readonly retried: number;
      readonly dead: number;
    }
  | { readonly kind: 'skipped'; readonly lane: TopicPartition; readonly reason: string; readonly records: number }
  /** Kept in the dead-letter topic, and thereby settled. */
  | { readonly kind: 'dead-lettered'; readonly lane: TopicPartition; readonly reason: string; readonly records: number }
  /** Dead, and kept elsewhere since its dead letter was refused. `why`: by whom and for what. */
  | { readonly kind: 'unsendable'; readonly lane: TopicPartition; readonly offset: number; readonly reason: string; readonly why: string }
  | { readonly kind: 'outage'; readonly lane: TopicPartition; readonly attempts: number; readonly cause: unknown }
  | {
      readonly kind: 'stalled';
      readonly lane: TopicPartition;
      readonly position: number;
      readonly end: number;
      readonly sinceMs: number;
      readonly attempts: number;
    }
  | { readonly kind: 'recovered'; readonly lane: TopicPartition; readonly afterMs: number }
  | { readonly kind: 'commit'; readonly result: CommitResult }
  /** Of the positions that are kept a second time: how many were written, could not be written, could not be understood; or a reading that failed. */
  | {
      readonly kind: 'positions';
      readonly outcome: 'written' | 'not-written' | 'not-read' | 'unreadable';
      readonly count: number;
      readonly cause: unknown;
    }
  | { readonly kind: 'flush-failed'; readonly cause: unknown }
  | { readonly kind: 'polled'; readonly records: number; readonly sinceLastPollMs: number }
  | { readonly kind: 'broker-error'; readonly cause: unknown }
  | { readonly kind: 'client-log'; readonly line: ClientLogLine };
