import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import { DuckDBBlobValue } from '@duckdb/node-api';
import { addDigest, checksumText } from '@tailrace/kafka-kit/digest';
import type { FileColumn } from './columns.ts';
import { type Database, sqlText } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';
import { FILE_VERSION, type FileDescription } from './footer.ts';
import { REBUILD_VERSION, rebuildSql } from './rebuild.ts';
import { recordDigest } from './record-digest.ts';
import type { LakeRecord } from './records.ts';

/** The expression for a record's original bytes, NULL for a tombstone. */
export function restoredValueSql(columns: readonly FileColumn[]): string {
  return `CASE WHEN value_state = 'rebuilt' THEN encode(${rebuildSql(columns)}) ELSE value END`;
}

function bytes(value: unknown): Buffer | null {
  if (value === null) return null;
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes.buffer, value.bytes.byteOffset, value.bytes.byteLength);
  throw new TypeError(`expected bytes, got ${typeof value}`);
}

function headers(json: unknown): LakeRecord['headers'] {
  if (json === '[]') return [];
  return (JSON.parse(String(json)) as [string, string | null][]).map(([name, value]) => [
    name,
    value === null ? null : Buffer.from(value, 'base64'),
  ]);
}

function records(file: string, chunk: DuckDBDataChunk): LakeRecord[] {
  const [offsets, times, keys, headerTexts, values, states] = Array.from({ length: 6 }, (_, i) => chunk.getColumnValues(i));
  return Array.from({ length: chunk.rowCount }, (_, i) => {
    const value = bytes(values?.[i] ?? null);
    const offset = Number(offsets?.[i]);
    if ((value === null) !== (states?.[i] === 'null')) throw new FileDamage(file, `offset ${offset} can not be restored from its columns`);
    return { offset, timestampMs: Number(times?.[i]), key: bytes(keys?.[i] ?? null), value, headers: headers(headerTexts?.[i]) };
  });
}

async function* chunks(connection: DuckDBConnection, path: string, description: FileDescription): AsyncIterable<DuckDBDataChunk> {
  const result =
    await connection.stream(`SELECT "offset", epoch_ms(kafka_timestamp), key, headers::VARCHAR, ${restoredValueSql(description.columns)}, value_state
    FROM read_parquet(${sqlText(path)}, hive_partitioning = false)`);
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) yield chunk;
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
  let checksum = 0n;
  let rows = 0;
  try {
    for await (const chunk of chunks(connection, path, description)) {
      const batch = records(path, chunk);
      for (const record of batch) checksum = addDigest(checksum, recordDigest(record));
      rows += batch.length;
      yield batch;
    }
  } finally {
    connection.closeSync();
  }
  if (rows !== description.rows || checksumText(checksum) !== description.checksum)
    throw new FileDamage(
      path,
      `its ${rows} records have the checksum ${checksumText(checksum)}, and ${description.rows} with ${description.checksum} were written`,
    );
}
