import { parquetColumns } from '@tailrace/events';
import { type FileColumn, fieldIds, recordColumns } from './columns.ts';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { DESCRIPTION_KEY, FILE_VERSION, type FileDescription } from './footer.ts';
import { REBUILD_VERSION, rebuildSql } from './rebuild.ts';
import { checksumText } from './record-digest.ts';
import type { ChainId } from './records.ts';
import { type RowSlice, rowsSql } from './row-file-sql.ts';
import type { RowTotals } from './row-totals.ts';
import { typedColumnsCtes } from './typed-columns.ts';

const ROW_GROUP_ROWS = 61_440;
const FILE_COLUMNS: readonly FileColumn[] = parquetColumns.map(({ name, kind }) => ({ name, kind }));

/** How each record column is made from the steps before it. */
const RECORD_SQL: Readonly<Record<(typeof recordColumns)[number]['name'], (chain: ChainId) => string>> = {
  topic: ({ topic }) => sqlText(topic),
  incarnation: ({ incarnation }) => sqlText(incarnation),
  partition: ({ partition }) => String(partition),
  offset: () => 'row_offset',
  kafka_timestamp: () => 'make_timestamp_ms(timestamp_ms)',
  key: () => 'key_bytes',
  headers: () => 'headers',
  shape: () => `CASE WHEN again = text THEN shape END`,
  value_state: () => `CASE WHEN value_bytes IS NULL THEN 'null' WHEN again = text THEN 'rebuilt' ELSE 'kept' END`,
  value: () => 'CASE WHEN again = text THEN NULL ELSE value_bytes END',
};

/** The one expression from rows to columns. Every row is rebuilt while it is written, and `value` is left out only where that gives back its bytes. */
function rowsToColumnsSql(chain: ChainId, slice: RowSlice): string {
  const typed = parquetColumns.map(({ name, duckdbType }) => `${sqlName(name)}::${duckdbType} AS ${sqlName(name)}`);
  const record = recordColumns.map(({ name, duckdbType }) => `(${RECORD_SQL[name](chain)})::${duckdbType} AS ${sqlName(name)}`);
  return `WITH source AS (SELECT row_offset, timestamp_ms, readable, mended, headers, from_base64(key) AS key_bytes, from_base64(value) AS value_bytes FROM ${rowsSql(slice)}),
${typedColumnsCtes()},
shaped AS (SELECT *, array_to_string(json_names, ',') AS shape FROM typed),
checked AS (SELECT *, ${rebuildSql(FILE_COLUMNS)} AS again FROM shaped)
SELECT ${[...typed, ...record].join(',\n  ')} FROM checked`;
}

export interface ParquetFile {
  readonly path: string;
  readonly description: FileDescription;
}

/**
 * Writes the rows of a slice, in the order of their offsets, as one Parquet file. `totals` are the slice's. The rows may hold
 * anything: what is no event has NULL in the typed columns and its bytes in `value`.
 */
export async function writeParquet(
  database: Database,
  chain: ChainId,
  slice: RowSlice,
  totals: RowTotals,
  path: string,
): Promise<ParquetFile> {
  const description: FileDescription = {
    version: FILE_VERSION,
    rebuild: REBUILD_VERSION,
    columns: FILE_COLUMNS,
    topic: chain.topic,
    incarnation: chain.incarnation,
    partition: chain.partition,
    first: slice.first,
    next: slice.next,
    from: totals.firstOffset,
    rows: totals.rows,
    minTimestampMs: totals.minTimestampMs,
    maxTimestampMs: totals.maxTimestampMs,
    checksum: checksumText(totals.checksum),
  };
  const ids = fieldIds().map(({ name, fieldId }) => `${sqlName(name)}: ${fieldId}`);
  await database.use(async (connection) => {
    await connection.run(`COPY (${rowsToColumnsSql(chain, slice)}) TO ${sqlText(path)} (FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd,
      ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, FIELD_IDS {${ids.join(', ')}}, KV_METADATA {${DESCRIPTION_KEY}: ${sqlText(JSON.stringify(description))}})`);
  });
  return { path, description };
}
