/**
 * The bins of a quantile sketch with relative accuracy: bin i holds the numbers in (gamma^(i-1), gamma^i], and all of them are taken for one that is at
 * most RELATIVE_ACCURACY off (DDSketch: C. Masson, J. E. Rim, H. K. Lee, VLDB 2019). Why not the library: docs/decisions/0023.
 */
import type { Bins } from './partial.ts';

export const RELATIVE_ACCURACY = 0.01;
const GAMMA = (1 + RELATIVE_ACCURACY) / (1 - RELATIVE_ACCURACY);
const LOG_GAMMA = Math.log(GAMMA);

/** The highest bins that are kept: a factor of 10^17 from the largest number down. What is below them is counted in the lowest of them. */
export const MAX_BINS = 2048;

/** The bin of a number above 0. */
export function binOf(value: number): number {
  return Math.ceil(Math.log(value) / LOG_GAMMA);
}

/** The number that a bin's numbers are taken for. */
export function numberOf(bin: number): number {
  // Of the largest numbers there are, this power alone would be Infinity.
  return Math.min(Number.MAX_VALUE, (2 / (GAMMA + 1)) * GAMMA ** bin);
}

/** Counts one more number in a bin. `bins` keep their order, so that to tell what they hold is to copy them: that is done at every tick. */
export function addToBin(bins: number[], bin: number): void {
  let from = 0;
  let to = bins.length;
  while (from < to) {
    const middle = ((from + to) >> 2) << 1;
    if ((bins[middle] ?? 0) < bin) from = middle + 2;
    else to = middle;
  }
  if (bins[from] === bin) bins[from + 1] = (bins[from + 1] ?? 0) + 1;
  else {
    bins.splice(from, 0, bin, 1);
    if (bins.length > 2 * MAX_BINS) {
      bins[3] = (bins[1] ?? 0) + (bins[3] ?? 0);
      bins.splice(0, 2);
    }
  }
}

/** The bins of both. In any order and grouping the same: a bin that is once among the highest is put below them only by higher ones. */
export function mergeBins(a: Bins, b: Bins): Bins {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const merged: number[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const left = a[i] ?? Number.POSITIVE_INFINITY;
    const right = b[j] ?? Number.POSITIVE_INFINITY;
    merged.push(Math.min(left, right), (left <= right ? (a[i + 1] ?? 0) : 0) + (right <= left ? (b[j + 1] ?? 0) : 0));
    if (left <= right) i += 2;
    if (right <= left) j += 2;
  }
  return capped(merged);
}

export function countOf(bins: Bins): number {
  let count = 0;
  for (let i = 1; i < bins.length; i += 2) count += bins[i] ?? 0;
  return count;
}

/** The value of the number at `rank` (from 0) among the bins' numbers, the smallest first. */
export function valueAtRank(bins: Bins, rank: number): number {
  let seen = 0;
  for (let i = 0; i < bins.length; i += 2) {
    seen += bins[i + 1] ?? 0;
    if (seen > rank) return numberOf(bins[i] ?? 0);
  }
  return numberOf(bins.at(-2) ?? 0);
}

function capped(bins: number[]): Bins {
  const surplus = bins.length / 2 - MAX_BINS;
  if (surplus <= 0) return bins;
  const below = countOf(bins.slice(0, 2 * surplus));
  const kept = bins.slice(2 * surplus);
  kept[1] = (kept[1] ?? 0) + below;
  return kept;
}
