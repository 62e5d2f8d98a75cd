/** Two neighbouring buckets differ by this factor: so far off a quantile may be. */
const FACTOR = 1.01;
const LOG_FACTOR = Math.log(FACTOR);

/**
 * Quantiles of what was seen lately, in bounded memory and within 1 %: counts by logarithmic buckets, in two halves of which the older is
 * dropped whenever the newer has lasted `halfMs`. So it looks back between one and two times that long.
 */
export class SlidingQuantile {
  readonly #halfMs: number;
  #older = new Map<number, number>();
  #newer = new Map<number, number>();
  #newerSinceMs: number | undefined;

  constructor(halfMs: number) {
    this.#halfMs = halfMs;
  }

  /** `valueMs` below 1 counts as 1. */
  add(valueMs: number, nowMs: number): void {
    this.#turn(nowMs);
    const bucket = Math.ceil(Math.log(Math.max(valueMs, 1)) / LOG_FACTOR);
    this.#newer.set(bucket, (this.#newer.get(bucket) ?? 0) + 1);
  }

  /** The least value that is not below a share `q` of all; undefined where there is none. */
  quantile(q: number, nowMs: number): number | undefined {
    this.#turn(nowMs);
    const counts = new Map(this.#older);
    for (const [bucket, count] of this.#newer) counts.set(bucket, (counts.get(bucket) ?? 0) + count);
    let left = q * [...counts.values()].reduce((sum, count) => sum + count, 0);
    for (const [bucket, count] of [...counts].sort(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return FACTOR ** bucket;
    }
    return undefined;
  }

  #turn(nowMs: number): void {
    this.#newerSinceMs ??= nowMs;
    const agedMs = nowMs - this.#newerSinceMs;
    if (agedMs < this.#halfMs) return;
    this.#older = agedMs < 2 * this.#halfMs ? this.#newer : new Map();
    this.#newer = new Map();
    this.#newerSinceMs = nowMs;
  }
}
