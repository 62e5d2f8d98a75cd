import type { TopicPartition } from '../records.ts';
import type { Gap } from './contract.ts';
import type { LaneState } from './lane.ts';
import type { HaltReason, LanePhase, Outage, Restore, Stall } from './lane-phase.ts';

/** What a halted partition stands before. */
export type HaltCause = Exclude<HaltReason['kind'], 'gap'> | Exclude<Gap['kind'], 'void'>;

/** What people and metrics see of one owned partition. */
export interface LaneView extends TopicPartition {
  readonly phase: LanePhase['kind'];
  /** Why it reads no further, in one sentence, when it is halted. */
  readonly halted: string | undefined;
  readonly haltedBy: HaltCause | undefined;
  readonly outage: Outage | undefined;
  /** While it reads from its history what Kafka no longer holds. */
  readonly restore: RestoreView | undefined;
  /** While the client delivers nothing although the log has more. */
  readonly stall: Stall | undefined;
  /** When the oldest batch was handed over that the sink holds without an answer and without a copy of its own. */
  readonly unansweredSinceMs: number | undefined;
  readonly paused: boolean;
  readonly nextToRead: number | undefined;
  readonly logEnd: number | undefined;
  /** Records behind the end of the log that are not settled; undefined before the first look-up. */
  readonly lag: number | undefined;
  /** Broker time of the oldest delivered record that is not settled; where there is none, of the last settled one. */
  readonly behindSinceMs: number | undefined;
  readonly unsettled: number;
  readonly bufferedBytes: number;
}

/** A reading of a history: it began at `from`, `next` is the next offset to be read, and Kafka begins at `logStart`, as last looked up. */
export interface RestoreView {
  readonly from: number;
  readonly next: number;
  readonly logStart: number;
  readonly records: number;
  /** Since when `[next, logStart)` is waited for: it is not in the history yet. */
  readonly waitsSinceMs: number | undefined;
}

/** `cachedLogEnd` is the client's last word on the log's end. */
export function viewLane(lane: LaneState, cachedLogEnd: number | undefined): LaneView {
  const begun = lane.facts !== undefined;
  const nextToRead = begun ? lane.ledger.nextToRead : undefined;
  const logEnd = begun ? Math.max(cachedLogEnd ?? 0, lane.facts?.logEnd ?? 0, lane.expected) : undefined;
  return {
    topic: lane.topic,
    partition: lane.partition,
    phase: lane.phase.kind,
    halted: lane.phase.kind === 'halted' ? lane.phase.why.sentence : undefined,
    haltedBy: lane.phase.kind === 'halted' ? haltCause(lane.phase.why) : undefined,
    outage: lane.outage ?? (lane.phase.kind === 'halted' ? undefined : (lane.lookUp ?? lane.suspicion?.outage)),
    restore: lane.phase.kind === 'restoring' ? viewRestore(lane.phase.restore, lane.expected) : undefined,
    stall: lane.stall,
    unansweredSinceMs: unansweredSinceMs(lane),
    paused: lane.paused,
    nextToRead,
    logEnd,
    lag: logEnd === undefined || nextToRead === undefined ? undefined : Math.max(0, logEnd - nextToRead),
    behindSinceMs: lane.behindSinceMs,
    unsettled: lane.ledger.unsettled,
    bufferedBytes: lane.bufferedBytes,
  };
}

function viewRestore({ from, logStart, records, waits }: Restore, next: number): RestoreView {
  return { from, next, logStart, records, waitsSinceMs: waits?.sinceMs };
}

function haltCause(why: HaltReason): HaltCause | undefined {
  if (why.kind !== 'gap') return why.kind;
  return why.gap.kind === 'void' ? undefined : why.gap.kind;
}

function unansweredSinceMs({ inFlight }: LaneState): number | undefined {
  let oldest: number | undefined;
  for (const { released, handedOverMs } of inFlight)
    if (!released && handedOverMs !== undefined) oldest = Math.min(oldest ?? handedOverMs, handedOverMs);
  return oldest;
}
