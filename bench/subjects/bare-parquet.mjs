// A bare loop with the bare DuckDB writer: rows appended to a table per partition, then one COPY each with the columns of the lake's
// files. No spool, no digest, no headers, no second reader, no ledger, no store.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parquetColumns } from '../../packages/events/dist/index.js';
import { recordColumns } from '../../packages/lake/dist/columns.js';
import { Database } from '../../packages/lake/dist/duckdb.js';
import { rebuildSql } from '../../packages/lake/dist/rebuild.js';
import { typedColumnsCtes } from '../../packages/lake/dist/typed-columns.js';
import { readAll } from '../lib/bare-consumer.mjs';
import { measured, task } from '../lib/subject.mjs';

const given = task();

const RECORD = {
  topic: `'${given.topic}'`,
  incarnation: `'AAAAAAAA'`,
  partition: '0',
  offset: 'row_offset',
  kafka_timestamp: 'make_timestamp_ms(timestamp_ms)',
  key: 'key_bytes',
  headers: `'[]'`,
  shape: 'CASE WHEN again = text THEN shape END',
  value_state: `CASE WHEN again = text THEN 'rebuilt' ELSE 'kept' END`,
  value: 'CASE WHEN again = text THEN NULL ELSE value_bytes END',
};

function copySql(table, path) {
  const events = parquetColumns.map(({ name, duckdbType }) => `"${name}"::${duckdbType} AS "${name}"`);
  const records = recordColumns.map(({ name, duckdbType }) => `(${RECORD[name]})::${duckdbType} AS "${name}"`);
  return `COPY (WITH source AS (SELECT row_offset, timestamp_ms, true AS readable, NULL::VARCHAR AS mended, key_bytes, value, encode(value) AS value_bytes FROM ${table}),
    ${typedColumnsCtes()}, shaped AS (SELECT *, array_to_string(json_names, ',') AS shape FROM typed), checked AS (SELECT *, ${rebuildSql(parquetColumns)} AS again FROM shaped)
    SELECT ${[...events, ...records].join(', ')} FROM checked) TO '${path}' (FORMAT parquet, PARQUET_VERSION V2, COMPRESSION zstd, ROW_GROUP_SIZE 61440)`;
}

await measured(async (firstRecord) => {
  mkdirSync(given.folder, { recursive: true });
  const database = await Database.open({ memoryLimitMb: 512, tempFolder: given.folder });
  const connection = await database.connect();
  const appenders = [];
  for (let partition = 0; partition < given.partitions; partition += 1) {
    await connection.run(`CREATE TABLE rows${partition} (row_offset BIGINT, timestamp_ms BIGINT, key_bytes BLOB, value VARCHAR)`);
    appenders.push(await connection.createAppender(`rows${partition}`));
  }
  await readAll(given, (messages) => {
    firstRecord();
    for (const { partition, offset, timestamp, key, value } of messages) {
      const appender = appenders[partition];
      appender.appendBigInt(BigInt(offset));
      appender.appendBigInt(BigInt(timestamp));
      appender.appendBlob(key);
      appender.appendVarchar(value.toString());
      appender.endRow();
    }
  });
  let bytes = 0;
  for (const [partition, appender] of appenders.entries()) {
    appender.closeSync();
    const path = join(given.folder, `${partition}.parquet`);
    await connection.run(copySql(`rows${partition}`, path));
    bytes += statSync(path).size;
  }
  return { bytesPerEvent: bytes / given.records };
});
