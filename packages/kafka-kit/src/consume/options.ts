import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import type { TopicPartition } from '../records.ts';
import type { Backoff } from '../recover/backoff.ts';
import type { GapPolicy } from '../recover/gap-policy.ts';
import type { StartPolicy } from '../recover/position.ts';
import type { PositionsPort } from '../recover/positions-log.ts';
import type { RecordHistory } from '../recover/record-history.ts';
import type { Clock } from '../time/clock.ts';
import type { BatchLimits } from './batcher.ts';
import type { Sink } from './contract.ts';
import type { DeadLetterPort } from './dead-letters.ts';

/** What a group's consumer is told. */
export interface ConsumerOptions {
  readonly group: string;
  readonly topics: readonly string[];
  /** Those of the topics that are side channels: only there `origin.*` headers say where a record stood at first. */
  readonly sideChannels?: readonly string[];
  readonly sink: Sink;
  readonly batch: BatchLimits;
  /** Batches of one lane that may be in the sink at a time. 1 keeps the order of effects per key. */
  readonly inFlightPerLane: number;
  /** Reading stops above the first and goes on below the second, over all lanes. */
  readonly buffer: { readonly pauseAtBytes: number; readonly resumeAtBytes: number };
  readonly backoff: Backoff;
  /** How long a revoked lane and a stop may take to settle what is in flight. */
  readonly drain: { readonly revokeMs: number; readonly stopMs: number };
  /** Where a group begins that never committed anything. */
  readonly start: StartPolicy;
  /**
   * The sink's `assign` only goes back before the group's position, to read again what it must know: the position is the group's all the same, and is what
   * is held against the log.
   */
  readonly rewinds?: true;
  /** What is done about records that can not be got any more; where it is not said, the lane halts. */
  readonly gaps?: GapPolicy;
  /** Topics whose older records are compacted away: a void there is no news to anybody, and a batch may reach over it. */
  readonly compactedTopics?: readonly string[];
}

export interface RuntimePorts {
  readonly broker: BrokerConsumer;
  readonly clock: Clock;
  readonly observe: (event: RuntimeEvent) => void;
  /** Where records go that the sink calls dead. Without it the first one stops its lane, by name. */
  readonly deadLetters?: DeadLetterPort;
  /** Where positions are kept a second time. Without it only commits say where a group stands. */
  readonly positions?: PositionsPort;
  /** What is awaited before positions are stored for a commit, at most once a second; for a sink that counts what it settles. */
  readonly keeper?: StoreKeeper;
  /** Where a group whose gap policy is `restore` reads what Kafka no longer holds. */
  readonly history?: RecordHistory;
}

/** Everything below `nextToRead` is settled. */
export interface ReachedPosition extends TopicPartition {
  readonly nextToRead: number;
}

/** What must be durable before a position is stored for a commit. */
export interface StoreKeeper {
  /**
   * Called by the loop, one call at a time, with positions that grow within one ownership. A rejection is tried again with backoff; until a call has
   * resolved that named it, no position is stored. It must end by the deadline.
   */
  keep(positions: readonly ReachedPosition[], deadlineMs: number): Promise<void>;
}

/** What a stop achieved. `unsettled` is what will be read again by the next owner. */
export interface DrainReport {
  readonly tookMs: number;
  readonly deliveredRecords: number;
  readonly settledRecords: number;
  readonly abandonedRecords: number;
  /** Whether the broker confirmed every position that was stored. */
  readonly committed: boolean;
  /** Whether the sink and the client closed in time. */
  readonly closed: boolean;
  /** Partitions whose sink had not ended when the time to drain was over, each with what is known of why. */
  readonly stuck: readonly StuckLane[];
}

/** A partition whose sink did not end in time. */
export interface StuckLane extends TopicPartition {
  readonly reason: string;
}

/** Records of one poll: enough to amortise a turn of the loop, few enough to keep a turn short. */
export const MAX_POLL_RECORDS = 1000;
/** How long a poll waits for a first record, and so the longest a settled batch waits to be noticed. */
export const POLL_TIMEOUT_MS = 50;
/** How long reading may stop without pausing: a pause throws away what the client has prefetched. */
export const HOLD_BEFORE_PAUSE_MS = 500;
/** How often running lanes compare their topic's id, and how long a suspicion waits for its second look-up. */
export const IDENTITY_CHECK_MS = 10_000;
export const LOOKUP_TIMEOUT_MS = 10_000;

/** What of a stop's time is kept for the commit and the client's leave, when the sink takes all it can get. */
export function leaveMs(stopMs: number): number {
  return Math.min(2000, stopMs / 4);
}

/** Throws RangeError where settings contradict each other. */
export function checkOptions(options: ConsumerOptions, ports: Pick<RuntimePorts, 'history'>): void {
  const { batch, buffer, inFlightPerLane, topics } = options;
  if (topics.length === 0) throw new RangeError('a consumer needs at least one topic');
  const stranger = options.sideChannels?.find((topic) => !topics.includes(topic));
  if (stranger !== undefined) throw new RangeError(`${stranger} is named as a side channel and is none of the topics`);
  if (inFlightPerLane < 1) throw new RangeError('inFlightPerLane must be at least 1');
  if (batch.maxRecords < 1 || batch.maxBytes < 1) throw new RangeError('a batch holds at least one record and one byte');
  if (buffer.resumeAtBytes >= buffer.pauseAtBytes) throw new RangeError('resumeAtBytes must be below pauseAtBytes');
  if (options.drain.revokeMs > options.drain.stopMs) throw new RangeError('drain.revokeMs must not exceed drain.stopMs');
  // Passed without a word to anybody, a hole would be passed in silence.
  if ((options.gaps?.kind === 'record-and-go-on' || options.gaps?.kind === 'fresh-first') && options.sink.gap === undefined)
    throw new RangeError(`sink ${options.sink.name} has no gap(), and so can not be told of gaps`);
  if (options.gaps?.kind === 'restore' && ports.history === undefined)
    throw new RangeError(`group ${options.group} is to restore gaps, and has no history to read them from`);
  // A batch that can never fill would wait for its age while reading is paused: legal, but slow without a reason.
  if (batch.maxBytes > buffer.pauseAtBytes) throw new RangeError('batch.maxBytes must not exceed buffer.pauseAtBytes');
}
