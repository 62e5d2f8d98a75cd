import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { DuckDBBlobVector } from '@duckdb/node-api';
import { checksumText, DigestSum } from '@tailrace/kafka-kit/digest';
import type { FileColumn } from './columns.ts';
import { type Database, sqlText } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';
import { FILE_VERSION, type FileDescription } from './footer.ts';
import { REBUILD_VERSION, rebuildSql } from './rebuild.ts';
import { digestText } from './record-digest.ts';
import type { LakeRecord } from './records.ts';

/** Up to so many bytes the database keeps within the column, in memory that goes with its chunk. */
const INLINE_BYTES = 12;

/** The expression for a record's original bytes, NULL for a tombstone. */
export function restoredValueSql(columns: readonly FileColumn[]): string {
  return `CASE WHEN value_state = 'rebuilt' THEN encode(${rebuildSql(columns)}) ELSE value END`;
}

function parseHeaders(json: string): LakeRecord['headers'] {
  return (JSON.parse(json) as [string, string | null][]).map(([name, value]) => [
    name,
    value === null ? null : Buffer.from(value, 'base64'),
  ]);
}

/** What most records of a file have, written once: as text of every row they would cost more than the value's digest. */
interface CommonHeaders {
  readonly json: string;
  readonly headers: LakeRecord['headers'];
}

/** A column of bytes. What is in the chunk itself is copied out of it; longer bytes come as a copy of their own. */
function bytesOf(chunk: DuckDBDataChunk, index: number): (row: number) => Buffer | null {
  const column = chunk.getColumnVector(index);
  if (!(column instanceof DuckDBBlobVector)) throw new TypeError(`column ${index} does not hold bytes`);
  return (row) => {
    const bytes = column.getItemBytes(row);
    if (bytes === null) return null;
    return bytes.length <= INLINE_BYTES ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function records(file: string, chunk: DuckDBDataChunk, common: CommonHeaders): LakeRecord[] {
  const [offsets, times, otherHeaders, tombstones] = [0, 1, 4, 5].map((index) => chunk.getColumnVector(index));
  const [keyAt, valueAt] = [bytesOf(chunk, 2), bytesOf(chunk, 3)];
  const found: LakeRecord[] = [];
  for (let row = 0; row < chunk.rowCount; row += 1) {
    const offset = Number(offsets?.getItem(row));
    const value = valueAt(row);
    if ((value === null) !== tombstones?.getItem(row)) throw new FileDamage(file, `offset ${offset} can not be restored from its columns`);
    const headers = otherHeaders?.getItem(row) ?? null;
    found.push({
      offset,
      timestampMs: Number(times?.getItem(row)),
      key: keyAt(row),
      value,
      headers: headers === null ? common.headers : parseHeaders(String(headers)),
    });
  }
  return found;
}

async function commonHeaders(connection: DuckDBConnection, path: string): Promise<CommonHeaders> {
  const reader = await connection.runAndReadAll(`SELECT headers::VARCHAR FROM ${fileSql(path)} LIMIT 1`);
  const json = String(reader.getRows()[0]?.[0] ?? '[]');
  return { json, headers: parseHeaders(json) };
}

/** Offsets and times as doubles, which hold them exactly: a 64-bit integer comes as a BigInt for each row. */
async function* chunks(
  connection: DuckDBConnection,
  path: string,
  { columns }: FileDescription,
  { json }: CommonHeaders,
): AsyncIterable<DuckDBDataChunk> {
  const result = await connection.stream(`SELECT "offset"::DOUBLE, epoch_ms(kafka_timestamp)::DOUBLE, key, ${restoredValueSql(columns)},
    nullif(headers::VARCHAR, ${sqlText(json)}), value_state = 'null' FROM ${fileSql(path)}`);
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) yield chunk;
}

function fileSql(path: string): string {
  return `read_parquet(${sqlText(path)}, hive_partitioning = false)`;
}

/**
 * The records of a lake file on disk, in the order of their offsets, byte for byte as they were in Kafka. `description` is the one in its
 * footer. At the end the checksum of all that was read is compared with it: throws FileDamage where a value came out differently.
 */
export async function* readParquet(database: Database, path: string, description: FileDescription): AsyncIterable<readonly LakeRecord[]> {
  if (description.version !== FILE_VERSION || description.rebuild !== REBUILD_VERSION)
    throw new FileDamage(
      path,
      `it was written by a newer release (format ${description.version}, rebuild ${description.rebuild}), which can read it`,
    );
  const connection = await database.connect();
  const sum = new DigestSum();
  let rows = 0;
  try {
    const common = await commonHeaders(connection, path);
    for await (const chunk of chunks(connection, path, description, common)) {
      const batch = records(path, chunk, common);
      for (const record of batch) sum.add(digestText(record));
      rows += batch.length;
      yield batch;
    }
  } finally {
    connection.closeSync();
  }
  const checksum = checksumText(sum.value);
  if (rows !== description.rows || checksum !== description.checksum)
    throw new FileDamage(
      path,
      `its ${rows} records have the checksum ${checksum}, and ${description.rows} with ${description.checksum} were written`,
    );
}
