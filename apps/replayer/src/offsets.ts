import { bothTimes, type Missing, type OffsetRange } from '@tailrace/lake';

/** A range in words: `offset 7`, `offsets 7 to 9`. */
export function offsets({ first, next }: OffsetRange): string {
  return next - first === 1 ? `offset ${first}` : `offsets ${first} to ${next - 1}`;
}

export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}

/** How many offsets the ranges hold together. */
export function total(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { first, next }) => sum + next - first, 0);
}

/** What each kind of missing offsets is called. */
export const WORDS: Readonly<Record<Missing['kind'], string>> = {
  hole: 'HOLE: neither the lake nor Kafka holds',
  lost: 'LOST, as declared:',
  'before-archive': 'gone before the archive began:',
};

/** What is missing, with what is known of when it was. */
export function missingLine({ kind, afterMs, beforeMs, ...range }: Missing): string {
  const after = afterMs === null ? '' : ` after ${bothTimes(afterMs)}`;
  const before = beforeMs === null ? '' : ` before ${bothTimes(beforeMs)}`;
  const when = after !== '' && before !== '' ? `${after} and${before}` : `${after}${before}`;
  return `${WORDS[kind]} ${offsets(range)}${when === '' ? '' : `, which arrived${when}`}`;
}
