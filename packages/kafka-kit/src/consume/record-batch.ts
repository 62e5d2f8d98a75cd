import type { Coordinates, Headers, RawRecord, TopicPartition } from '../records.ts';
import type { Batch, CloseReason } from './contract.ts';

/** What a record costs in memory besides its key and value: the client's object and two Buffers. */
const RECORD_OVERHEAD_BYTES = 200;

/** Bytes a record is counted with against the memory bound. */
export function heldBytes(record: RawRecord): number {
  return (record.key?.length ?? 0) + (record.value?.length ?? 0) + RECORD_OVERHEAD_BYTES;
}

/** A closed run of records of one lane. Implements the accessors of `Batch`; the runtime reads `records` directly. */
export class RecordBatch implements Batch {
  readonly records: readonly RawRecord[];
  readonly source: TopicPartition & { readonly incarnation: string };
  readonly closedBy: CloseReason;
  readonly bytes: number;
  readonly heldBytes: number;
  #released = false;
  readonly #onRelease: (batch: RecordBatch) => void;

  constructor(
    records: readonly RawRecord[],
    source: TopicPartition & { readonly incarnation: string },
    closedBy: CloseReason,
    onRelease: (batch: RecordBatch) => void,
  ) {
    this.records = records;
    this.source = source;
    this.closedBy = closedBy;
    let held = 0;
    for (const record of records) held += heldBytes(record);
    this.heldBytes = held;
    this.bytes = held - records.length * RECORD_OVERHEAD_BYTES;
    this.#onRelease = onRelease;
  }

  get length(): number {
    return this.records.length;
  }

  get firstOffset(): number {
    return this.#at(0).offset;
  }

  get released(): boolean {
    return this.#released;
  }

  offset(i: number): number {
    return this.#at(i).offset;
  }

  timestampMs(i: number): number {
    return this.#at(i).timestampMs;
  }

  key(i: number): Buffer | null {
    return this.#at(i).key;
  }

  value(i: number): Buffer | null {
    return this.#at(i).value;
  }

  headers(i: number): Headers {
    return this.#at(i).headers;
  }

  origin(i: number): Coordinates {
    const { offset, timestampMs } = this.#at(i);
    return { ...this.source, offset, timestampMs };
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#onRelease(this);
  }

  /** The same run with only the records at `indices`, for a retry of those. */
  pick(indices: readonly number[]): RecordBatch {
    return new RecordBatch(
      indices.map((i) => this.#at(i)),
      this.source,
      this.closedBy,
      this.#onRelease,
    );
  }

  #at(i: number): RawRecord {
    const record = this.records[i];
    if (record === undefined) throw new RangeError(`record ${i} of a batch of ${this.records.length}`);
    return record;
  }
}
