import type { RawRecord, TopicPartition } from '../records.ts';

/** A record as it was in the log; topic, incarnation and partition are those that were asked for. */
export type HistoryRecord = Omit<RawRecord, 'topic' | 'partition'>;

/**
 * A stretch of a partition's history. `void`: offsets that never held a readable record. `lost`: gone before they were kept, and declared so.
 * `before-archive`: from before anything was kept.
 */
export type HistoryPart =
  | { readonly kind: 'records'; readonly records: readonly HistoryRecord[] }
  | { readonly kind: 'void' | 'lost' | 'before-archive'; readonly from: number; readonly to: number };

/** Stretches that are passed with a count: their records are gone. */
export type PassedPart = Extract<HistoryPart['kind'], 'lost' | 'before-archive'>;

/** A store that keeps records beyond the log's retention. The kit knows no other side of it. */
export interface RecordHistory {
  /**
   * What is kept of the offsets `[from, to)`, in their order, each in exactly one part, up to the history's end at most: it may end earlier, also at
   * once. Only what is whole is given: a stretch that is neither kept nor declared throws HistoryHole when it is reached, and any other
   * throw is a fault of the moment.
   */
  read(of: TopicPartition & { readonly incarnation: string }, from: number, to: number, signal: AbortSignal): AsyncIterable<HistoryPart>;
}

/** Offsets `[from, to)` inside of the history that it neither holds nor declares. Nothing behind them was given. */
export class HistoryHole extends Error {
  readonly from: number;
  readonly to: number;
  readonly why: string;

  constructor(of: TopicPartition, from: number, to: number, why: string) {
    super(`Offsets ${from} to ${to - 1} of ${of.topic}, partition ${of.partition}, are not to be had: ${why}.`);
    this.name = 'HistoryHole';
    this.from = from;
    this.to = to;
    this.why = why;
  }
}
