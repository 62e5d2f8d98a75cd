import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database, dataKey, QueryFault } from '@tailrace/lake';
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
