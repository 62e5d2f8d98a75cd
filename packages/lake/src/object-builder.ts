import { readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile } from 'hyparquet';
import type { MakeObject } from './claims.ts';
import type { Database } from './duckdb.ts';
import { readFooter, verifyFooter } from './footer.ts';
import type { DataEntry } from './ledger-entry.ts';
import { dataKey, type LakeLayout } from './object-names.ts';
import { checksumText } from './record-digest.ts';
import { type ChainId, chainText, type OffsetRange } from './records.ts';
import { RowFile } from './row-file.ts';
import { type RowSlice, sliceTotals } from './row-file-sql.ts';
import type { RowTotals } from './row-totals.ts';
import { type InParts, writeWholeOrInParts } from './write-in-parts.ts';

/** A claim has offsets that never held a record: a later release made it, and has to make its object. */
export class VoidsNotBuilt extends Error {
  constructor(chain: ChainId, { first, next }: OffsetRange) {
    super(
      `The object for offsets ${first} to ${next - 1} of ${chainText(chain)} is missing, and its claim names voids: this release can not make it, so the partition stands still until a newer archiver does.`,
    );
    this.name = 'VoidsNotBuilt';
  }
}

/** A Parquet file on disk that a second reader has checked. */
export interface BuiltObject {
  readonly path: string;
  readonly sizeBytes: number;
  readonly totals: RowTotals;
  /** Where the rows could not be written at once. */
  readonly inParts?: InParts;
}

/** A row file or a part of it; the part's totals are counted where they are not the file's own. */
export type Rows = Omit<RowSlice, 'file'> & { readonly file: RowFile };

async function totalsOf(database: Database, { file, first, next }: Rows): Promise<RowTotals> {
  const whole = file.totals;
  const isWhole = whole !== undefined && whole.firstOffset >= first && whole.lastOffset < next;
  const totals = isWhole ? whole : await sliceTotals(database, { file, first, next });
  if (totals === undefined) throw new RangeError(`${file.path} has no rows from ${first} to ${next - 1}`);
  if (totals.lastOffset !== next - 1 || totals.rows !== next - totals.firstOffset)
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

/** The claim for an object that was built from `[first, next)`. */
export function dataEntry(lake: LakeLayout, chain: ChainId, range: OffsetRange, totals: RowTotals, attempt: string): DataEntry {
  return {
    kind: 'data',
    first: range.first,
    next: range.next,
    attempt,
    object: dataKey(lake, chain, range.first, totals.minTimestampMs),
    rows: totals.rows,
    minTimestampMs: totals.minTimestampMs,
    maxTimestampMs: totals.maxTimestampMs,
    voids: [],
    checksum: checksumText(totals.checksum),
  };
}

/** Makes a claim's object from what the log still holds of it, in files of its own in `folder`. */
export function objectMaker(database: Database, folder: string): MakeObject {
  return async (chain, entry, range) => {
    if (entry.voids.length > 0) throw new VoidsNotBuilt(chain, entry);
    const name = join(folder, `repair-${entry.attempt}-${process.hrtime.bigint()}`);
    const file = await RowFile.create(`${name}.rows`);
    try {
      for await (const records of range.records) await file.append(records);
      await file.close();
      const built = await buildObject(database, chain, { file, first: entry.first, next: entry.next }, `${name}.parquet`);
      if (built.totals.firstOffset !== range.from)
        throw new RangeError(`the log delivered ${built.totals.firstOffset} first, and ${range.from} was its start`);
      const body = await readFile(built.path);
      await unlink(built.path);
      return { body, checksum: checksumText(built.totals.checksum) };
    } finally {
      await file.delete();
    }
  };
}
