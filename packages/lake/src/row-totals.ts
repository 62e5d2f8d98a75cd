import { DigestSum } from '@tailrace/kafka-kit/digest';
import type { LakeRecord } from './records.ts';

/** What a run of rows holds. Times are broker ms; the checksum is the sum of the rows' digests. */
export interface RowTotals {
  readonly rows: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly minTimestampMs: number;
  readonly maxTimestampMs: number;
  readonly checksum: bigint;
}

/** Totals that grow row by row, from nothing or from where earlier rows left them. */
export class RunningTotals {
  #rows: number;
  #firstOffset: number;
  #lastOffset: number;
  #minTimestampMs: number;
  #maxTimestampMs: number;
  readonly #checksum: DigestSum;

  constructor(from: RowTotals | undefined) {
    this.#rows = from?.rows ?? 0;
    this.#firstOffset = from?.firstOffset ?? -1;
    this.#lastOffset = from?.lastOffset ?? -1;
    this.#minTimestampMs = from?.minTimestampMs ?? Number.POSITIVE_INFINITY;
    this.#maxTimestampMs = from?.maxTimestampMs ?? Number.NEGATIVE_INFINITY;
    this.#checksum = new DigestSum(from?.checksum);
  }

  add({ offset, timestampMs }: LakeRecord, digest: string): void {
    if (this.#rows === 0) this.#firstOffset = offset;
    this.#rows += 1;
    this.#lastOffset = offset;
    if (timestampMs < this.#minTimestampMs) this.#minTimestampMs = timestampMs;
    if (timestampMs > this.#maxTimestampMs) this.#maxTimestampMs = timestampMs;
    this.#checksum.add(digest);
  }

  /** Undefined before the first row. */
  get totals(): RowTotals | undefined {
    if (this.#rows === 0) return undefined;
    return {
      rows: this.#rows,
      firstOffset: this.#firstOffset,
      lastOffset: this.#lastOffset,
      minTimestampMs: this.#minTimestampMs,
      maxTimestampMs: this.#maxTimestampMs,
      checksum: this.#checksum.value,
    };
  }
}
