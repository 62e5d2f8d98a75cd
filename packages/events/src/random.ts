/** A stream of numbers that depends only on its seed. Not for secrets. */
export interface SeededRandom {
  /** Uniform in [0, 1). */
  next(): number;
  /** Normal with mean 0 and deviation 1 (Box and Muller). */
  normal(): number;
  /** `bytes` random bytes as hex digits. */
  hex(bytes: number): string;
}

/** The generator mulberry32 (T. Ettinger): 32 bits of state, enough for samples. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    // 1 - next() is never 0, whose logarithm would be infinite.
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    hex: (bytes) =>
      Array.from({ length: bytes }, () =>
        Math.floor(next() * 256)
          .toString(16)
          .padStart(2, '0'),
      ).join(''),
  };
}

/** Turns a uniform number in [0, 1) into a rank from 0 to `count` - 1, where rank r comes up in proportion to 1 / (r + 1)^exponent. */
export function zipf(count: number, exponent: number): (uniform: number) => number {
  const cumulative = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank++) {
    sum += 1 / (rank + 1) ** exponent;
    cumulative[rank] = sum;
  }
  return (uniform) => {
    const wanted = uniform * sum;
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((cumulative[middle] ?? sum) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
