import type { Headers, RawRecord } from '../records.ts';

const FIRST_CHUNK_BYTES = 4096;
/** Chunks double up to this size: a quiet lane takes little, a busy one allocates seldom. */
const MAX_CHUNK_BYTES = 131_072;
const NO_BYTES = Buffer.alloc(0);
/** The length of a key or value that is null. */
const NULL_LENGTH = -1;
/** What a record costs in memory besides its bytes: its places in the columns, with room to grow. */
export const RECORD_OVERHEAD_BYTES = 100;

/** Bytes a record is counted with against the memory bound. */
export function heldBytes({ key, value, headers, headerBytes = bytesOf(headers) }: Omit<RawRecord, 'topic' | 'partition'>): number {
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
  append({ offset, timestampMs, key, value, headers }: RawRecord, held: number): void {
    const keyBytes = key?.length ?? 0;
    const bytes = keyBytes + (value?.length ?? 0);
    if (this.#used + bytes > this.#open.length) {
      const doubledBytes = Math.min(this.#open.length * 2, MAX_CHUNK_BYTES);
      this.#open = Buffer.allocUnsafeSlow(Math.max(bytes, FIRST_CHUNK_BYTES, doubledBytes));
      this.#used = 0;
    }
    if (key !== null) this.#open.set(key, this.#used);
    if (value !== null) this.#open.set(value, this.#used + keyBytes);
    this.#offsets.push(offset);
    this.#timestampsMs.push(timestampMs);
    this.#headers.push(headers);
    this.#chunks.push(this.#open);
    this.#starts.push(this.#used);
    this.#keyLengths.push(key?.length ?? NULL_LENGTH);
    this.#valueLengths.push(value?.length ?? NULL_LENGTH);
    this.#used += bytes;
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

  /** The records at `indices`, over the same bytes. */
  pick(indices: readonly number[]): RecordColumns {
    const picked = new RecordColumns();
    for (const i of indices) {
      picked.#offsets.push(at(this.#offsets, i));
      picked.#timestampsMs.push(at(this.#timestampsMs, i));
      picked.#headers.push(at(this.#headers, i));
      picked.#chunks.push(at(this.#chunks, i));
      picked.#starts.push(at(this.#starts, i));
      picked.#keyLengths.push(at(this.#keyLengths, i));
      picked.#valueLengths.push(at(this.#valueLengths, i));
      picked.#held += this.#heldBytes(i);
    }
    return picked;
  }

  #heldBytes(i: number): number {
    const bytes = Math.max(at(this.#keyLengths, i), 0) + Math.max(at(this.#valueLengths, i), 0);
    return bytes + bytesOf(this.headers(i)) + RECORD_OVERHEAD_BYTES;
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
