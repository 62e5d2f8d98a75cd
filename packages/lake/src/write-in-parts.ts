import { rm } from 'node:fs/promises';
import type { Database } from './duckdb.ts';
import { writeParquet } from './parquet-writer.ts';
import type { ChainId } from './records.ts';
import { type RowSlice, sliceTotals } from './row-file-sql.ts';
import type { RowTotals } from './row-totals.ts';

/** How a file came about whose rows could not be written at once. */
export interface InParts {
  readonly parts: number;
  /** Offsets of rows that could not be looked into: their typed columns are NULL, and `value` holds their bytes. */
  readonly untyped: readonly number[];
  /** Why the first attempt failed. */
  readonly cause: Error;
}

interface Part {
  readonly path: string;
  readonly untyped: readonly number[];
}

/** Whether the disk failed, and not what was to be written: the same rows may well be written at another time. */
export function isOfTheMoment(fault: Error): boolean {
  return 'code' in fault || /^(IO|HTTP|Interrupt) Error/i.test(fault.message);
}

/**
 * Writes the rows of a slice as one Parquet file at `path`. What the writer can not take at once (its memory is bounded, and nobody knows
 * every value that makes it stumble) is written in halves, down to a single row, which is then written without being looked into: no
 * record may hold up those behind it for good. The parts stand beside `path` until they are joined. Returns undefined where one attempt
 * was enough. Throws faults of the moment, to be tried again by the caller; the rows must fill the slice from `totals.firstOffset` on.
 */
export async function writeWholeOrInParts(
  database: Database,
  chain: ChainId,
  slice: RowSlice,
  totals: RowTotals,
  path: string,
): Promise<InParts | undefined> {
  const cause = await attempt(() => writeParquet(database, chain, slice, totals, path));
  if (cause === undefined) return undefined;
  const written: Part[] = [];
  try {
    await writeParts(database, chain, { ...slice, first: totals.firstOffset }, totals, path, written);
    await writeParquet(database, chain, slice, totals, path, { kind: 'parts', paths: written.map((part) => part.path) });
    return { parts: written.length, untyped: written.flatMap(({ untyped }) => untyped), cause };
  } finally {
    for (const part of written) await rm(part.path, { force: true });
  }
}

/** Writes rows that can not be written at once: a single one without being looked into, more of them in halves, each at once where that goes. */
async function writeParts(
  database: Database,
  chain: ChainId,
  slice: RowSlice,
  totals: RowTotals,
  path: string,
  written: Part[],
): Promise<void> {
  if (totals.rows === 1) {
    const only = partPath(path, slice);
    await writeParquet(database, chain, slice, totals, only, { kind: 'untyped' });
    written.push({ path: only, untyped: [totals.firstOffset] });
    return;
  }
  const middle = slice.first + Math.ceil((slice.next - slice.first) / 2);
  for (const half of [
    { ...slice, next: middle },
    { ...slice, first: middle },
  ]) {
    const own = await sliceTotals(database, half);
    if (own === undefined) continue;
    const at = partPath(path, half);
    if ((await attempt(() => writeParquet(database, chain, half, own, at))) === undefined) written.push({ path: at, untyped: [] });
    else await writeParts(database, chain, half, own, path, written);
  }
}

function partPath(path: string, { first }: RowSlice): string {
  return `${path}.${first}.part`;
}

/** What of the data made the work fail, or undefined; a fault of the moment is thrown. */
async function attempt(work: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error));
    if (isOfTheMoment(fault)) throw fault;
    return fault;
  }
}
