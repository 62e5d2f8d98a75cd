import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { dataKey, type LakeLayout } from './object-names.ts';
import { fetchObjects, listDataObjects, queryFiles } from './query.ts';
import { CHAIN, inFolder, MemoryStore, recordAt, writeRecords } from './testing/index.ts';

const LAKE: LakeLayout = { prefix: 'p', stream: 'service-events' };
const NINE = Date.UTC(2026, 0, 2, 9);

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

/** Runs SQL over a lake of two objects, an upload that goes on, and what else lies in a bucket. */
async function ask(sql: string) {
  return await inFolder(async (folder) => {
    const store = new MemoryStore();
    for (const [name, first, timestampMs] of [
      ['a', 0, NINE],
      ['b', 3, NINE + 3_600_000],
    ] as const) {
      const records = [0, 1, 2].map((i) =>
        recordAt(first + i, i === 2 ? 'not json' : `{"service":"s${i}","bytes":9007199254740991}`, { timestampMs }),
      );
      const { path } = await writeRecords(database, folder, records, name);
      await store.putIfAbsent(dataKey(LAKE, CHAIN, first, timestampMs), await readFile(path));
    }
    await store.putIfAbsent(`${dataKey(LAKE, CHAIN, 6, NINE)}-4b2f`, Buffer.from('half an upload'));
    await store.putIfAbsent('p/_ledger/x', Buffer.from('{}'));
    const files = await fetchObjects(store, await listDataObjects(store, LAKE), `${folder}/fetched`);
    return await queryFiles(database, files, sql);
  });
}

describe('a query over the lake', () => {
  it('sees every row once, and neither unfinished uploads nor the ledger', async () => {
    expect(await ask('SELECT count(*) AS n FROM events')).toEqual({ columns: ['n'], rows: [{ n: 6 }] });
  });

  it('has the original bytes in `value`, rebuilt or kept, and day and hour of arrival', async () => {
    const { rows } = await ask(`SELECT "offset", decode(value) AS text, value_state, dt, hour FROM events ORDER BY "offset" LIMIT 3`);
    expect(rows).toEqual([
      { offset: 0, text: '{"service":"s0","bytes":9007199254740991}', value_state: 'rebuilt', dt: '2026-01-02', hour: '09' },
      { offset: 1, text: '{"service":"s1","bytes":9007199254740991}', value_state: 'rebuilt', dt: '2026-01-02', hour: '09' },
      { offset: 2, text: 'not json', value_state: 'kept', dt: '2026-01-02', hour: '09' },
    ]);
  });

  it('gives numbers as numbers where JavaScript holds them exactly, and as text where not', async () => {
    const { rows } = await ask('SELECT max(bytes) AS exact, sum(bytes) AS wide FROM events');
    expect(rows).toEqual([{ exact: 9007199254740991, wide: '36028797018963964' }]);
  });

  it('works on an empty lake, and passes on what DuckDB says about wrong SQL', async () => {
    expect(await queryFiles(database, [], 'SELECT count(*) AS n, max(hour) AS h FROM events WHERE status_code > 499')).toEqual({
      columns: ['n', 'h'],
      rows: [{ n: 0, h: null }],
    });
    await expect(queryFiles(database, [], 'SELECT nothing FROM events')).rejects.toThrow('nothing');
  });
});
