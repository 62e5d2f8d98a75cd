import { formatRecordId } from '@tailrace/events';
import type { Coordinates } from '@tailrace/kafka-kit';
import { ByteWriter } from './byte-writer.ts';
import type { BadValue } from './document.ts';

/** What action and coordinates of a record take, roughly: the writer grows when it is more. */
export const ITEM_EXTRA_BYTES = 320;

/** Appends a value as members of a document that has some already, and ends it: `,"member":...}`. Says what is wrong when it can not be one. */
export type WriteMembers = (value: Buffer | null, out: ByteWriter) => BadValue | undefined;

/** The head that was written last, to be written again with other numbers. */
interface Head {
  readonly index: string;
  readonly origin: Coordinates;
  readonly start: number;
  readonly end: number;
  /** Where its numbers stand, behind `start`. */
  readonly idOffsetAt: number;
  readonly offsetAt: number;
  readonly timeAt: number;
  readonly offsetDigits: number;
  readonly timeDigits: number;
}

/**
 * The ready body of a bulk. Each item is an `index` action under the record's id, and the record's coordinates in front of the
 * document's other members. Items are numbered in the order in which they were added.
 */
export class BulkBody {
  readonly #out: ByteWriter;
  readonly #records: number[] = [];
  readonly #indices: string[] = [];
  readonly #ends: number[] = [];
  #head: Head | undefined;

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

  /** Adds an item whose members are appended by `writeMembers`, unless these say that the value can not be a document. */
  add(record: number, index: string, origin: Coordinates, value: Buffer | null, writeMembers: WriteMembers): BadValue | undefined {
    const start = this.#out.length;
    this.#writeHead(index, origin);
    const bad = writeMembers(value, this.#out);
    if (bad !== undefined) {
      this.#out.rewind(start);
      if (this.#head !== undefined && this.#head.end > start) this.#head = undefined;
      return bad;
    }
    this.#out.endLine();
    this.#records.push(record);
    this.#indices.push(index);
    this.#ends.push(this.#out.length);
    return undefined;
  }

  /** Heads of one partition and day differ only in their numbers: the last one is copied, and the numbers are put in. */
  #writeHead(index: string, origin: Coordinates): void {
    const head = this.#head;
    const offsetText = String(origin.offset);
    const timeText = String(origin.timestampMs);
    if (
      head === undefined ||
      head.index !== index ||
      head.offsetDigits !== offsetText.length ||
      head.timeDigits !== timeText.length ||
      head.origin.partition !== origin.partition ||
      head.origin.incarnation !== origin.incarnation ||
      head.origin.topic !== origin.topic
    ) {
      this.#head = this.#writeNewHead(index, origin, offsetText, timeText);
      return;
    }
    const start = this.#out.length;
    this.#out.repeat(head.start, head.end);
    this.#out.overwrite(start + head.idOffsetAt, offsetText);
    this.#out.overwrite(start + head.offsetAt, offsetText);
    if (origin.timestampMs !== head.origin.timestampMs) this.#out.overwrite(start + head.timeAt, timeText);
  }

  #writeNewHead(index: string, origin: Coordinates, offsetText: string, timeText: string): Head {
    const start = this.#out.length;
    // Topic names, index names and ids are plain ASCII without anything that JSON escapes.
    const action = `{"index":{"_index":"${index}","_id":"${formatRecordId(origin)}"}}\n`;
    const place = `{"topic":"${origin.topic}","incarnation":"${origin.incarnation}","partition":${origin.partition},"offset":`;
    const text = `${action}${place}${offsetText},"kafka_timestamp":${timeText}`;
    this.#out.ascii(text);
    return {
      index,
      origin,
      start,
      end: this.#out.length,
      idOffsetAt: action.length - '"}}\n'.length - offsetText.length,
      offsetAt: action.length + place.length,
      timeAt: text.length - timeText.length,
      offsetDigits: offsetText.length,
      timeDigits: timeText.length,
    };
  }
}
