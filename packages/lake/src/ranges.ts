import type { OffsetRange } from './records.ts';

/** How many offsets they hold together. */
export function offsetsIn(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { first, next }) => sum + next - first, 0);
}

/** The parts of the ranges that lie within `bounds`. */
export function within(ranges: readonly OffsetRange[], bounds: OffsetRange): OffsetRange[] {
  return ranges
    .map(({ first, next }) => ({ first: Math.max(first, bounds.first), next: Math.min(next, bounds.next) }))
    .filter(({ first, next }) => first < next);
}

/** What is left of `range` without the holes, which are in order and apart from each other. */
export function without(range: OffsetRange, holes: readonly OffsetRange[]): OffsetRange[] {
  const left: OffsetRange[] = [];
  let at = range.first;
  for (const hole of within(holes, range)) {
    if (hole.first > at) left.push({ first: at, next: hole.first });
    at = hole.next;
  }
  if (at < range.next) left.push({ first: at, next: range.next });
  return left;
}

/** The first offset at or above `at` that lies in no hole. */
export function behindHoles(at: number, holes: readonly OffsetRange[]): number {
  let offset = at;
  for (const hole of holes) if (hole.first <= offset && offset < hole.next) offset = hole.next;
  return offset;
}
