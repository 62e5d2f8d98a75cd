import { readFileSync, writeFileSync } from 'node:fs';
import { parquetColumns } from '@tailrace/events';
import { expect, test } from 'vitest';
import { recordColumns } from './columns.ts';
import { updateDocs } from './config.ts';
import { lakePage, PARQUET_TYPES } from './docs.ts';
import { Database } from './duckdb.ts';
import { inFolder, recordAt, rowsOf, writeRecords } from './testing/index.ts';

const file = new URL('../../../docs/reference/lake.md', import.meta.url);

test('the lake’s page is what its tables say (UPDATE_DOCS=1 writes it)', () => {
  if (updateDocs) writeFileSync(file, lakePage());
  expect(readFileSync(file, 'utf8')).toBe(lakePage());
});

test('the Parquet types of the page are those of a file', async () => {
  const database = await Database.open();
  const schema = await inFolder(async (folder) => {
    const { path } = await writeRecords(database, folder, [recordAt(0, '{"service":"a"}')]);
    return await rowsOf(database, `SELECT name, type, converted_type FROM parquet_schema('${path}') WHERE field_id IS NOT NULL`);
  });
  database.close();
  const named = [...parquetColumns, ...recordColumns].map(({ name, duckdbType }) => [name, PARQUET_TYPES[duckdbType]]);
  expect(schema.map(({ name, type, converted_type: converted }) => [name, converted === null ? type : `${type} (${converted})`])).toEqual(
    named,
  );
});
