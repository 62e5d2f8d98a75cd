import type { Batch, CloseReason } from '../consume/contract.ts';
import type { Coordinates, Headers } from '../records.ts';

export type BatchSource = Batch['source'];

interface Part {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
}

/** What released memory is filled with: no UTF-8, no JSON, no Parquet. */
const GARBAGE = 0xee;
const START_MS = Date.now();

/**
 * A batch as a native fetch will give it: keys, values and headers are views of one buffer that is used again. So what a sink looks at
 * after `release()`, or behind the end of its `write`, is garbage.
 */
export class SharedBufferBatch implements Batch {
  readonly source: BatchSource;
  readonly length: number;
  readonly bytes: number;
  readonly closedBy: CloseReason = 'records';
  readonly #first: number;
  readonly #buffer: Buffer;
  readonly #parts: readonly Part[];
  released = false;

  constructor(source: BatchSource, first: number, records: readonly Part[]) {
    this.source = source;
    this.#first = first;
    this.length = records.length;
    const pieces = records.flatMap(({ key, value, headers }) => [key, value, ...headers.map(([, bytes]) => bytes)]);
    this.bytes = pieces.reduce((sum, piece) => sum + (piece?.length ?? 0), 0);
    this.#buffer = Buffer.concat(pieces.flatMap((piece) => piece ?? []));
    let at = 0;
    const view = (piece: Buffer | null): Buffer | null => {
      if (piece === null) return null;
      at += piece.length;
      return this.#buffer.subarray(at - piece.length, at);
    };
    this.#parts = records.map(({ key, value, headers }) => ({
      key: view(key),
      value: view(value),
      headers: headers.map(([name, bytes]) => [name, view(bytes)] as const),
    }));
  }

  offset(i: number): number {
    if (i < 0 || i >= this.length) throw new RangeError(`record ${i} of a batch of ${this.length}`);
    return this.#first + i;
  }

  timestampMs(i: number): number {
    this.#part(i);
    return START_MS + this.offset(i);
  }

  key(i: number): Buffer | null {
    return this.#part(i).key;
  }

  value(i: number): Buffer | null {
    return this.#part(i).value;
  }

  headers(i: number): Headers {
    return this.#part(i).headers;
  }

  origin(i: number): Coordinates {
    const { topic, incarnation, partition } = this.source;
    return { topic, incarnation, partition, offset: this.offset(i), timestampMs: this.timestampMs(i) };
  }

  notes(i: number): Headers {
    this.#part(i);
    return [];
  }

  release(): void {
    this.released = true;
    this.overwrite();
  }

  /** The memory goes to the next batch. */
  overwrite(): void {
    this.#buffer.fill(GARBAGE);
  }

  #part(i: number): Part {
    const part = this.#parts[i];
    if (this.released || part === undefined) throw new Error(`record ${i} of a batch of ${this.length} is not there (any more)`);
    return part;
  }
}
