import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { parquetMetadata } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditReport, auditLake } from './audit.ts';
import { decodeObject } from './decode-object.ts';
import { Database } from './duckdb.ts';
import { writeParquet } from './parquet-writer.ts';
import type { LakeRecord } from './records.ts';
import { RowFile } from './row-file.ts';
import type { RowTotals } from './row-totals.ts';
import { ArchivedLake, NINE, run } from './testing/archived-lake.ts';
import { CHAIN, inFolder, recordAt, rowsOf } from './testing/index.ts';
import { seeded } from './testing/seeded.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const deep = async (lake: ArchivedLake): Promise<AuditReport> =>
  await inFolder((folder) => auditLake(lake.ledger, { lookInto: decodeObject(database, folder), atOnce: 2 }));

/** Puts in the place of an object a file with these rows that says of itself what `totals` say. */
async function forge(
  lake: ArchivedLake,
  key: string,
  records: readonly LakeRecord[],
  totals: (of: RowTotals) => RowTotals,
  next: number,
): Promise<void> {
  await inFolder(async (folder) => {
    const file = await RowFile.create(join(folder, 'rows'));
    await file.append(records);
    await file.close();
    const { path } = await writeParquet(
      database,
      CHAIN,
      { file, first: 0, next },
      totals(file.totals as RowTotals),
      join(folder, 'forged'),
    );
    lake.store.objects.set(key, await readFile(path));
  });
}

async function totalsOf(records: readonly LakeRecord[]): Promise<RowTotals> {
  return await inFolder(async (folder) => {
    const file = await RowFile.create(join(folder, 'rows'));
    await file.append(records);
    await file.close();
    return file.totals as RowTotals;
  });
}

/** Every column of every row, as any reader sees them. */
const allColumns = async (body: Buffer): Promise<unknown> =>
  await inFolder(async (folder) => {
    const path = join(folder, 'file.parquet');
    await writeFile(path, body);
    return await rowsOf(database, `SELECT * FROM read_parquet('${path}')`);
  });

describe('a deep audit', () => {
  it('finds nothing in a lake that is as it should be: odd values, voids, a rest, several objects', async () => {
    const lake = new ArchivedLake(database);
    const odd = [
      '{"b":1e400}',
      '{"service":"s","service":"t"}',
      '{"latency_ms":87.0}',
      ' {"service" : 1}',
      '',
      null,
      Buffer.from([0xff, 0]),
    ];
    await lake.add(odd.map((value, i) => recordAt(i, value, { timestampMs: NINE, key: i % 2 === 0 ? null : Buffer.from('k') })));
    await lake.add([...run(7, 9), ...run(12, 20)], { voids: [{ first: 9, next: 12 }] });
    await lake.add(run(24, 30), { first: 20 });
    expect(await deep(lake)).toMatchObject({ findings: [], partitions: [{ next: 30, rows: 23, lost: [{ first: 20, next: 24 }] }] });
  });

  it('finds a value that was changed although the footer says what it always said', async () => {
    const lake = new ArchivedLake(database);
    const records = run(0, 50);
    await lake.add(records);
    const [key] = lake.keys as [string];
    const changed = records.map((record) => (record.offset === 31 ? { ...record, value: Buffer.from('{"service":"S31"}') } : record));
    const own = await totalsOf(records);
    await forge(lake, key, changed, () => own, 50);
    expect((await auditLake(lake.ledger)).findings).toEqual([]);
    expect((await deep(lake)).findings).toMatchObject([
      {
        kind: 'damaged-object',
        first: 0,
        next: 50,
        detail: expect.stringMatching(/its 50 records have the checksum .* and 50 with .* were written/),
      },
    ]);
  });

  it('finds rows that are missing, doubled or of another place, by the offset', async () => {
    const records = run(0, 20);
    const own = await totalsOf(records);
    for (const [rows, sentence] of [
      [records.filter(({ offset }) => offset !== 7), 'offset 8 comes where 7 is next'],
      [[...records.slice(0, 12), ...records.slice(11)], 'offset 11 comes where 12 is next'],
      [records.slice(0, 19), 'its 19 records have'],
    ] as const) {
      const lake = new ArchivedLake(database);
      await lake.add(records);
      const [key] = lake.keys as [string];
      await forge(lake, key, rows, () => own, 20);
      expect((await deep(lake)).findings.map(({ detail }) => detail).join('\n'), sentence).toContain(sentence);
    }
  });

  it('finds an object that stands in the place of another', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10));
    await lake.add(run(10, 20));
    const [one, other] = lake.keys as [string, string];
    lake.store.objects.set(other, lake.store.objects.get(one) as Buffer);
    expect((await deep(lake)).findings).toMatchObject([{ kind: 'damaged-object', first: 10, next: 20 }]);
  });

  it('finds a changed byte wherever it changes a row, and names the object and its range', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 300));
    await lake.add(run(300, 310));
    const [key] = lake.keys as [string];
    const sound = Buffer.from(lake.store.objects.get(key) as Buffer);
    const metadata = parquetMetadata(new Uint8Array(sound).buffer);
    const chunks = metadata.row_groups.flatMap(({ columns }) =>
      columns.flatMap(({ meta_data: meta }) => (meta === undefined ? [] : [meta])),
    );
    const places = fc.constantFrom(...chunks).chain((meta) => {
      const begin = Number(meta.dictionary_page_offset ?? meta.data_page_offset);
      return fc.tuple(fc.integer({ min: begin, max: begin + Number(meta.total_compressed_size) - 1 }), fc.integer({ min: 1, max: 255 }));
    });
    const { values, name } = seeded(places, 40);
    const rows = await allColumns(sound);
    let found = 0;
    for (const [at, bits] of values) {
      const damaged = Buffer.from(sound);
      damaged[at] = (damaged[at] ?? 0) ^ bits;
      lake.store.objects.set(key, damaged);
      const { findings } = await deep(lake);
      const where = `${name}: byte ${at} ^ ${bits}`;
      // Some bytes of a page's header say nothing that any reader needs.
      if (findings.length === 0) expect(await allColumns(damaged), where).toEqual(rows);
      else {
        expect(findings, where).toMatchObject([{ kind: 'damaged-object', first: 0, next: 300 }]);
        found++;
      }
    }
    expect(found).toBeGreaterThan(20);
  });

  it('finds an object that is cut off, and says that it could not look where the store is away', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10));
    const [key] = lake.keys as [string];
    lake.store.objects.set(key, (lake.store.objects.get(key) as Buffer).subarray(0, 2000));
    expect((await deep(lake)).findings).toMatchObject([{ kind: 'damaged-object', first: 0, next: 10 }]);
    lake.store.get = async (key) => {
      if (key.endsWith('.parquet')) throw new Error('the store is away');
      return lake.store.objects.get(key);
    };
    await expect(deep(lake)).rejects.toThrow('the store is away');
  });
});
