import { parquetColumns } from '@tailrace/events';
import { checksumText } from '@tailrace/kafka-kit/digest';
import { type FileColumn, fieldIds, recordColumns } from './columns.ts';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { DESCRIPTION_KEY, FILE_VERSION, type FileDescription } from './footer.ts';
import { REBUILD_VERSION, rebuildSql } from './rebuild.ts';
import type { ChainId } from './records.ts';
import { type RowSlice, rowsSql } from './row-file-sql.ts';
import type { RowTotals } from './row-totals.ts';
import { typedColumnsCtes } from './typed-columns.ts';

const MAX_ROW_GROUP_ROWS = 61_440;
const MIN_ROW_GROUP_ROWS = 16;
/** The part of the memory limit that the text of one row group's rows may take: its columns are held several times over until it is written. */
const ROW_GROUP_SHARE = 1 / 16;
const FILE_COLUMNS: readonly FileColumn[] = parquetColumns.map(({ name, kind }) => ({ name, kind }));

/** How many rows make a row group: fewer where they are large, by the densest stretch of the file, so that memory follows bytes and not rows. */
function rowGroupRows(database: Database, { densest }: RowSlice['file']): number {
  const rows = Math.floor((database.memoryLimitBytes * ROW_GROUP_SHARE * densest.rows) / densest.bytes);
  return Math.max(MIN_ROW_GROUP_ROWS, Math.min(MAX_ROW_GROUP_ROWS, rows));
}

type RecordColumn = (typeof recordColumns)[number]['name'];
type RecordSql = Readonly<Record<RecordColumn, string>>;

/** How each record column is made from the rows of a slice, where nothing is known of the value but its bytes. */
function untypedRecordSql({ topic, incarnation, partition }: ChainId): RecordSql {
  return {
    topic: sqlText(topic),
    incarnation: sqlText(incarnation),
    partition: String(partition),
    offset: 'row_offset',
    kafka_timestamp: 'make_timestamp_ms(timestamp_ms)',
    key: 'key_bytes',
    headers: 'headers',
    shape: 'NULL',
    value_state: `CASE WHEN value_bytes IS NULL THEN 'null' ELSE 'kept' END`,
    value: 'value_bytes',
  };
}

/** The same behind the steps to typed columns: where the rebuild gives back the text, the value is left out. */
function typedRecordSql(chain: ChainId): RecordSql {
  return {
    ...untypedRecordSql(chain),
    shape: `CASE WHEN again = text THEN shape END`,
    value_state: `CASE WHEN value_bytes IS NULL THEN 'null' WHEN again = text THEN 'rebuilt' ELSE 'kept' END`,
    value: 'CASE WHEN again = text THEN NULL ELSE value_bytes END',
  };
}

function columnsSql(typed: (column: string) => string, record: RecordSql): string {
  const events = parquetColumns.map(({ name, duckdbType }) => `${typed(sqlName(name))}::${duckdbType} AS ${sqlName(name)}`);
  const records = recordColumns.map(({ name, duckdbType }) => `(${record[name]})::${duckdbType} AS ${sqlName(name)}`);
  return [...events, ...records].join(',\n  ');
}

function sourceSql(slice: RowSlice): string {
  return `source AS (SELECT row_offset, timestamp_ms, readable, mended, headers, value, coalesce(encode(key), from_base64(key64)) AS key_bytes, coalesce(encode(value), from_base64(value64)) AS value_bytes FROM ${rowsSql(slice)})`;
}

/** The one expression from rows to columns. Every row is rebuilt while it is written, and `value` is left out only where that gives back its bytes. */
function typedSql(chain: ChainId, slice: RowSlice): string {
  return `WITH ${sourceSql(slice)},
${typedColumnsCtes()},
shaped AS (SELECT *, array_to_string(json_names, ',') AS shape FROM typed),
checked AS (SELECT *, ${rebuildSql(FILE_COLUMNS)} AS again FROM shaped)
SELECT ${columnsSql((name) => name, typedRecordSql(chain))} FROM checked`;
}

/** Rows with their bytes only: no value is looked into. */
function untypedSql(chain: ChainId, slice: RowSlice): string {
  return `WITH ${sourceSql(slice)} SELECT ${columnsSql(() => 'NULL', untypedRecordSql(chain))} FROM source`;
}

/** The rows of lake files, one file behind the other. */
function joinedSql(paths: readonly string[]): string {
  const record = Object.fromEntries(recordColumns.map(({ name }) => [name, sqlName(name)])) as RecordSql;
  return `SELECT ${columnsSql((name) => name, record)} FROM read_parquet([${paths.map(sqlText).join(', ')}], hive_partitioning = false)`;
}

/** Where the rows of a file come from: looked into for typed columns, taken as bytes only, or taken from files made before. */
export type ParquetSource =
  | { readonly kind: 'typed' }
  | { readonly kind: 'untyped' }
  | { readonly kind: 'parts'; readonly paths: readonly string[] };

function sourceRowsSql(source: ParquetSource, chain: ChainId, slice: RowSlice): string {
  switch (source.kind) {
    case 'typed':
      return typedSql(chain, slice);
    case 'untyped':
      return untypedSql(chain, slice);
    case 'parts':
      return joinedSql(source.paths);
  }
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
  source: ParquetSource = { kind: 'typed' },
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
    // Small chunks are not gathered into full ones: 2,048 rows of 250 KB would be half a gigabyte, many times over.
    await connection.run('SET enable_caching_operators = false');
    await connection.run(`COPY (${sourceRowsSql(source, chain, slice)}) TO ${sqlText(path)} (FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd,
      ROW_GROUP_SIZE ${rowGroupRows(database, slice.file)}, FIELD_IDS {${ids.join(', ')}}, KV_METADATA {${DESCRIPTION_KEY}: ${sqlText(JSON.stringify(description))}})`);
  });
  return { path, description };
}
