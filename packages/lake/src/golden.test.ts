import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { readParquet } from './parquet-reader.ts';
import type { LakeRecord } from './records.ts';
import { goldenFiles } from './testing/golden.ts';
import { footerOf } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

describe('the lake file of every released version', () => {
  it.each(goldenFiles())('$name is read back byte for byte', async ({ path, records }) => {
    const { description } = await footerOf(path);
    const back: LakeRecord[] = [];
    for await (const batch of readParquet(database, path, description)) back.push(...batch);
    expect(back).toEqual(records);
    expect(records.length).toBeGreaterThan(50);
  });

  it('is there for the version that is written now', () => {
    expect(goldenFiles().map(({ name }) => name)).toContain('lake-file-1');
  });
});
