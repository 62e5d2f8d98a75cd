import { formatRecordId } from '@tailrace/events';
import type { Coordinates } from '@tailrace/kafka-kit';
import { writeAliasOf } from './index-names.ts';

/**
 * The head of a bulk's items of one index and partition: the `index` action through the index's write alias under the record's id,
 * and the beginning of the document with the record's coordinates, its last member not closed. Heads differ only in their numbers,
 * so one is kept as bytes and the numbers are put in.
 */
export class ItemHead {
  readonly #index: string;
  readonly #origin: Coordinates;
  readonly #bytes: Buffer;
  readonly #idOffsetAt: number;
  readonly #offsetAt: number;
  readonly #offsetDigits: number;
  readonly #timeAt: number;
  #timeMs: number;

  constructor(index: string, origin: Coordinates) {
    // Topic names, index names and ids are plain ASCII without anything that JSON escapes.
    const action = `{"index":{"_index":"${writeAliasOf(index)}","_id":"${formatRecordId(origin)}"}}\n`;
    const place = `{"topic":"${origin.topic}","incarnation":"${origin.incarnation}","partition":${origin.partition},"offset":`;
    const offset = String(origin.offset);
    const time = ',"kafka_timestamp":';
    this.#index = index;
    this.#origin = origin;
    this.#bytes = Buffer.from(`${action}${place}${offset}${time}${origin.timestampMs}`, 'latin1');
    this.#idOffsetAt = action.length - '"}}\n'.length - offset.length;
    this.#offsetAt = action.length + place.length;
    this.#offsetDigits = offset.length;
    this.#timeAt = this.#offsetAt + offset.length + time.length;
    this.#timeMs = origin.timestampMs;
  }

  /** The head of this record, good until the next call; undefined where it takes another head. */
  of(index: string, origin: Coordinates): Buffer | undefined {
    const own = this.#origin;
    if (index !== this.#index || origin.partition !== own.partition || origin.incarnation !== own.incarnation || origin.topic !== own.topic)
      return undefined;
    const offset = String(origin.offset);
    if (offset.length !== this.#offsetDigits) return undefined;
    // Records of one broker batch bear one time, and a number of that size is dear to print.
    if (origin.timestampMs !== this.#timeMs) {
      const time = String(origin.timestampMs);
      if (this.#timeAt + time.length !== this.#bytes.length) return undefined;
      this.#put(this.#timeAt, time);
      this.#timeMs = origin.timestampMs;
    }
    this.#put(this.#idOffsetAt, offset);
    this.#put(this.#offsetAt, offset);
    return this.#bytes;
  }

  #put(at: number, digits: string): void {
    for (let i = 0; i < digits.length; i++) this.#bytes[at + i] = digits.charCodeAt(i);
  }
}
