import type { Coordinates, Headers, TopicPartition } from '../records.ts';

/** What became of one record. `stored` and `skipped` settle it; `retry` is tried again in place; `dead` is bad data, never an outage. */
export type Outcome =
  | { readonly kind: 'stored' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'retry'; readonly reason: string; readonly cause?: unknown }
  | { readonly kind: 'dead'; readonly reason: string; readonly cause?: unknown };

/** Why a batch was handed over when it was. */
export type CloseReason = 'records' | 'bytes' | 'age' | 'gap' | 'drain';

/**
 * Records of one partition in offset order, read through accessors (`i` from 0 to `length` - 1).
 * A Buffer it returns is only good until `release()` or the end of `write`: copy what is kept longer.
 */
export interface Batch {
  readonly source: TopicPartition & { readonly incarnation: string };
  readonly length: number;
  /** Size of keys, values and headers in bytes. */
  readonly bytes: number;
  readonly closedBy: CloseReason;
  offset(i: number): number;
  timestampMs(i: number): number;
  key(i: number): Buffer | null;
  value(i: number): Buffer | null;
  headers(i: number): Headers;
  /** The record's own coordinates, or on a declared side channel those of its `origin.*` headers. */
  origin(i: number): Coordinates;
  /** On a declared side channel the headers that tell of its way there (`dlq.*`, `replay.*`); none elsewhere. */
  notes(i: number): Headers;
  /**
   * The sink has its own copy: the bytes are let go and leave the memory bound, the records stay unsettled. After it the batch tells
   * only its source, length and offsets, and the sink retries by itself and rejects only on abort.
   */
  release(): void;
}

/** One assigned partition for as long as we own it. */
export interface Lane extends TopicPartition {
  readonly incarnation: string;
  readonly committed: number | null;
  readonly logStart: number;
  readonly logEnd: number;
}

/** What a sink throws, from any of its calls, where no further try can help: the lane halts with this sentence. */
export class StandsStill extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'StandsStill';
  }
}

/**
 * Offsets `[from, to)` that the lane can not read where it expected them. `expired`: below the log's start. `truncated`: the log ends at
 * `from`, and the lane stood at `to`. `void`: never held a readable record. `recreated`: the topic was deleted and made anew, and
 * `from` = `to` is the end of what is proven to be of the old one: everything delivered before the begin of the last look-up that
 * still gave its id. What was delivered behind it may be the new topic's.
 */
export interface Gap {
  readonly kind: 'expired' | 'truncated' | 'recreated' | 'void';
  readonly from: number;
  readonly to: number;
}

/**
 * Where records end up. Idempotent by record id, since an outage hands a batch over again.
 * `write` is called in offset order per lane and resolves with one outcome per record once they are durable; a throw is an outage,
 * except of StandsStill.
 */
export interface Sink {
  readonly name: string;
  /** Overrides the committed position; never lowers the commit. A throw is an outage: it is asked again with backoff. */
  assign?(lane: Lane): Promise<{ readonly startAt: number } | undefined>;
  /**
   * Called after every record below `from` was handed over and before any at `to`, of what the group's policy lets pass; a throw is an
   * outage, and the same gap may be told again after a rebalance or a crash. `recreated` is told on the old lane (its incarnation);
   * batches of it that are still open then have nothing to settle any more, and the partition is opened anew under the new
   * incarnation (`assign`). It may be told of a lane that was flushed and given back long before.
   */
  gap?(lane: Lane, gap: Gap): Promise<void>;
  write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]>;
  /** Resolves the batches it holds for these lanes, as far as it can. */
  flush?(why: 'revoke' | 'stop', lanes: readonly TopicPartition[]): Promise<void>;
  close?(): Promise<void>;
}

export const STORED: Outcome = { kind: 'stored' };
