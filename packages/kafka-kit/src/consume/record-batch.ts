import type { Coordinates, Headers, RawRecord, TopicPartition } from '../records.ts';
import { replaysOf } from '../recover/dead-letter.ts';
import { decodeSideRecord, type RecordParts, type SideRecord } from '../recover/side-record.ts';
import type { Batch, CloseReason } from './contract.ts';

/** What a record costs in memory besides its bytes: the client's object and two Buffers. */
const RECORD_OVERHEAD_BYTES = 200;

/** Bytes a record is counted with against the memory bound. */
export function heldBytes(record: RawRecord): number {
  return (record.key?.length ?? 0) + (record.value?.length ?? 0) + headerBytes(record) + RECORD_OVERHEAD_BYTES;
}

function headerBytes(record: RawRecord): number {
  if (record.headerBytes !== undefined) return record.headerBytes;
  let bytes = 0;
  for (const [name, value] of record.headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

/** A closed run of records of one lane. Implements the accessors of `Batch`. */
export class RecordBatch implements Batch {
  readonly source: TopicPartition & { readonly incarnation: string };
  readonly closedBy: CloseReason;
  readonly length: number;
  readonly bytes: number;
  readonly heldBytes: number;
  readonly firstOffset: number;
  readonly firstTimestampMs: number;
  /** When the sink got it last. */
  handedOverMs: number | undefined;
  /** Undefined after `release()`: kept, the bytes would stay in memory until the sink settles them. */
  #records: readonly RawRecord[] | undefined;
  /** What is left after `release()` of a run with holes; without holes an offset follows from the first. */
  #offsets: readonly number[] | undefined;
  /** Says whether the sink may give the bytes back: only while it has this batch. */
  readonly #letGo: (batch: RecordBatch) => boolean;
  /** How many times it was handed over, this time included. */
  readonly attempt: number;
  /** On a side channel what its records were at first, decoded when asked for; undefined elsewhere: there `origin.*` headers count for nothing. */
  readonly #sides: (SideRecord | 'none' | undefined)[] | undefined;

  constructor(
    records: readonly RawRecord[],
    source: TopicPartition & { readonly incarnation: string },
    closedBy: CloseReason,
    letGo: (batch: RecordBatch) => boolean,
    held = records.reduce((sum, record) => sum + heldBytes(record), 0),
    { side = false, attempt = 1 }: { readonly side?: boolean; readonly attempt?: number } = {},
  ) {
    const [first] = records;
    if (first === undefined) throw new RangeError('a batch holds at least one record');
    this.#records = records;
    this.source = source;
    this.closedBy = closedBy;
    this.length = records.length;
    this.firstOffset = first.offset;
    this.firstTimestampMs = first.timestampMs;
    this.heldBytes = held;
    this.bytes = held - records.length * RECORD_OVERHEAD_BYTES;
    this.#letGo = letGo;
    this.attempt = attempt;
    this.#sides = side ? new Array<undefined>(records.length).fill(undefined) : undefined;
  }

  get released(): boolean {
    return this.#records === undefined;
  }

  offset(i: number): number {
    if (this.#records !== undefined) return this.#at(i).offset;
    if (i < 0 || i >= this.length) throw new RangeError(`record ${i} of a batch of ${this.length}`);
    return this.#offsets?.[i] ?? this.firstOffset + i;
  }

  timestampMs(i: number): number {
    return this.#at(i).timestampMs;
  }

  key(i: number): Buffer | null {
    return this.#original(i).key;
  }

  value(i: number): Buffer | null {
    return this.#original(i).value;
  }

  headers(i: number): Headers {
    return this.#original(i).headers;
  }

  origin(i: number): Coordinates {
    const side = this.#side(i);
    if (side !== undefined) return side.origin;
    const { offset, timestampMs } = this.#at(i);
    const { topic, incarnation, partition } = this.source;
    // Not by spread: that was measured at 0.9 us a record, and each sink asks for every record.
    return { topic, incarnation, partition, offset, timestampMs };
  }

  /** How many times the record was brought back from the dead letters. */
  replays(i: number): number {
    return replaysOf(this.#side(i)?.notes ?? []);
  }

  release(): void {
    const records = this.#records;
    if (records === undefined || !this.#letGo(this)) return;
    const last = records.at(-1)?.offset ?? this.firstOffset;
    if (last - this.firstOffset + 1 !== records.length) this.#offsets = records.map(({ offset }) => offset);
    this.#records = undefined;
    this.#sides?.fill(undefined);
  }

  /** A new batch of the records at `indices`, to be handed over again: what a sink still does with this one does not touch it. */
  pick(indices: readonly number[]): RecordBatch {
    return new RecordBatch(
      indices.map((i) => this.#at(i)),
      this.source,
      this.closedBy,
      this.#letGo,
      undefined,
      { side: this.#sides !== undefined, attempt: this.attempt + 1 },
    );
  }

  /** A new batch of the same records. */
  again(): RecordBatch {
    return this.pick(Array.from({ length: this.length }, (_, i) => i));
  }

  #original(i: number): RecordParts {
    return this.#side(i) ?? this.#at(i);
  }

  /** A record without sound `origin.*` headers on a side channel is its own origin: its id names the side channel, and meets no other. */
  #side(i: number): SideRecord | undefined {
    if (this.#sides === undefined) return undefined;
    const side = this.#sides[i] ?? decodeSideRecord(this.#at(i)) ?? 'none';
    this.#sides[i] = side;
    return side === 'none' ? undefined : side;
  }

  #at(i: number): RawRecord {
    if (this.#records === undefined) throw new Error('after release() a batch tells only its source, length and offsets');
    const record = this.#records[i];
    if (record === undefined) throw new RangeError(`record ${i} of a batch of ${this.length}`);
    return record;
  }
}
