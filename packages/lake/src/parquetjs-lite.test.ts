/**
 * The record of docs/decisions/0006 as a test: why parquetjs-lite neither writes nor checks the lake's files. Each test asserts a FAULT
 * of version 0.8.7. One that fails says that this fault is mended: then look at the decision again, and at what else has changed.
 */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parquetMetadata, readColumnIndex, readOffsetIndex } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { inFolder, rowsOf } from './testing/index.ts';

type Row = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, { readonly type: string }>>;

/** What is used here of a package that comes without types. */
interface ParquetJs {
  readonly ParquetSchema: new (fields: Fields) => unknown;
  readonly ParquetWriter: {
    openFile(schema: unknown, path: string, options?: object): Promise<{ appendRow(row: Row): Promise<void>; close(): Promise<void> }>;
  };
  readonly ParquetReader: {
    openFile(path: string): Promise<{ getCursor(): { next(): Promise<Row | null> }; close(): Promise<void> }>;
  };
}

const parquetjs: ParquetJs = createRequire(import.meta.url)('parquetjs-lite');
const MENDED = 'this fault of parquetjs-lite is mended: look at docs/decisions/0006 again';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

async function write(folder: string, fields: Fields, rows: readonly Row[], options: object = {}): Promise<string> {
  const path = join(folder, 'rows.parquet');
  const writer = await parquetjs.ParquetWriter.openFile(new parquetjs.ParquetSchema(fields), path, options);
  for (const row of rows) await writer.appendRow(row);
  await writer.close();
  return path;
}

async function read(path: string): Promise<readonly Row[]> {
  const reader = await parquetjs.ParquetReader.openFile(path);
  const rows: Row[] = [];
  const cursor = reader.getCursor();
  for (let row = await cursor.next(); row !== null; row = await cursor.next()) rows.push(row);
  await reader.close();
  return rows;
}

/** A file that DuckDB writes from a query. */
async function duckdbFile(folder: string, query: string, options: string): Promise<string> {
  const path = join(folder, 'duckdb.parquet');
  await database.use((connection) => connection.run(`COPY (${query}) TO '${path}' (FORMAT parquet, ${options})`));
  return path;
}

async function countWhere(path: string, condition: string): Promise<unknown> {
  const [row] = await rowsOf(database, `SELECT count(*)::INT AS n FROM read_parquet('${path}') WHERE ${condition}`);
  return row?.n;
}

/** What an operation throws, as text: this package throws strings as well as errors. */
async function faultOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
  throw new Error(MENDED);
}

describe('as a writer', () => {
  it('writes minima and maxima of strings in the wrong order, so that a query finds nothing', () =>
    inFolder(async (folder) => {
      // In UTF-16, in which it compares, the emoji comes before the fullwidth tilde; in UTF-8, which the format asks for, behind it.
      const path = await write(folder, { text: { type: 'UTF8' } }, [{ text: '😀' }, { text: '～' }]);
      expect(await countWhere(path, `text = '😀'`), MENDED).toBe(0);
      expect(await countWhere(path, `text || '' = '😀'`), 'the value is there when the statistics are not used').toBe(1);
    }));

  it('takes the first JSON value for minimum and maximum, so that a query for another one finds nothing', () =>
    inFolder(async (folder) => {
      const path = await write(folder, { json: { type: 'JSON' } }, [{ json: { a: 1 } }, { json: { a: 2 } }]);
      expect(await countWhere(path, `json = '{"a":2}'`), MENDED).toBe(0);
      expect(await countWhere(path, `json || '' = '{"a":2}'`), 'the value is there when the statistics are not used').toBe(1);
    }));

  it('rounds 64-bit integers', () =>
    inFolder(async (folder) => {
      const path = await write(folder, { n: { type: 'INT64' } }, [{ n: 9007199254740993n }]);
      expect(await rowsOf(database, `SELECT n::VARCHAR AS n FROM '${path}'`), MENDED).toEqual([{ n: '9007199254740992' }]);
    }));

  it.each([
    ['the largest 64-bit integer', 'INT64', 1n, 2n ** 63n - 1n, /out of range/],
    ['a fraction', 'INT64', 1, 1.5, /not an integer/],
    ['an invalid time', 'TIMESTAMP_MILLIS', new Date(0), new Date(Number.NaN), /not an integer/],
  ])('takes %s, throws when it is closed, and loses every row that waits with it', (_, type, good, bad, message) =>
    inFolder(async (folder) => {
      expect(
        await faultOf(() => write(folder, { n: { type } }, [...Array.from({ length: 100 }, () => ({ n: good })), { n: bad }])),
      ).toMatch(message);
      // It does not wait for the first letters before it throws.
      const size = async () => (await stat(join(folder, 'rows.parquet'))).size;
      await expect.poll(size, { message: 'nothing but the four letters that begin a file', timeout: 10_000 }).toBe(4);
    }),
  );

  it('writes a page index in which every page begins at row 0', () =>
    inFolder(async (folder) => {
      const rows = Array.from({ length: 20_000 }, (_, n) => ({ n }));
      const path = await write(folder, { n: { type: 'INT32' } }, rows, { pageIndex: true, rowGroupSize: rows.length });
      const bytes = new Uint8Array(await readFile(path)).buffer;
      const metadata = parquetMetadata(bytes);
      const column = metadata.row_groups[0]?.columns[0];
      const at = (offset: bigint | undefined, length: number | undefined) => ({
        view: new DataView(bytes, Number(offset), Number(length)),
        offset: 0,
      });
      const { page_locations: pages } = readOffsetIndex(at(column?.offset_index_offset, column?.offset_index_length));
      expect(
        pages.map(({ first_row_index }) => Number(first_row_index)),
        MENDED,
      ).toEqual([0, 0, 0]);
      const schema = metadata.schema[1] ?? { name: 'n' };
      const index = readColumnIndex(at(column?.column_index_offset, column?.column_index_length), schema);
      expect({ null_pages: index.null_pages, boundary_order: index.boundary_order }, MENDED).toEqual({
        null_pages: undefined,
        boundary_order: undefined,
      });
    }));
});

describe('as a reader', () => {
  it('can not open a file with a TIMESTAMP_MILLIS column, not even its own', () =>
    inFolder(async (folder) => {
      const path = await write(folder, { time: { type: 'TIMESTAMP_MILLIS' } }, [{ time: new Date(0) }]);
      expect(await rowsOf(database, `SELECT epoch_ms(time)::INT AS ms FROM '${path}'`), 'the file is sound').toEqual([{ ms: 0 }]);
      expect(await faultOf(() => read(path))).toMatch(/BigInt/);
    }));

  it.each([
    ['zstd', 'COMPRESSION zstd', /compression method: ZSTD/],
    ['format version 2', `COMPRESSION snappy, PARQUET_VERSION 'V2'`, /invalid parquet version/],
  ])('refuses %s', (_, options, message) =>
    inFolder(async (folder) => {
      const path = await duckdbFile(folder, 'SELECT i FROM range(1000) AS t(i)', options);
      expect(await faultOf(() => read(path))).toMatch(message);
    }),
  );

  it('refuses RLE_DICTIONARY, the name that the format has had for its dictionaries since 2.0', () =>
    inFolder(async (folder) => {
      const query = `SELECT 'k' || (i % 3) AS text FROM range(1000) AS t(i)`;
      const path = await duckdbFile(folder, query, `COMPRESSION snappy, PARQUET_VERSION 'V2'`);
      await lowerVersion(path);
      expect(await countWhere(path, `text = 'k1'`), 'the file is sound').toBe(333);
      expect(await faultOf(() => read(path))).toMatch(/invalid encoding: RLE_DICTIONARY/);
    }));

  it('reads wrong values without an error where a dictionary has more than 256 entries', () =>
    inFolder(async (folder) => {
      // Runs of 20: a dictionary index is then written as a repeated run of two bytes, of which it takes the sum.
      const query = `SELECT 'k' || lpad(((i // 20) % 700)::VARCHAR, 4, '0') AS text FROM range(20000) AS t(i)`;
      const path = await duckdbFile(folder, query, `COMPRESSION snappy, PARQUET_VERSION 'V1'`);
      const right = await rowsOf(database, `SELECT text FROM '${path}'`);
      const got = await read(path);
      expect(got).toHaveLength(right.length);
      const row = 256 * 20;
      expect([right[row]?.text, got[row]?.text], MENDED).toEqual(['k0256', 'k0001']);
    }));

  it('reads numbers of a dictionary as text', () =>
    inFolder(async (folder) => {
      const query = 'SELECT (i % 3)::INT AS n FROM range(1000) AS t(i)';
      const path = await duckdbFile(folder, query, `COMPRESSION snappy, PARQUET_VERSION 'V1'`);
      expect((await read(path))[1]?.n, MENDED).toBe('1');
    }));
});

/** Sets the version in the footer, its first field, from 2 to 1 and leaves everything else, so that a reader looks at the encodings. */
async function lowerVersion(path: string): Promise<void> {
  const bytes = await readFile(path);
  const footer = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8);
  expect([bytes[footer], bytes[footer + 1]]).toEqual([0x15, 0x04]);
  bytes[footer + 1] = 0x02;
  await writeFile(path, bytes);
}
