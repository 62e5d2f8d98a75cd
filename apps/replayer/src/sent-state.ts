import { type Coordinates, decodeSideRecord, type HistoryRecord, type RawRecord, type SentPosition } from '@tailrace/kafka-kit';
import { checksumText, DigestSum, replayDigest } from '@tailrace/kafka-kit/digest';

/** The header that says by which plan a record was sent: its `planMark`. */
export const PLAN_NOTE = 'replay.plan';
/** The header that lets the consumer keep what it makes of the record for so many days. */
export const KEEP_NOTE = 'replay.keep_days';

/** What was sent of one partition, up to one moment. */
export type SentSoFar = Pick<SentPosition, 'through' | 'records' | 'bytes' | 'checksum'>;

export const NOTHING_SENT: SentSoFar = { through: -1, records: 0, bytes: 0, checksum: checksumText(0n) };

/** Counts what is sent of one partition, each origin offset once: they come in ascending order, and again only after an interruption. */
export class SentCount {
  #through: number;
  #records: number;
  #bytes: number;
  readonly #sum: DigestSum;

  constructor({ through, records, bytes, checksum }: SentSoFar) {
    this.#through = through;
    this.#records = records;
    this.#bytes = bytes;
    this.#sum = new DigestSum(BigInt(`0x${checksum}`));
  }

  get through(): number {
    return this.#through;
  }

  get now(): SentSoFar {
    return { through: this.#through, records: this.#records, bytes: this.#bytes, checksum: checksumText(this.#sum.value) };
  }

  /** Counts a record by its origin's offset, key and value; false where that was counted before. */
  add({ offset, key, value }: Pick<HistoryRecord, 'offset' | 'key' | 'value'>): boolean {
    if (offset <= this.#through) return false;
    this.#through = offset;
    this.#records += 1;
    this.#bytes += (key?.length ?? 0) + (value?.length ?? 0);
    this.#sum.add(replayDigest(offset, key, value));
    return true;
  }
}

/** The record as it was at its origin, if the plan with that mark sent it; undefined for all others on a side channel. */
export function sentBy(mark: string, record: RawRecord): (Pick<HistoryRecord, 'key' | 'value'> & Coordinates) | undefined {
  const side = decodeSideRecord(record);
  if (side === undefined) return undefined;
  const note = side.notes.find(([name]) => name === PLAN_NOTE)?.[1]?.toString();
  return note === mark ? { ...side.origin, key: side.key, value: side.value } : undefined;
}
