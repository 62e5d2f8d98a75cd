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
    if (totals.rows > 1) {
      await writeHalves(database, chain, { ...slice, first: totals.firstOffset }, path, written);
      await writeParquet(database, chain, slice, totals, path, { kind: 'parts', paths: written.map((part) => part.path) });
      return { parts: written.length, untyped: written.flatMap(({ untyped }) => untyped), cause };
    }
    await writeParquet(database, chain, slice, totals, path, { kind: 'untyped' });
    return { parts: 1, untyped: [totals.firstOffset], cause };
  } finally {
    for (const part of written) await rm(part.path, { force: true });
  }
}

async function writeHalves(database: Database, chain: ChainId, slice: RowSlice, path: string, written: Part[]): Promise<void> {
  const middle = slice.first + Math.ceil((slice.next - slice.first) / 2);
  for (const half of [
    { ...slice, next: middle },
    { ...slice, first: middle },
  ])
    await writePart(database, chain, half, path, written);
}

async function writePart(database: Database, chain: ChainId, slice: RowSlice, path: string, written: Part[]): Promise<void> {
  const totals = await sliceTotals(database, slice);
  if (totals === undefined) return;
  const partPath = `${path}.${slice.first}.part`;
  const fault = await attempt(() => writeParquet(database, chain, slice, totals, partPath));
  if (fault === undefined) {
    written.push({ path: partPath, untyped: [] });
    return;
  }
  if (totals.rows > 1) return await writeHalves(database, chain, slice, path, written);
  await writeParquet(database, chain, slice, totals, partPath, { kind: 'untyped' });
  written.push({ path: partPath, untyped: [totals.firstOffset] });
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
