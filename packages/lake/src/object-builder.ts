import { readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { checksumText } from '@tailrace/kafka-kit/digest';
import { asyncBufferFromFile } from 'hyparquet';
import type { MakeObject } from './claims.ts';
import type { Database } from './duckdb.ts';
import { readFooter, verifyFooter } from './footer.ts';
import type { DataEntry } from './ledger-entry.ts';
import { dataKey, type LakeLayout } from './object-names.ts';
import { behindHoles, offsetsIn, within } from './ranges.ts';
import type { ChainId, OffsetRange } from './records.ts';
import { RowFile } from './row-file.ts';
import { type RowSlice, sliceTotals } from './row-file-sql.ts';
import type { RowTotals } from './row-totals.ts';
import { type InParts, writeWholeOrInParts } from './write-in-parts.ts';

/** A Parquet file on disk that a second reader has checked. */
export interface BuiltObject {
  readonly path: string;
  readonly sizeBytes: number;
  readonly totals: RowTotals;
  /** Where the rows could not be written at once. */
  readonly inParts?: InParts;
}

/** A row file or a part of it; the part's totals are counted where they are not the file's own. `voids` are the offsets inside without a row. */
export type Rows = Omit<RowSlice, 'file'> & { readonly file: RowFile; readonly voids: readonly OffsetRange[] };

async function totalsOf(database: Database, { file, first, next, voids }: Rows): Promise<RowTotals> {
  const whole = file.totals;
  const isWhole = whole !== undefined && whole.firstOffset >= first && whole.lastOffset < next;
  const totals = isWhole ? whole : await sliceTotals(database, { file, first, next });
  if (totals === undefined) throw new RangeError(`${file.path} has no rows from ${first} to ${next - 1}`);
  const empty = offsetsIn(within(voids, { first: totals.firstOffset, next }));
  if (totals.lastOffset !== next - 1 || totals.rows !== next - totals.firstOffset - empty)
    throw new RangeError(
      `${file.path} has ${totals.rows} rows from ${totals.firstOffset} to ${totals.lastOffset}: they do not fill the range to ${next - 1}`,
    );
  return totals;
}

/** Writes the rows as a Parquet file at `path` and has a second reader check its footer. The rows must fill the range up to its end. */
export async function buildObject(database: Database, chain: ChainId, rows: Rows, path: string): Promise<BuiltObject> {
  const totals = await totalsOf(database, rows);
  const inParts = await writeWholeOrInParts(database, chain, rows, totals, path);
  verifyFooter(path, await readFooter(path, await asyncBufferFromFile(path)), totals);
  return { path, sizeBytes: (await stat(path)).size, totals, ...(inParts === undefined ? {} : { inParts }) };
}

/** The claim for an object that was built from `[first, next)`, of which `voids` hold no row. */
export function dataEntry(
  lake: LakeLayout,
  chain: ChainId,
  range: OffsetRange & { readonly voids: readonly OffsetRange[] },
  totals: RowTotals,
  attempt: string,
): DataEntry {
  return {
    kind: 'data',
    first: range.first,
    next: range.next,
    attempt,
    object: dataKey(lake, chain, range.first, totals.minTimestampMs),
    rows: totals.rows,
    minTimestampMs: totals.minTimestampMs,
    maxTimestampMs: totals.maxTimestampMs,
    voids: range.voids,
    checksum: checksumText(totals.checksum),
  };
}

/** Makes a claim's object from what the log still holds of it, in files of its own in `folder`. */
export function objectMaker(database: Database, folder: string): MakeObject {
  return async (chain, entry, range) => {
    const name = join(folder, `repair-${entry.attempt}-${process.hrtime.bigint()}`);
    const file = await RowFile.create(`${name}.rows`);
    try {
      for await (const records of range.records) await file.append(records);
      await file.close();
      const built = await buildObject(
        database,
        chain,
        { file, first: entry.first, next: entry.next, voids: entry.voids },
        `${name}.parquet`,
      );
      if (built.totals.firstOffset !== behindHoles(range.from, entry.voids))
        throw new RangeError(`the log delivered ${built.totals.firstOffset} first, and ${range.from} was its start`);
      const body = await readFile(built.path);
      await unlink(built.path);
      return { body, checksum: checksumText(built.totals.checksum) };
    } finally {
      await file.delete();
    }
  };
}
