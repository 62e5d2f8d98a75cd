import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DuckDBTypeId } from '@duckdb/node-api';
import { parquetColumns } from '@tailrace/events';
import { recordColumns } from './columns.ts';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { dataPrefix, type LakeLayout, parseDataKey } from './object-names.ts';
import { type ListedObject, type ObjectStore, StoreError } from './object-store.ts';
import { restoredValueSql } from './parquet-reader.ts';

export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const FETCHES_AT_ONCE = 4;

/** The data objects of a lake. A listing may also show uploads that still go on, under longer names: those are no data. */
export async function listDataObjects(store: ObjectStore, lake: LakeLayout): Promise<readonly ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(dataPrefix(lake))) if (parseDataKey(lake, object.key) !== undefined) objects.push(object);
  return objects;
}

/** Copies objects below `folder` under their keys, so that `dt=` and `hour=` stay folders. Returns the files' paths. */
export async function fetchObjects(store: ObjectStore, objects: readonly ListedObject[], folder: string): Promise<readonly string[]> {
  const waiting = [...objects];
  const worker = async (): Promise<void> => {
    for (let object = waiting.shift(); object !== undefined; object = waiting.shift()) {
      const body = await store.get(object.key);
      if (body === undefined) throw new StoreError(`${store.name} lists ${object.key}, and then has no such object.`);
      const path = join(folder, object.key);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, body);
    }
  };
  await Promise.all(Array.from({ length: FETCHES_AT_ONCE }, worker));
  return objects.map(({ key }) => join(folder, key));
}

/** The view `events`: a file's columns, the day `dt` and `hour` of arrival, and in `value` always the original bytes. */
function eventsViewSql(files: readonly string[]): string {
  if (files.length > 0)
    return `SELECT * REPLACE (${restoredValueSql(parquetColumns)} AS value) FROM read_parquet([${files.map(sqlText).join(', ')}], union_by_name = true, hive_partitioning = true, hive_types_autocast = false)`;
  const columns = [...parquetColumns, ...recordColumns].map(({ name, duckdbType }) => `NULL::${duckdbType} AS ${sqlName(name)}`);
  return `SELECT ${columns.join(', ')}, NULL::VARCHAR AS dt, NULL::VARCHAR AS hour WHERE false`;
}

const WIDE_NUMBERS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UHUGEINT,
]);

/** 64-bit numbers come as text; those that JavaScript holds exactly become numbers. */
function narrowed(value: unknown): unknown {
  return typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Runs one SQL statement over lake files on disk, as the view `events`. Throws what DuckDB says about the statement. */
export async function queryFiles(database: Database, files: readonly string[], sql: string): Promise<QueryResult> {
  return await database.use(async (connection) => {
    await connection.run(`CREATE TEMP VIEW events AS ${eventsViewSql(files)}`);
    const reader = await connection.runAndReadAll(sql);
    const columns = reader.deduplicatedColumnNames();
    const wide = columns.map((_, i) => WIDE_NUMBERS.has(reader.columnTypeId(i)));
    const rows = reader
      .getRowsJson()
      .map((row) => Object.fromEntries(columns.map((name, i) => [name, wide[i] === true ? narrowed(row[i]) : row[i]])));
    return { columns, rows };
  });
}
