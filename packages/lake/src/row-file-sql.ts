import { type Database, sqlText } from './duckdb.ts';
import type { RowFile } from './row-file.ts';
import { NULL_TEXT } from './row-text.ts';
import type { RowTotals } from './row-totals.ts';

/** A part of a row file: rows with offsets in `[first, next)`. */
export interface RowSlice {
  readonly file: Pick<RowFile, 'path' | 'longestLine' | 'densest'>;
  readonly first: number;
  readonly next: number;
}

/** A chunk of rows never reaches over the end of a buffer, so this bounds what the steps behind it hold at a time. */
const MIN_BUFFER_BYTES = 2 ** 21;
const LINE_SLACK_BYTES = 1024;

/**
 * The table function that reads a slice, in the order of the file: row_offset, timestamp_ms, digest in hexadecimal digits, readable
 * (whether the value may be looked into), mended (what to look into where that is not the value itself, in base64), headers as JSON, and
 * key and value, each as text of one line or else in base64 (`key64`, `value64`); both are NULL where it is null.
 * Quoting is off: no field can hold a tab or a line feed.
 */
export function rowsSql({ file, first, next }: RowSlice): string {
  const buffer = Math.max(MIN_BUFFER_BYTES, file.longestLine + LINE_SLACK_BYTES);
  return `(SELECT * FROM read_csv(${sqlText(file.path)}, auto_detect = false, header = false, delim = '\t', quote = '', escape = '',
  comment = '', new_line = '\\n', nullstr = ${sqlText(NULL_TEXT)}, max_line_size = ${buffer}, buffer_size = ${buffer * 2},
  columns = {row_offset: 'BIGINT', timestamp_ms: 'BIGINT', digest: 'VARCHAR', readable: 'BOOLEAN', mended: 'VARCHAR', key: 'VARCHAR', key64: 'VARCHAR', headers: 'VARCHAR', value: 'VARCHAR', value64: 'VARCHAR'})
  WHERE row_offset >= ${first} AND row_offset < ${next})`;
}

/** Counts a slice anew: what a row file's own totals are for all of it. Undefined when the slice is empty. */
export async function sliceTotals(database: Database, slice: RowSlice): Promise<RowTotals | undefined> {
  return await database.use(async (connection) => {
    const reader = await connection.runAndReadAll(`SELECT count(*), min(row_offset), max(row_offset), min(timestamp_ms), max(timestamp_ms),
      (sum(('0x' || digest)::UBIGINT) % 18446744073709551616)::VARCHAR FROM ${rowsSql(slice)}`);
    const [rows, firstOffset, lastOffset, minTimestampMs, maxTimestampMs, checksum] = reader.getRowsJS()[0] ?? [];
    if (rows === 0n) return undefined;
    return {
      rows: Number(rows),
      firstOffset: Number(firstOffset),
      lastOffset: Number(lastOffset),
      minTimestampMs: Number(minTimestampMs),
      maxTimestampMs: Number(maxTimestampMs),
      checksum: BigInt(String(checksum)),
    };
  });
}
