import type { Headers, RawRecord } from '../records.ts';

/** The first chunk, and the largest record that shares one with others. */
const LARGE_BYTES = 8192;
/** Chunks double up to this size: a quiet lane takes little, a busy one allocates seldom. */
const MAX_CHUNK_BYTES = 131_072;
const NO_BYTES = Buffer.alloc(0);
/** The length of a key or value that is null. */
const NULL_LENGTH = -1;
/** What a record costs in memory besides its bytes: its places in the columns, with room to grow. */
export const RECORD_OVERHEAD_BYTES = 100;

/** A record of a lane: that tells topic and partition. */
export type OffsetRecord = Omit<RawRecord, 'topic' | 'partition'>;

/** Bytes a record is counted with against the memory bound. */
export function heldBytes({ key, value, headers, headerBytes = bytesOf(headers) }: OffsetRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0) + headerBytes + RECORD_OVERHEAD_BYTES;
}

function bytesOf(headers: Headers): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

/**
 * Records of one lane as columns. Keys and values are copied out of the client's objects, which are then collected while they are
 * young: kept until their batch settles, moving and marking them cost more CPU than the runtime itself.
 */
export class RecordColumns {
  readonly #offsets: number[] = [];
  readonly #timestampsMs: number[] = [];
  readonly #headers: Headers[] = [];
  /** What holds a record's key and, right behind it, its value, from `#starts` on. */
  readonly #chunks: Buffer[] = [];
  readonly #starts: number[] = [];
  readonly #keyLengths: number[] = [];
  readonly #valueLengths: number[] = [];
  #open = NO_BYTES;
  #used = 0;
  #held = 0;

  /** What its records are counted with, together. */
  get heldBytes(): number {
    return this.#held;
  }

  get length(): number {
    return this.#offsets.length;
  }

  /** `held`: what the record is counted with. */
  append({ offset, timestampMs, key, value, headers }: OffsetRecord, held: number): void {
    const keyBytes = key?.length ?? 0;
    const { chunk, start } = this.#room(keyBytes + (value?.length ?? 0));
    if (key !== null) chunk.set(key, start);
    if (value !== null) chunk.set(value, start + keyBytes);
    this.#offsets.push(offset);
    this.#timestampsMs.push(timestampMs);
    this.#headers.push(headers);
    this.#chunks.push(chunk);
    this.#starts.push(start);
    this.#keyLengths.push(key?.length ?? NULL_LENGTH);
    this.#valueLengths.push(value?.length ?? NULL_LENGTH);
    this.#held += held;
  }

  offset(i: number): number {
    return at(this.#offsets, i);
  }

  timestampMs(i: number): number {
    return at(this.#timestampsMs, i);
  }

  headers(i: number): Headers {
    return at(this.#headers, i);
  }

  /** A view of the key's bytes. */
  key(i: number): Buffer | null {
    return this.#bytes(i, at(this.#starts, i), at(this.#keyLengths, i));
  }

  /** A view of the value's bytes. */
  value(i: number): Buffer | null {
    return this.#bytes(i, at(this.#starts, i) + Math.max(at(this.#keyLengths, i), 0), at(this.#valueLengths, i));
  }

  /** The records at `indices`, with bytes of their own: a few would else keep whole chunks, which nobody counts. */
  pick(indices: readonly number[]): RecordColumns {
    const picked = new RecordColumns();
    for (const i of indices) {
      const headers = this.headers(i);
      const record = { offset: this.offset(i), timestampMs: this.timestampMs(i), key: this.key(i), value: this.value(i), headers };
      picked.append(record, heldBytes(record));
    }
    return picked;
  }

  /** A place for so many bytes. A large record has a chunk of its own: at the end of one that is begun, its rest would be wasted. */
  #room(bytes: number): { readonly chunk: Buffer; readonly start: number } {
    if (bytes > LARGE_BYTES) return { chunk: Buffer.allocUnsafeSlow(bytes), start: 0 };
    if (this.#used + bytes > this.#open.length) {
      this.#open = Buffer.allocUnsafeSlow(Math.max(LARGE_BYTES, Math.min(this.#open.length * 2, MAX_CHUNK_BYTES)));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes;
    return { chunk: this.#open, start };
  }

  #bytes(i: number, start: number, length: number): Buffer | null {
    return length === NULL_LENGTH ? null : at(this.#chunks, i).subarray(start, start + length);
  }
}

function at<T>(column: readonly T[], i: number): T {
  const found = column[i];
  if (found === undefined) throw new RangeError(`record ${i} of a batch of ${column.length}`);
  return found;
}
