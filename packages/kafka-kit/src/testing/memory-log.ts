import type { Headers, RawRecord, TopicPartition } from '../records.ts';

/** A record as a test writes it. */
export interface NewRecord {
  readonly key?: Buffer | null;
  readonly value?: Buffer | null;
  readonly headers?: Headers;
  readonly timestampMs?: number;
}

/** The log of one partition. An offset without a record is a void: compacted away, or a transaction's marker. */
export class MemoryLog implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  #start = 0;
  /** Where a transaction begins that is neither committed nor aborted yet. */
  openFrom: number | undefined;
  readonly #records: (RawRecord | undefined)[] = [];

  constructor(topic: string, partition: number) {
    this.topic = topic;
    this.partition = partition;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#records.length;
  }

  /** Where readers stop: before the first record of an open transaction, else at the end. */
  get stableEnd(): number {
    return Math.min(this.end, this.openFrom ?? this.end);
  }

  append(record: NewRecord, nowMs: number): number {
    const offset = this.end;
    this.#records.push({
      topic: this.topic,
      partition: this.partition,
      offset,
      timestampMs: record.timestampMs ?? nowMs,
      key: record.key ?? null,
      value: record.value ?? null,
      headers: record.headers ?? [],
    });
    return offset;
  }

  appendVoids(count: number): void {
    for (let i = 0; i < count; i += 1) this.#records.push(undefined);
  }

  removeAt(offsets: readonly number[]): void {
    for (const offset of offsets) if (offset < this.end) this.#records[offset] = undefined;
  }

  /** What retention and DeleteRecords do: the log begins at `offset`. */
  deleteBefore(offset: number): void {
    this.#start = Math.max(this.#start, Math.min(offset, this.end));
  }

  /** What an unclean leader election does: the log ends at `offset`. */
  truncateTo(offset: number): void {
    this.#records.length = Math.min(offset, this.end);
    this.#start = Math.min(this.#start, this.end);
  }

  /** Up to `max` readable records from `position` on, and where to go on reading. */
  read(position: number, max: number): { readonly records: readonly RawRecord[]; readonly next: number } {
    const records: RawRecord[] = [];
    let next = position;
    while (next < this.stableEnd && records.length < max) {
      const record = this.#records[next];
      if (record !== undefined) records.push(record);
      next += 1;
    }
    return { records, next };
  }

  /** Every readable record from the log's start. */
  all(): readonly RawRecord[] {
    return this.read(this.#start, Number.POSITIVE_INFINITY).records;
  }
}
