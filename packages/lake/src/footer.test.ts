import { readFile } from 'node:fs/promises';
import { parquetColumns } from '@tailrace/events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';
import { readFooter, verifyFooter } from './footer.ts';
import { readParquet } from './parquet-reader.ts';
import { CHAIN, inFolder, recordAt, rowsOf, writeRecords } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const records = Array.from({ length: 100 }, (_, i) => recordAt(1000 + i, `{"service":"s${i % 3}"}`));

describe('a lake file’s footer', () => {
  it('says what the file holds, to a reader that shares no code with the writer', async () => {
    await inFolder(async (folder) => {
      const { footer, rowFile } = await writeRecords(database, folder, records);
      expect(footer).toMatchObject({ rows: 100, firstOffset: 1000, lastOffset: 1099, minTimestampMs: records[0]?.timestampMs });
      expect(footer.description).toMatchObject({ ...CHAIN, version: 1, rebuild: 1, first: 1000, next: 1100, from: 1000, rows: 100 });
      expect(footer.description.columns.map(({ name }) => name)).toEqual(parquetColumns.map(({ name }) => name));
      const { totals } = rowFile;
      if (totals === undefined) throw new Error('no totals');
      verifyFooter('it', footer, totals);
      for (const [name, value] of Object.entries({ rows: 99, firstOffset: 999, lastOffset: 1100, minTimestampMs: 0, maxTimestampMs: 1 }))
        expect(() => verifyFooter('it', footer, { ...totals, [name]: value }), name).toThrow(`The lake file it is damaged: ${name}`);
    });
  });

  it('keeps field ids that only grow: those of events from 1, those of the record from 1001', async () => {
    await inFolder(async (folder) => {
      const { path } = await writeRecords(database, folder, records);
      const ids = await rowsOf(database, `SELECT name, field_id FROM parquet_schema('${path}') WHERE field_id IS NOT NULL`);
      expect(Object.fromEntries(ids.map(({ name, field_id }) => [name, Number(field_id)]))).toMatchObject({
        timestamp: 1,
        attributes: 15,
        topic: 1001,
        value: 1010,
      });
    });
  });

  it('is refused where it is cut off or missing, and a fault of the store is not taken for damage', async () => {
    await inFolder(async (folder) => {
      const { path } = await writeRecords(database, folder, records);
      const body = await readFile(path);
      const of = (bytes: Buffer) => ({
        byteLength: bytes.length,
        slice: (start: number, end = bytes.length) => new Uint8Array(bytes.subarray(start, end)).buffer,
      });
      await expect(readFooter('cut', of(body.subarray(0, -10)))).rejects.toThrow(FileDamage);
      await expect(readFooter('empty', of(Buffer.alloc(0)))).rejects.toThrow(FileDamage);
      const away = { byteLength: body.length, slice: () => Promise.reject(new Error('the store is away')) };
      await expect(readFooter('away', away)).rejects.toThrow('the store is away');
    });
  });
});

describe('reading a lake file', () => {
  async function drain(path: string, description: Parameters<typeof readParquet>[2]): Promise<number> {
    let count = 0;
    for await (const batch of readParquet(database, path, description)) count += batch.length;
    return count;
  }

  it('compares every record with the checksum that was written', async () => {
    await inFolder(async (folder) => {
      const { path, description } = await writeRecords(database, folder, records);
      expect(await drain(path, description)).toBe(100);
      await expect(drain(path, { ...description, checksum: '0000000000000000' })).rejects.toThrow(FileDamage);
      // As if a later DuckDB printed a value differently: the columns give back other bytes than were written.
      const changed = path.replace('.parquet', '-changed.parquet');
      await database.use(async (connection) => {
        await connection.run(
          `COPY (SELECT * REPLACE (CASE WHEN "offset" = 1050 THEN service || ' ' ELSE service END AS service) FROM '${path}') TO '${changed}' (FORMAT parquet)`,
        );
      });
      await expect(drain(changed, description)).rejects.toThrow('checksum');
    });
  });

  it('refuses a file of a later release by name', async () => {
    await inFolder(async (folder) => {
      const { path, description } = await writeRecords(database, folder, records);
      await expect(drain(path, { ...description, rebuild: 2 })).rejects.toThrow('newer release');
      await expect(drain(path, { ...description, version: 2 })).rejects.toThrow(path);
    });
  });
});
