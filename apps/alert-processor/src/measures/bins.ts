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

/** Where bins are added up, so that many lists cost no more than to read them. All 0 between the calls. */
const sums = new Float64Array(8192);

/** The bins of all. In any order and grouping the same: a bin that is once among the highest is put below them only by higher ones. */
export function mergeBins(lists: readonly Bins[]): Bins {
  const some = lists.filter((bins) => bins.length > 0);
  const [first] = some;
  if (first === undefined) return [];
  if (some.length === 1) return first;
  const low = Math.min(...some.map((bins) => bins[0] ?? 0));
  const span = Math.max(...some.map((bins) => bins.at(-2) ?? 0)) - low + 1;
  return capped(span <= sums.length ? addedUp(some, low, span) : gathered(some));
}

function addedUp(lists: readonly Bins[], low: number, span: number): number[] {
  for (const bins of lists)
    for (let i = 0; i < bins.length; i += 2) {
      const at = (bins[i] ?? 0) - low;
      sums[at] = (sums[at] ?? 0) + (bins[i + 1] ?? 0);
    }
  const merged: number[] = [];
  for (let at = 0; at < span; at++) {
    const count = sums[at] ?? 0;
    if (count > 0) merged.push(low + at, count);
  }
  sums.fill(0, 0, span);
  return merged;
}

/** Numbers that are far apart: more than a factor of 10^70. */
function gathered(lists: readonly Bins[]): number[] {
  const counts = new Map<number, number>();
  for (const bins of lists)
    for (let i = 0; i < bins.length; i += 2) {
      const bin = bins[i] ?? 0;
      counts.set(bin, (counts.get(bin) ?? 0) + (bins[i + 1] ?? 0));
    }
  return [...counts].sort(([a], [b]) => a - b).flat();
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
