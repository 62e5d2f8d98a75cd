import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLake } from './audit.ts';
import { checkBloomFilters } from './bloom-filters.ts';
import { decodeObject } from './decode-object.ts';
import { Database } from './duckdb.ts';
import { checkStatistics, readStatistics } from './statistics.ts';
import { ArchivedLake, NINE } from './testing/archived-lake.ts';
import { goldenFiles } from './testing/golden.ts';
import { inFolder, oddValues, recordAt, rowsOf, writeRecords } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

async function check(path: string): Promise<void> {
  const buffer = await asyncBufferFromFile(path);
  const statistics = await readStatistics('it', buffer);
  await checkStatistics(database, 'it', path, statistics);
  await checkBloomFilters(database, 'it', path, buffer, statistics);
}

/** Bytes of a footer: a field's length and bytes, or the field of a number of NULLs below 64. */
const text = (value: string | Buffer): Buffer => Buffer.concat([Buffer.from([Buffer.byteLength(value)]), Buffer.from(value)]);
const nulls = (count: number): Buffer => Buffer.from([0x16, count * 2]);

/**
 * Changes what the footer says of a column in the first row group, byte for byte in its place, so that no length and no other byte changes.
 * Throws where `from` is not there: a test that changes nothing would prove nothing.
 */
function changed(body: Buffer, column: string, from: Buffer, to: Buffer): Buffer {
  expect(from.length).toBe(to.length);
  const footer = body.length - 8 - body.readUInt32LE(body.length - 8);
  const path = Buffer.concat([Buffer.from([0x19, 0x18]), text(column)]);
  const begin = body.indexOf(path, footer) + path.length;
  if (begin < path.length) throw new Error(`no column ${column}`);
  const next = body.indexOf(Buffer.from([0x19, 0x18]), begin);
  const end = next < 0 ? body.length : next;
  const result = Buffer.from(body);
  let found = 0;
  for (let at = body.indexOf(from, begin); at >= 0 && at < end; at = body.indexOf(from, at + from.length)) {
    to.copy(result, at);
    found += 1;
  }
  if (found === 0) throw new Error(`the footer does not say this of ${column}`);
  return result;
}

const RECORDS = Array.from({ length: 40 }, (_, i) =>
  recordAt(
    i,
    JSON.stringify({ service: `s${10 + i}`, status_code: 200 + i, latency_ms: i + 0.5, ...(i % 4 === 0 ? {} : { region: 'eu' }) }),
    {
      timestampMs: NINE + i,
    },
  ),
);
const i32 = (value: number): Buffer => Buffer.from(Int32Array.of(value).buffer);
const f64 = (value: number): Buffer => Buffer.from(Float64Array.of(value).buffer);

interface Change {
  readonly column: string;
  readonly from: Buffer;
  readonly to: Buffer;
  readonly says: string;
  /** A query that misses rows by it, and how many it should find. */
  readonly misses?: readonly [where: string, rows: number];
}

const CHANGES: readonly Change[] = [
  {
    column: 'service',
    from: text('s49'),
    to: text('s48'),
    says: 'the greatest value in its footer leaves one',
    misses: [`service = 's49'`, 1],
  },
  {
    column: 'service',
    from: text('s10'),
    to: text('s11'),
    says: 'the least value in its footer leaves one',
    misses: [`service = 's10'`, 1],
  },
  { column: 'service', from: text('s49'), to: text('zzz'), says: 'the greatest value in its footer is none of them, and called exact' },
  { column: 'service', from: text('s10'), to: text('a10'), says: 'the least value in its footer is none of them, and called exact' },
  { column: 'status_code', from: text(i32(239)), to: text(i32(230)), says: 'the greatest', misses: ['status_code = 239', 1] },
  { column: 'latency_ms', from: text(f64(0.5)), to: text(f64(9.5)), says: 'the least', misses: ['latency_ms < 5', 5] },
  { column: 'region', from: nulls(10), to: nulls(0), says: 'its footer counts 0 NULLs, and there are 10', misses: ['region IS NULL', 10] },
  { column: 'region', from: nulls(10), to: nulls(40), says: 'its footer counts 40 NULLs, and there are 10', misses: [`region = 'eu'`, 30] },
  { column: 'incarnation', from: text('aB-_9xYz'), to: text('aB-_9xYa'), says: 'the ' },
];

describe('the statistics in a footer', () => {
  it.each(goldenFiles())('of a released version are those of its rows: $name', async ({ path }) => {
    await check(path);
  });

  it('are those of the rows in every file that is written now: odd values, long texts, several row groups', async () => {
    await inFolder(async (folder) => {
      const long = (length: number, end: string): string =>
        `{"service":"${'ä'.repeat(length)}${end}","latency_ms":-0.0,"message":"${'\uffff'.repeat(length)}"}`;
      const values = [
        ...oddValues.map(({ value }) => value),
        ...[100, 200, 5000, 100_000].flatMap((length) => [long(length, 'a'), long(length, 'b')]),
        '{"latency_ms":0}',
      ];
      const odd = await writeRecords(
        database,
        folder,
        values.map((value, i) => recordAt(i, value, { key: i % 2 === 0 ? null : Buffer.from([i % 256, 0, 255]) })),
        'odd',
      );
      await check(odd.path);
      const many = Array.from({ length: 70_000 }, (_, i) => recordAt(i, `{"service":"s${i % 100_00}","bytes":${i}}`));
      const large = await writeRecords(database, folder, many, 'large');
      const [{ groups } = {}] = await rowsOf(
        database,
        `SELECT count(DISTINCT row_group_id)::INT AS groups FROM parquet_metadata('${large.path}')`,
      );
      expect(groups).toBeGreaterThan(1);
      await check(large.path);
    });
  });

  it.each(CHANGES)('with another word on $column: $says', async ({ column, from, to, says, misses }) => {
    const lake = new ArchivedLake(database);
    await lake.add(RECORDS);
    const [key] = lake.keys as [string];
    const sound = lake.store.objects.get(key) as Buffer;
    const forged = changed(sound, column, from, to);
    lake.store.objects.set(key, forged);
    await inFolder(async (folder) => {
      const count = async (body: Buffer): Promise<unknown> => {
        const path = join(folder, `${body === sound ? 'sound' : 'forged'}.parquet`);
        await writeFile(path, body);
        return (await rowsOf(database, `SELECT count(*)::INT AS rows FROM (SELECT * FROM '${path}' WHERE ${misses?.[0] ?? 'true'})`))[0]
          ?.rows;
      };
      if (misses !== undefined) {
        expect(await count(sound)).toBe(misses[1]);
        expect(await count(forged)).not.toBe(misses[1]);
      }
      const audited = await auditLake(lake.ledger, { lookInto: decodeObject(database, folder) });
      expect(audited.findings).toMatchObject([{ kind: 'damaged-object', first: 0, next: 40, detail: expect.stringContaining(key) }]);
      expect(audited.findings[0]?.detail).toContain(`the statistics of column ${column} in row group 0 are not those of its rows: ${says}`);
    });
    // What looks at footers alone believes it.
    expect((await auditLake(lake.ledger)).findings).toEqual([]);
  });

  it('may be absent or wider than the rows where they do not call themselves exact', async () => {
    await inFolder(async (folder) => {
      const { path } = await writeRecords(database, folder, RECORDS);
      const body = await readFile(path);
      // The flags of both bounds, of a column that says `exact` (0x11) twice before its struct ends.
      const wide = changed(
        changed(body, 'service', text('s49'), text('zzz')),
        'service',
        Buffer.from([0x11, 0x11, 0x00]),
        Buffer.from([0x12, 0x12, 0x00]),
      );
      await writeFile(path, wide);
      await check(path);
    });
  });
});

describe('the Bloom filters of a file', () => {
  it('that leave a value out are found with column and row group: readers skip the row group when they look for it', async () => {
    const records = Array.from({ length: 300 }, (_, i) =>
      recordAt(i, `{"service":"s${i % 3}","status_code":${200 + (i % 3)}}`, { timestampMs: NINE + i }),
    );
    for (const [column, where] of [
      ['service', `service = 's1'`],
      ['status_code', 'status_code = 201'],
    ] as const) {
      const lake = new ArchivedLake(database);
      await lake.add(records);
      const [key] = lake.keys as [string];
      const forged = Buffer.from(lake.store.objects.get(key) as Buffer);
      const { columns, groups } = await readStatistics(key, {
        byteLength: forged.length,
        slice: (first, next) => new Uint8Array(forged.subarray(first, next)).buffer,
      });
      const place = groups[0]?.filters[columns.findIndex(({ name }) => name === column)];
      // Its one block of 32 bytes, behind a header.
      forged.fill(0, (place?.next ?? 0) - 32, place?.next);
      await inFolder(async (folder) => {
        const count = async (name: string, body: Buffer): Promise<unknown> => {
          await writeFile(join(folder, name), body);
          return (await rowsOf(database, `SELECT count(*)::INT AS rows FROM '${join(folder, name)}' WHERE ${where}`))[0]?.rows;
        };
        expect(await count('sound.parquet', lake.store.objects.get(key) as Buffer)).toBe(100);
        expect(await count('forged.parquet', forged)).toBe(0);
        lake.store.objects.set(key, forged);
        expect((await auditLake(lake.ledger)).findings).toEqual([]);
        const { findings } = await auditLake(lake.ledger, { lookInto: decodeObject(database, folder) });
        expect(findings).toMatchObject([
          {
            kind: 'damaged-object',
            detail: expect.stringContaining(
              `${key} is damaged: the Bloom filter of column ${column} in row group 0 leaves one of its values out`,
            ),
          },
        ]);
      });
    }
  });
});
