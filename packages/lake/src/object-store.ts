import type { AsyncBuffer } from 'hyparquet';
import { FileDamage, GONE } from './file-damage.ts';

/** One object of a listing. */
export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/**
 * An object store that is strongly consistent and has a put-if-absent. A read throws `FileDamage` where what it got of an object is not
 * what was put there; every method throws `StoreError` for any other fault than the ones its result names; whether a put that threw was carried out is then unknown.
 */
export interface ObjectStore {
  /** How people name it, for messages: `s3://bucket`. */
  readonly name: string;
  /**
   * The only write. `exists`: there is an object, and it was not touched. It may be this very body: an answer that was lost on
   * its way makes the second attempt meet the first, so callers compare what is there with what they wrote.
   */
  putIfAbsent(key: string, body: Buffer): Promise<'created' | 'exists'>;
  /** Undefined only when the bucket is there and the object is not. */
  get(key: string): Promise<Buffer | undefined>;
  /** The bytes `[start, end)`. */
  getRange(key: string, start: number, end: number): Promise<Buffer | undefined>;
  sizeBytes(key: string): Promise<number | undefined>;
  /** Keys under `prefix` in the order of their bytes, behind `startAfter`. */
  list(prefix: string, options?: { readonly startAfter?: string }): AsyncIterable<ListedObject>;
  /** Only for scratch objects: the lake itself is never deleted from here. */
  delete(key: string): Promise<void>;
}

/** The store did not do what was asked. `reason` is one sentence for people. */
export class StoreError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.name = 'StoreError';
  }
}

/** A stored object as the ranged reads of a Parquet reader. */
export function storeBuffer(store: ObjectStore, key: string, sizeBytes: number): AsyncBuffer {
  return {
    byteLength: sizeBytes,
    slice: async (start, end = sizeBytes) => {
      const bytes = await store.getRange(key, start < 0 ? sizeBytes + start : start, end);
      if (bytes === undefined) throw new FileDamage(key, GONE);
      return new Uint8Array(bytes).buffer;
    },
  };
}
