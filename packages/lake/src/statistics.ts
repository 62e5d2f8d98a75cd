import type { AsyncBuffer, ColumnMetaData, SchemaElement, Statistics } from 'hyparquet';
import { parquetMetadataAsync } from 'hyparquet';
import { type Database, sqlName, sqlText } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';

/** A bound in the form in which it is compared: bytes as readers order them, or a number. */
export type Bound = Uint8Array | bigint | number;

/** What a footer says of one column in one row group. What it does not say is undefined, and no fault: then no reader skips by it. */
interface Said {
  readonly nulls: bigint | undefined;
  /** `exact`: it says that a row has this very value, and readers may answer `min` and `max` by it. */
  readonly bounds: readonly { readonly name: 'least' | 'greatest'; readonly value: Bound; readonly exact: boolean }[];
}

export interface Column {
  readonly name: string;
  /** SQL that turns a value of the column into a bound. */
  readonly toBound: (value: string) => string;
  /** A bound as the file holds it, and as its Bloom filter knows it. */
  readonly toBytes: (bound: Bound) => Uint8Array;
}

export interface RowGroup {
  readonly rows: number;
  readonly said: readonly Said[];
  /** Where the Bloom filter of each column is, where it has one. */
  readonly filters: readonly ({ readonly first: number; readonly next: number } | undefined)[];
}

/** What a footer says of its columns, by row group. */
export interface FooterStatistics {
  readonly columns: readonly Column[];
  readonly groups: readonly RowGroup[];
}

const bytesOf = {
  text: (bound: Bound) => bound as Uint8Array,
  int32: (bound: Bound) => new Uint8Array(Int32Array.of(Number(bound)).buffer),
  int64: (bound: Bound) => new Uint8Array(BigInt64Array.of(BigInt(bound as bigint)).buffer),
  double: (bound: Bound) => new Uint8Array(Float64Array.of(Number(bound)).buffer),
};

/** What DuckDB calls the types of our columns in Parquet, each with how its values are compared and stored. */
const CONVERSIONS: Readonly<Record<string, Pick<Column, 'toBound' | 'toBytes'>>> = {
  'BYTE_ARRAY ': { toBound: (value) => value, toBytes: bytesOf.text },
  'BYTE_ARRAY UTF8': { toBound: (value) => `encode(${value}::VARCHAR)`, toBytes: bytesOf.text },
  'BYTE_ARRAY JSON': { toBound: (value) => `encode(${value}::VARCHAR)`, toBytes: bytesOf.text },
  'INT32 INT_32': { toBound: (value) => value, toBytes: bytesOf.int32 },
  'INT64 INT_64': { toBound: (value) => value, toBytes: bytesOf.int64 },
  'INT64 TIMESTAMP_MICROS': { toBound: (value) => `epoch_us(${value})`, toBytes: bytesOf.int64 },
  'DOUBLE ': { toBound: (value) => value, toBytes: bytesOf.double },
};

/**
 * Holds the statistics in the footer of the file at `path` against its rows: by a wrong one readers skip row groups that have what they look for.
 * `file` is its name in messages. A bound may be wider than the rows where it does not call itself exact. Throws FileDamage with column and row
 * group.
 */
export async function checkStatistics(
  database: Database,
  file: string,
  path: string,
  { columns, groups }: FooterStatistics,
): Promise<void> {
  const real = await realStatistics(database, path, columns, groups);
  for (const [g, { rows, said }] of groups.entries()) {
    const [count = 0n, ...found] = real.get(g) ?? [];
    if (count !== BigInt(rows)) throw new FileDamage(file, `row group ${g} has ${count} rows, and its footer says ${rows}`);
    for (const [c, { name }] of columns.entries()) {
      const [values, least, greatest] = found.slice(3 * c, 3 * c + 3);
      const fault = contradiction(said[c], {
        nulls: (count as bigint) - (values as bigint),
        least: boundOf(least),
        greatest: boundOf(greatest),
      });
      if (fault !== undefined)
        throw new FileDamage(file, `the statistics of column ${name} in row group ${g} are not those of its rows: ${fault}`);
    }
  }
}

interface Real {
  readonly nulls: bigint;
  /** Undefined where all is NULL. */
  readonly least: Bound | undefined;
  readonly greatest: Bound | undefined;
}

function contradiction(said: Said | undefined, real: Real): string | undefined {
  if (said === undefined) return undefined;
  if (said.nulls !== undefined && said.nulls !== real.nulls) return `its footer counts ${said.nulls} NULLs, and there are ${real.nulls}`;
  for (const { name, value, exact } of said.bounds) {
    const found = real[name];
    if (found === undefined) continue;
    const order = compare(value, found);
    const excludes = name === 'least' ? order > 0 : order < 0;
    if (excludes) return `the ${name} value in its footer leaves one of them out`;
    if (exact && order !== 0) return `the ${name} value in its footer is none of them, and called exact`;
  }
  return undefined;
}

/** Below 0 where `a` comes first. Two kinds, or no number, are not equal and in no order: told as too small. */
function compare(a: Bound, b: Bound): number {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a === b) return 0;
  return a > b ? 1 : -1;
}

/** What a footer says, by the reader that shares no code with the writer, with bounds as they are stored. */
export async function readStatistics(file: string, buffer: AsyncBuffer): Promise<FooterStatistics> {
  const parsers = { stringFromBytes: (bytes: Uint8Array) => bytes, timestampFromMicroseconds: (micros: bigint) => micros };
  const { schema, row_groups } = await parquetMetadataAsync(buffer, { parsers });
  const leaves = schema.filter(({ type }) => type !== undefined);
  const columns = leaves.map((element) => ({ name: element.name, ...conversionOf(file, element) }));
  const groups = row_groups.map(({ num_rows, columns: chunks }) => ({
    rows: Number(num_rows),
    said: leaves.map((_, c) => saidBy(chunks[c]?.meta_data?.statistics)),
    filters: leaves.map((_, c) => filterAt(chunks[c]?.meta_data)),
  }));
  return { columns, groups };
}

function conversionOf(file: string, { name, type, converted_type }: SchemaElement): Pick<Column, 'toBound' | 'toBytes'> {
  const found = CONVERSIONS[`${type} ${converted_type ?? ''}`];
  if (found === undefined)
    throw new FileDamage(file, `its column ${name} has a type that this release does not know (${type} ${converted_type})`);
  return found;
}

function filterAt(chunk: ColumnMetaData | undefined): RowGroup['filters'][number] {
  const { bloom_filter_offset: offset, bloom_filter_length: length } = chunk ?? {};
  return offset === undefined || length === undefined ? undefined : { first: Number(offset), next: Number(offset) + length };
}

/** Both of the pairs that a footer may have: readers differ in which one they take. */
function saidBy(statistics: Statistics | undefined): Said {
  const { null_count: nulls, min, max, min_value, max_value, is_min_value_exact, is_max_value_exact } = statistics ?? {};
  const bound = (name: 'least' | 'greatest', value: unknown, exact: boolean | undefined): Said['bounds'] =>
    value === undefined ? [] : [{ name, value: value as Bound, exact: exact === true }];
  return {
    nulls,
    bounds: [
      ...bound('least', min_value, is_min_value_exact),
      ...bound('greatest', max_value, is_max_value_exact),
      ...bound('least', min, false),
      ...bound('greatest', max, false),
    ],
  };
}

/** Of each row group its rows, and of each column how many are not NULL, the least and the greatest. */
async function realStatistics(
  database: Database,
  path: string,
  columns: readonly Column[],
  groups: readonly RowGroup[],
): Promise<ReadonlyMap<number, readonly unknown[]>> {
  const measures = columns.flatMap(({ name, toBound }) => {
    const column = sqlName(name);
    return [`count(${column})`, toBound(`min(${column})`), toBound(`max(${column})`)];
  });
  return await database.use(async (connection) => {
    // The optimizer believes the very statistics that are in question: it takes count(x) for count(*) where they know no NULL.
    await connection.run('PRAGMA disable_optimizer');
    const reader = await connection.runAndReadAll(`SELECT place, count(*), ${measures.join(', ')}
      FROM ${placedRowsSql(path, groups)}
      GROUP BY place`);
    return new Map(reader.getRowsJS().map(([place, ...row]) => [Number(place), row]));
  });
}

function boundOf(value: unknown): Bound | undefined {
  return value === null ? undefined : (value as Bound);
}

/** The rows of a file with their row group as `place`. */
export function placedRowsSql(path: string, groups: readonly RowGroup[]): string {
  const ends: number[] = [];
  for (const { rows } of groups) ends.push((ends.at(-1) ?? 0) + rows);
  const places = ends.map((end, g) => `WHEN file_row_number < ${end} THEN ${g}`);
  return `(SELECT *, CASE ${places.join(' ')} ELSE ${groups.length} END AS place
        FROM read_parquet(${sqlText(path)}, hive_partitioning = false, file_row_number = true))`;
}
