import type { Coordinates } from '@tailrace/kafka-kit';
import { ByteWriter } from './byte-writer.ts';
import type { BadValue, CANARY } from './document.ts';
import { ItemHead } from './item-head.ts';

const LF = 0x0a;

/** What action and coordinates of a record take, roughly: the writer grows when it is more. */
export const ITEM_EXTRA_BYTES = 320;

/** Why a value is no document: something is wrong with it, or it is not meant to be one. */
export type NoDocument = BadValue | typeof CANARY;

/** Appends a value as members of a document that has some already, and ends it: `,"member":...}`. Says why when it is none. */
export type WriteMembers = (value: Buffer | null, out: ByteWriter) => NoDocument | undefined;

/**
 * The ready body of a bulk. Each item is an `index` action under the record's id, and the record's coordinates in front of the
 * document's other members. Items are numbered in the order in which they were added.
 */
export class BulkBody {
  readonly #out: ByteWriter;
  readonly #records: number[] = [];
  readonly #indices: string[] = [];
  readonly #ends: number[] = [];
  #head: ItemHead | undefined;

  constructor(capacityBytes: number) {
    this.#out = new ByteWriter(capacityBytes);
  }

  get length(): number {
    return this.#records.length;
  }

  /** The bytes of the items `[from, to)`. */
  bytes(from: number, to: number): Buffer {
    return this.#out.bytes.subarray(this.end(from - 1), this.end(to - 1));
  }

  /** Where an item ends; 0 for the one before the first. */
  end(item: number): number {
    return this.#ends[item] ?? 0;
  }

  /** The record's place in its batch. */
  record(item: number): number {
    return this.#records[item] ?? -1;
  }

  index(item: number): string {
    return this.#indices[item] ?? '';
  }

  /** Forgets its items and keeps its memory: fresh memory costs more than what is written into it. */
  clear(): void {
    this.#out.rewind(0);
    this.#records.length = 0;
    this.#indices.length = 0;
    this.#ends.length = 0;
  }

  /** The indices that are written to. */
  distinctIndices(): Set<string> {
    const distinct = new Set<string>();
    let last = '';
    for (const index of this.#indices) {
      // Items come in runs of one index.
      if (index !== last) distinct.add(index);
      last = index;
    }
    return distinct;
  }

  /** Adds an item whose members are appended by `writeMembers`, unless these say that the value is no document. */
  add(record: number, index: string, origin: Coordinates, value: Buffer | null, writeMembers: WriteMembers): NoDocument | undefined {
    const start = this.#out.length;
    let no: NoDocument | undefined;
    try {
      this.#writeHead(index, origin);
      no = writeMembers(value, this.#out);
    } catch (fault) {
      // Half an item would spoil all that come behind it.
      this.#out.rewind(start);
      this.#head = undefined;
      throw fault;
    }
    if (no !== undefined) {
      this.#out.rewind(start);
      return no;
    }
    this.#out.byte(LF);
    this.#records.push(record);
    this.#indices.push(index);
    this.#ends.push(this.#out.length);
    return undefined;
  }

  #writeHead(index: string, origin: Coordinates): void {
    const bytes = this.#head?.of(index, origin);
    if (bytes !== undefined) {
      this.#out.copy(bytes);
      return;
    }
    this.#head = new ItemHead(index, origin);
    this.#out.copy(this.#head.of(index, origin) ?? Buffer.alloc(0));
  }
}
