import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, dataKey, FileDamage, QueryFault } from '@tailrace/lake';
import { inFolder, MemoryStore, recordAt, writeRecords } from '@tailrace/lake/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { queryLake } from './lake-query.ts';
import { CHAIN, LAKE, NINE } from './testing/sink-world.ts';

const HOUR_MS = 3_600_000;
const OUTSIDE = tmpdir();
let temporary = '';

beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'tailrace-lake-query-'));
  vi.stubEnv('TMPDIR', temporary);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(await readdir(temporary), 'left behind').toEqual([]);
  await rm(temporary, { recursive: true });
});

/** Two objects of one row each, in two hours; `asked` is told every request to the store. */
async function storeOf(asked: string[] = []): Promise<MemoryStore> {
  const store = new MemoryStore(async (operation) => {
    asked.push(operation);
  });
  vi.stubEnv('TMPDIR', OUTSIDE);
  const database = await Database.open();
  for (const timestampMs of [NINE, NINE + HOUR_MS])
    await inFolder(async (folder) => {
      const { path } = await writeRecords(database, folder, [recordAt(timestampMs, '{"service":"a"}', { timestampMs })]);
      await store.putIfAbsent(dataKey(LAKE, CHAIN, timestampMs, timestampMs), await readFile(path));
    });
  database.close();
  vi.stubEnv('TMPDIR', temporary);
  asked.length = 0;
  return store;
}

it('fetches what the window needs, says how much, and leaves nothing behind', async () => {
  const asked: string[] = [];
  const notes: string[] = [];
  const window = { fromMs: NINE + HOUR_MS };
  const result = await queryLake(await storeOf(asked), LAKE, 'SELECT count(*) AS n FROM events', window, (text) => notes.push(text));
  expect(result.rows).toEqual([{ n: 1 }]);
  expect(notes).toEqual([expect.stringMatching(/^fetching 1 object, 0\.0 MiB\n$/)]);
  expect(asked).toEqual(['list', 'get']);
});

it('wrong SQL costs no request', async () => {
  const asked: string[] = [];
  const run = queryLake(await storeOf(asked), LAKE, 'SELECT nothing FROM events', {}, () => {});
  await expect(run).rejects.toBeInstanceOf(QueryFault);
  expect(asked).toEqual([]);
});

it('more than the disk has room for is refused before it is fetched', async () => {
  const asked: string[] = [];
  const run = queryLake(
    await storeOf(asked),
    LAKE,
    'SELECT 1',
    {},
    () => {},
    async () => 5000,
  );
  await expect(run).rejects.toThrow(/^The query needs 2 objects, .* narrow the time with --from and --to, or set TMPDIR/);
  expect(asked).toEqual(['list']);
});

it('a damaged object, however it is damaged, is named in one sentence without the folder that it was fetched into', async () => {
  const damages: [string, (whole: Buffer) => Buffer][] = [
    ['empty', () => Buffer.alloc(0)],
    ['cut in its footer', (whole) => whole.subarray(0, whole.length - 5)],
    ['other bytes', () => Buffer.from('no Parquet at all, but long enough')],
    ['its footer zeroed', (whole) => Buffer.from(whole).fill(0, whole.length - 8 - whole.readUInt32LE(whole.length - 8), whole.length - 8)],
    ['its rows zeroed', (whole) => Buffer.from(whole).fill(0, 4, Math.floor(whole.length / 4))],
  ];
  for (const [name, damaged] of damages) {
    const store = await storeOf();
    const [key] = [...store.objects.keys()] as [string];
    store.objects.set(key, damaged(store.objects.get(key) as Buffer));
    for (const sql of ['SELECT * FROM events', 'SELECT count(value), max(service) FROM events']) {
      const fault = String(await queryLake(store, LAKE, sql, {}, () => {}).catch((error: unknown) => error));
      expect(fault, name).toMatch(
        new RegExp(`^DamagedLake: The lake file ${key.replace('+', '.').replace('+', '.')} is damaged: .*leave its hour out`),
      );
      expect(fault, name).not.toContain(temporary);
      expect(fault, name).not.toContain('exception_type');
    }
  }
});

it('an object that the store itself finds damaged is named, and one that goes away while it is read', async () => {
  const store = await storeOf();
  const [key] = [...store.objects.keys()] as [string];
  const failing = new MemoryStore(
    async (operation, asked) => {
      if (operation === 'get' && asked === key) throw new FileDamage(key, 'its bytes do not fit');
    },
    undefined,
    store.objects,
  );
  await expect(queryLake(failing, LAKE, 'SELECT * FROM events', {}, () => {})).rejects.toThrow(
    `${key} is damaged: its bytes do not fit. The query`,
  );
  const gone = new MemoryStore(async (operation) => void (operation === 'get' && store.objects.delete(key)), undefined, store.objects);
  await expect(queryLake(gone, LAKE, 'SELECT * FROM events', {}, () => {})).rejects.toThrow('it was listed, and then was not there');
});

it('an error of the SQL over sound objects stays its own', async () => {
  await expect(queryLake(await storeOf(), LAKE, 'SELECT CAST(service AS INTEGER) FROM events', {}, () => {})).rejects.toThrow(
    /^Conversion error/,
  );
});
