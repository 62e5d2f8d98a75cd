import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../duckdb.ts';
import { type Footer, readFooter } from '../footer.ts';
import { readParquet } from '../parquet-reader.ts';
import { type ParquetFile, writeParquet } from '../parquet-writer.ts';
import type { ChainId, LakeRecord } from '../records.ts';
import { RowFile } from '../row-file.ts';

export const CHAIN: ChainId = { topic: 'service-events', incarnation: 'aB-_9xYz', partition: 3 };

/** Runs `work` in a folder of its own, which is removed afterwards. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-lake-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A record with a value and little else. */
export function recordAt(offset: number, value: Buffer | string | null, more: Partial<LakeRecord> = {}): LakeRecord {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  return { offset, timestampMs: 1_767_323_045_123 + offset, key: null, value: bytes, headers: [], ...more };
}

export interface WrittenFile extends ParquetFile {
  readonly rowFile: RowFile;
  readonly footer: Footer;
}

/** Footer of a file on disk. */
export async function footerOf(path: string): Promise<Footer> {
  const body = await readFile(path);
  return await readFooter(path, {
    byteLength: body.length,
    slice: (start, end = body.length) => new Uint8Array(body.subarray(start, end)).buffer,
  });
}

/** Writes records through a row file into `folder`. */
export async function writeRecords(
  database: Database,
  folder: string,
  records: readonly LakeRecord[],
  name = 'file',
): Promise<WrittenFile> {
  const rowFile = await RowFile.create(join(folder, `${name}.rows`));
  await rowFile.append(records);
  await rowFile.close();
  const { totals } = rowFile;
  if (totals === undefined) throw new Error('a lake file has at least one row');
  const slice = { file: rowFile, first: totals.firstOffset, next: totals.lastOffset + 1 };
  const file = await writeParquet(database, CHAIN, slice, totals, join(folder, `${name}.parquet`));
  return { ...file, rowFile, footer: await footerOf(file.path) };
}

export async function readRecords(database: Database, file: ParquetFile): Promise<readonly LakeRecord[]> {
  const all: LakeRecord[] = [];
  for await (const batch of readParquet(database, file.path, file.description)) all.push(...batch);
  return all;
}

/** The rows of a query, as JSON values. */
export async function rowsOf(database: Database, sql: string): Promise<readonly Record<string, unknown>[]> {
  return await database.use(async (connection) => (await connection.runAndReadAll(sql)).getRowObjectsJson());
}
