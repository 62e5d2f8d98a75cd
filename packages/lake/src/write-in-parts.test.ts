import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { buildObject } from './object-builder.ts';
import { readParquet } from './parquet-reader.ts';
import type { LakeRecord } from './records.ts';
import { RowFile } from './row-file.ts';
import { CHAIN, footerOf, inFolder, recordAt, rowsOf } from './testing/index.ts';
import { BASE_EVENT } from './testing/values.ts';

const KIB = 1024;
const names = (count: number, member: (i: number) => string): string => Array.from({ length: count }, (_, i) => member(i)).join(',');
const event = (members: string): string => `{"timestamp":"2026-01-31T23:59:59.123Z","service":"a",${members}}`;
const withMessage = (bytes: number, i: number): string => JSON.stringify({ ...BASE_EVENT, message: `${i} ${'é!'.repeat(bytes / 3)}` });

/** Builds an object of the records with so much memory, reads it back, and says what stands in it. */
async function built(records: readonly LakeRecord[], memoryLimitMb: number) {
  return await inFolder(async (folder) => {
    const database = await Database.open({ memoryLimitMb });
    try {
      const file = await RowFile.create(join(folder, 'rows'));
      await file.append(records);
      await file.close();
      const first = records[0]?.offset ?? 0;
      const path = join(folder, 'object.parquet');
      const object = await buildObject(database, CHAIN, { file, first, next: first + records.length, voids: [] }, path);
      const back: LakeRecord[] = [];
      for await (const batch of readParquet(database, path, (await footerOf(path)).description)) back.push(...batch);
      const same = back.length === records.length && back.every(({ value }, i) => value?.equals(records[i]?.value ?? Buffer.alloc(0)));
      const rows = await rowsOf(database, `SELECT value_state, service FROM '${path}' ORDER BY "offset"`);
      return { same, inParts: object.inParts, rows, left: (await readdir(folder)).sort() };
    } finally {
      database.close();
    }
  });
}

describe('an object of large or wide events', () => {
  it.each([
    ['rows of 30 KB', 1000, 30 * KIB],
    ['rows of 250 KB', 200, 250 * KIB],
    ['rows of 16 KB', 2000, 16 * KIB],
  ])(
    'is built at once, and its columns are filled: %s',
    async (_, count, bytes) => {
      const { same, inParts, rows } = await built(
        Array.from({ length: count }, (_, i) => recordAt(i, withMessage(bytes, i))),
        512,
      );
      expect(inParts).toBeUndefined();
      expect(same).toBe(true);
      expect(rows.every((row) => row.value_state === 'rebuilt')).toBe(true);
    },
    60_000,
  );

  it.each([
    ['one name 30,000 times', event(names(30_000, () => '"a":1')), null],
    ['5,000 names and one of them twice', event(`${names(5000, (i) => `"n${i}":1`)},"n7":2`), null],
    ['20,000 names', event(names(20_000, (i) => `"n${i}":1`)), null],
    ['6,800 unknown names', event(names(6800, (i) => `"name_of_${i}":${i}`)), 'a'],
    ['400 names, repeated', event(names(400, (i) => `"n${i % 200}":"${'x'.repeat(500)}"`)), 'a'],
    [
      '6,000 names that attributes has too',
      event(`"attributes":{${names(6000, (i) => `"n${i}":1`)}},${names(6000, (i) => `"n${i}":2`)}`),
      'a',
    ],
    [
      '9,900 names beside 12,000 attributes',
      event(`"attributes":{${names(12_000, (i) => `"m${i}":1`)}},${names(9900, (i) => `"n${i}":1`)}`),
      'a',
    ],
    ['a list of 120,000 numbers', event(`"attributes":{"x":[${names(120_000, () => '1')}]}`), 'a'],
    ['120,000 lists in one another', event(`"x":${'['.repeat(120_000)}${']'.repeat(120_000)}`), 'a'],
  ])(
    'does not wait for one odd event: %s',
    async (_, value, service) => {
      const begun = process.cpuUsage();
      const records = [recordAt(5, withMessage(100, 0)), recordAt(6, value), recordAt(7, withMessage(100, 2))];
      const { same, inParts, rows } = await built(records, 512);
      expect(inParts).toBeUndefined();
      expect(same).toBe(true);
      expect(rows.map((row) => row.service)).toEqual([BASE_EVENT.service, service, BASE_EVENT.service]);
      const { user, system } = process.cpuUsage(begun);
      // The faults it is named after took 20 s and more. By the clock it would be the machine's load that is tested.
      expect((user + system) / 1000).toBeLessThan(5000);
    },
    60_000,
  );
});

describe('rows that the writer can not take at once', () => {
  it('are written in parts that fit, whole and in their order, and no part is left', async () => {
    const wide = event(`"attributes":{"x":[${names(100_000, () => '1')}]}`);
    const records = Array.from({ length: 60 }, (_, i) => recordAt(900 + i, i % 3 === 0 ? withMessage(100, i) : wide));
    const { same, inParts, rows, left } = await built(records, 100);
    expect(inParts?.cause.message).toContain('Out of Memory');
    expect(inParts?.parts).toBeGreaterThan(1);
    expect(inParts?.untyped).toEqual([]);
    expect(same).toBe(true);
    expect(rows.every((row) => row.value_state === 'rebuilt')).toBe(true);
    expect(left).toEqual(['object.parquet', 'rows']);
  }, 60_000);

  it('hold up nobody: the one that can not be looked into has its bytes, and its neighbours their columns', async () => {
    const huge = event(`"attributes":{"x":[${names(900_000, () => '1')}]}`);
    const records = Array.from({ length: 9 }, (_, i) => recordAt(40 + i, i === 3 ? huge : withMessage(100, i)));
    const { same, inParts, rows, left } = await built(records, 100);
    expect(inParts?.untyped).toEqual([43]);
    expect(same).toBe(true);
    expect(rows.map((row) => row.service)).toEqual(records.map(({ offset }) => (offset === 43 ? null : BASE_EVENT.service)));
    expect(left).toEqual(['object.parquet', 'rows']);
  }, 60_000);

  it('alone in its object has its bytes', async () => {
    const { same, inParts, rows } = await built([recordAt(8, event(`"attributes":{"x":[${names(900_000, () => '1')}]}`))], 100);
    expect(inParts?.untyped).toEqual([8]);
    expect(same).toBe(true);
    expect(rows).toEqual([{ value_state: 'kept', service: null }]);
  }, 60_000);

  it('is not what a failing disk is taken for: that is thrown, to be tried again', async () => {
    await inFolder(async (folder) => {
      const database = await Database.open();
      const file = await RowFile.create(join(folder, 'rows'));
      await file.append([recordAt(0, withMessage(100, 0)), recordAt(1, withMessage(100, 1))]);
      await file.close();
      await mkdir(join(folder, 'taken'));
      await expect(buildObject(database, CHAIN, { file, first: 0, next: 2, voids: [] }, join(folder, 'taken'))).rejects.toThrow('IO Error');
      expect(await readdir(folder)).toEqual(['rows', 'taken']);
      database.close();
    });
  });
});
