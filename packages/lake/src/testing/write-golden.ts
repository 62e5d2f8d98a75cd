import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { goldenRecords } from '@tailrace/events/testing';
import { Database } from '../duckdb.ts';
import { FILE_VERSION } from '../footer.ts';
import { headersJson } from '../row-text.ts';
import { goldenFolder, goldenName } from './golden.ts';
import { inFolder, recordAt, writeRecords } from './lake-files.ts';
import { BASE_EVENT, oddValues } from './values.ts';

// Run once per file version, before its release: a lake file of every released version is read back in the tests for ever.
const LARGEST_VALUE_BYTES = 1000;
const values = [JSON.stringify(BASE_EVENT), ...oddValues.map(({ value }) => value)].filter(
  (value) => (value?.length ?? 0) <= LARGEST_VALUE_BYTES,
);
const events = goldenRecords().map(({ key, value, headers }, i) => recordAt(i, value, { key, headers }));
const records = [...events, ...values.map((value, i) => recordAt(events.length + i, value))];

const folder = goldenFolder();
const name = goldenName(FILE_VERSION);
if (existsSync(`${folder}/${name}.parquet`)) throw new Error(`${folder}/${name}.parquet is there: a released version never changes.`);
const database = await Database.open();
await inFolder(async (temporary) => {
  const { path } = await writeRecords(database, temporary, records);
  mkdirSync(folder, { recursive: true });
  await copyFile(path, `${folder}/${name}.parquet`);
  const lines = records.map(({ offset, timestampMs, key, value, headers }) =>
    JSON.stringify({
      offset,
      timestampMs,
      key: key?.toString('base64') ?? null,
      value: value?.toString('base64') ?? null,
      headers: JSON.parse(headersJson(headers)),
    }),
  );
  writeFileSync(`${folder}/${name}.ndjson`, `${lines.join('\n')}\n`);
});
database.close();
