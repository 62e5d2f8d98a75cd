import type { Coordinates, Headers, TopicPartition } from '../records.ts';
import { replaysOf } from '../recover/dead-letter.ts';
import { decodeSideRecord, type SideRecord } from '../recover/side-record.ts';
import type { Batch, CloseReason } from './contract.ts';
import { RECORD_OVERHEAD_BYTES, type RecordColumns } from './record-columns.ts';

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
  #records: RecordColumns | undefined;
  /** What is left after `release()` of a run with holes; without holes an offset follows from the first. */
  #offsets: readonly number[] | undefined;
  /** Says whether the sink may give the bytes back: only while it has this batch. */
  readonly #letGo: (batch: RecordBatch) => boolean;
  /** How many times it was handed over, this time included. */
  readonly attempt: number;
  /** On a side channel what its records were at first, decoded when asked for; undefined elsewhere: there `origin.*` headers count for nothing. */
  readonly #sides: (SideRecord | 'none' | undefined)[] | undefined;

  constructor(
    records: RecordColumns,
    source: TopicPartition & { readonly incarnation: string },
    closedBy: CloseReason,
    letGo: (batch: RecordBatch) => boolean,
    { side = false, attempt = 1 }: { readonly side?: boolean; readonly attempt?: number } = {},
  ) {
    this.#records = records;
    this.source = source;
    this.closedBy = closedBy;
    this.length = records.length;
    this.firstOffset = records.offset(0);
    this.firstTimestampMs = records.timestampMs(0);
    this.heldBytes = records.heldBytes;
    this.bytes = records.heldBytes - records.length * RECORD_OVERHEAD_BYTES;
    this.#letGo = letGo;
    this.attempt = attempt;
    this.#sides = side ? new Array<undefined>(records.length).fill(undefined) : undefined;
  }

  get released(): boolean {
    return this.#records === undefined;
  }

  offset(i: number): number {
    if (this.#records !== undefined) return this.#records.offset(i);
    if (i < 0 || i >= this.length) throw new RangeError(`record ${i} of a batch of ${this.length}`);
    return this.#offsets?.[i] ?? this.firstOffset + i;
  }

  timestampMs(i: number): number {
    return this.#kept.timestampMs(i);
  }

  key(i: number): Buffer | null {
    const side = this.#side(i);
    return side === undefined ? this.#kept.key(i) : side.key;
  }

  value(i: number): Buffer | null {
    const side = this.#side(i);
    return side === undefined ? this.#kept.value(i) : side.value;
  }

  headers(i: number): Headers {
    const side = this.#side(i);
    return side === undefined ? this.#kept.headers(i) : side.headers;
  }

  origin(i: number): Coordinates {
    const side = this.#side(i);
    if (side !== undefined) return side.origin;
    const { topic, incarnation, partition } = this.source;
    // Not by spread: that was measured at 0.9 us a record, and each sink asks for every record.
    return { topic, incarnation, partition, offset: this.#kept.offset(i), timestampMs: this.#kept.timestampMs(i) };
  }

  /** How many times the record was brought back from the dead letters. */
  replays(i: number): number {
    return replaysOf(this.notes(i));
  }

  notes(i: number): Headers {
    return this.#side(i)?.notes ?? [];
  }

  release(): void {
    const records = this.#records;
    if (records === undefined || !this.#letGo(this)) return;
    const last = records.offset(records.length - 1);
    if (last - this.firstOffset + 1 !== records.length) this.#offsets = Array.from({ length: records.length }, (_, i) => records.offset(i));
    this.#records = undefined;
    this.#sides?.fill(undefined);
  }

  /** A new batch of the records at `indices`, to be handed over again: what a sink still does with this one does not touch it. */
  pick(indices: readonly number[], attempt = this.attempt + 1): RecordBatch {
    return new RecordBatch(this.#kept.pick(indices), this.source, this.closedBy, this.#letGo, {
      side: this.#sides !== undefined,
      attempt,
    });
  }

  /** A new batch of the same records. */
  again(): RecordBatch {
    return this.pick(Array.from({ length: this.length }, (_, i) => i));
  }

  /** A record without sound `origin.*` headers on a side channel is its own origin: its id names the side channel, and meets no other. */
  #side(i: number): SideRecord | undefined {
    if (this.#sides === undefined) return undefined;
    const kept = this.#kept;
    const side = this.#sides[i] ?? decodeSideRecord({ key: kept.key(i), value: kept.value(i), headers: kept.headers(i) }) ?? 'none';
    this.#sides[i] = side;
    return side === 'none' ? undefined : side;
  }

  get #kept(): RecordColumns {
    if (this.#records === undefined) throw new Error('after release() a batch tells only its source, length and offsets');
    return this.#records;
  }
}
