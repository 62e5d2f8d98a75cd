import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fetchObjects, listDataObjects, type TimeWindow } from './data-objects.ts';
import { Database } from './duckdb.ts';
import { dataKey, type LakeLayout } from './object-names.ts';
import { LakeQuery, type QueryResult } from './query.ts';
import { QueryFault } from './query-fault.ts';
import { CHAIN, inFolder, MemoryStore, recordAt, writeRecords } from './testing/index.ts';

const LAKE: LakeLayout = { prefix: 'p', stream: 'service-events' };
const HOUR_MS = 3_600_000;
const NINE = Date.UTC(2026, 0, 2, 9);

/** A database that one query has for itself: it stays locked. */
async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  const database = await Database.open();
  try {
    return await work(database);
  } finally {
    database.close();
  }
}

/** Opens the SQL over an empty lake, as before any object is fetched. */
async function check(sql: string): Promise<void> {
  await inFolder(async (folder) =>
    withDatabase(async (database) => {
      (await LakeQuery.open(database, sql, { folder })).close();
    }),
  );
}

/** A lake of two objects, an upload that goes on, and what else lies in a bucket. */
async function filledStore(folder: string): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [name, first, timestampMs] of [
    ['a', 0, NINE],
    ['b', 3, NINE + HOUR_MS],
  ] as const) {
    const records = [0, 1, 2].map((i) =>
      recordAt(first + i, i === 2 ? 'not json' : `{"service":"s${i}","bytes":9007199254740991}`, { timestampMs: timestampMs + i }),
    );
    const { path } = await withDatabase((database) => writeRecords(database, folder, records, name));
    await store.putIfAbsent(dataKey(LAKE, CHAIN, first, timestampMs), await readFile(path));
  }
  await store.putIfAbsent(`${dataKey(LAKE, CHAIN, 6, NINE)}-4b2f`, Buffer.from('half an upload'));
  await store.putIfAbsent('p/_ledger/x', Buffer.from('{}'));
  return store;
}

async function ask(sql: string, window: TimeWindow = {}, fill = filledStore): Promise<QueryResult> {
  return await inFolder(async (folder) => {
    const store = await fill(folder);
    const fetched = join(folder, 'fetched');
    return await withDatabase(async (database) => {
      const query = await LakeQuery.open(database, sql, { folder: fetched });
      try {
        return await query.run(await fetchObjects(store, await listDataObjects(store, LAKE, window), fetched), window);
      } finally {
        query.close();
      }
    });
  });
}

describe('a query over the lake', () => {
  it('sees every row once, and neither unfinished uploads nor the ledger', async () => {
    expect(await ask('SELECT count(*) AS n FROM events')).toEqual({ columns: ['n'], rows: [{ n: 6 }] });
  });

  it('leaves canaries out, and has them in all_events', async () => {
    const fill = async (folder: string): Promise<MemoryStore> => {
      const values = [
        '{"service":"tailrace.canary"}',
        '{"service":"tailrace"}',
        'not json',
        '{"service":"tailrace.canary","customer_id":"c"}',
      ];
      const { path } = await withDatabase((database) =>
        writeRecords(
          database,
          folder,
          values.map((value, i) => recordAt(i, value)),
        ),
      );
      const store = new MemoryStore();
      await store.putIfAbsent(dataKey(LAKE, CHAIN, 0, NINE), await readFile(path));
      return store;
    };
    expect((await ask('SELECT service FROM events ORDER BY "offset"', {}, fill)).rows).toEqual([
      { service: 'tailrace' },
      { service: null },
    ]);
    expect((await ask('SELECT count(*) AS n FROM all_events', {}, fill)).rows).toEqual([{ n: 4 }]);
    expect((await ask("SELECT count(*) AS n FROM all_events WHERE service = 'tailrace.canary'", { fromMs: 0 }, fill)).rows).toEqual([
      { n: 2 },
    ]);
  });

  it('has the original bytes in `value`, rebuilt or kept, and day and hour of arrival', async () => {
    const { rows } = await ask(`SELECT "offset", decode(value) AS text, value_state, dt, hour FROM events ORDER BY "offset" LIMIT 3`);
    expect(rows).toEqual([
      { offset: 0, text: '{"service":"s0","bytes":9007199254740991}', value_state: 'rebuilt', dt: '2026-01-02', hour: '09' },
      { offset: 1, text: '{"service":"s1","bytes":9007199254740991}', value_state: 'rebuilt', dt: '2026-01-02', hour: '09' },
      { offset: 2, text: 'not json', value_state: 'kept', dt: '2026-01-02', hour: '09' },
    ]);
  });

  it('takes a column that is a word of SQL without quotes behind an alias, as the sentences of services ask for a record', async () => {
    const { rows } = await ask(`SELECT e.offset AS found FROM events e WHERE e.partition >= 0 AND e.offset = 1`);
    expect(rows).toEqual([{ found: 1 }]);
  });

  it('shows bytes as text where they are UTF-8, also inside lists, and else each byte', async () => {
    const { rows } = await ask(`SELECT value, [value] AS list FROM events ORDER BY "offset" LIMIT 1`);
    const text = '{"service":"s0","bytes":9007199254740991}';
    expect(rows).toEqual([{ value: text, list: [text] }]);
    expect((await ask(`SELECT encode('Grüße') AS text, '\\xFF'::BLOB AS bytes, NULL::BLOB AS nothing`)).rows).toEqual([
      { text: 'Grüße', bytes: '\\xFF', nothing: null },
    ]);
  });

  it('gives numbers as numbers where JavaScript holds them exactly, and as text where not', async () => {
    const { rows } = await ask('SELECT max(bytes) AS exact, sum(bytes) AS wide FROM events');
    expect(rows).toEqual([{ exact: 9007199254740991, wide: '36028797018963964' }]);
  });

  it('has the same columns in the same order on an empty lake', async () => {
    const names = 'SELECT * FROM events LIMIT 0';
    const empty = await inFolder((folder) =>
      withDatabase(async (database) => await (await LakeQuery.open(database, names, { folder })).run([])),
    );
    expect((await ask(names)).columns).toEqual(empty.columns);
    expect(empty.columns.slice(-3)).toEqual(['value', 'dt', 'hour']);
  });

  it('takes a result that fits into memory, and says what to do with a larger one', async () => {
    const count = (rows: number): Promise<number> =>
      inFolder((folder) =>
        withDatabase(async (database) => {
          const query = await LakeQuery.open(database, `SELECT * FROM range(${rows})`, { folder });
          return (await query.run([])).rows.length;
        }),
      );
    expect(await count(100_000)).toBe(100_000);
    await expect(count(50_000_000)).rejects.toThrow(/more than 100000 rows.*LIMIT/);
  });

  it('says in one sentence what fails at a row', async () => {
    await expect(ask('SELECT service::INTEGER FROM events')).rejects.toThrow(/^Conversion error \(line 1, column \d+\): [^\n]+$/);
  });
});

describe('a window of arrival', () => {
  it.each<[string, TimeWindow, number, number]>([
    ['open', {}, 2, 6],
    ['from inside an hour', { fromMs: NINE + 1 }, 2, 5],
    ['from the next hour', { fromMs: NINE + HOUR_MS }, 1, 3],
    ['up to an hour', { toMs: NINE + HOUR_MS }, 1, 3],
    ['up to inside an hour', { toMs: NINE + HOUR_MS + 1 }, 2, 4],
    ['inside one hour', { fromMs: NINE + 1, toMs: NINE + 2 }, 1, 1],
    ['behind everything', { fromMs: NINE + 2 * HOUR_MS }, 0, 0],
    ['before everything', { toMs: NINE }, 0, 0],
  ])('%s: only the objects of its hours are listed, only its rows are seen', async (_, window, objects, rows) => {
    await inFolder(async (folder) => expect(await listDataObjects(await filledStore(folder), LAKE, window)).toHaveLength(objects));
    expect((await ask('SELECT count(*) AS n FROM events', window)).rows).toEqual([{ n: rows }]);
  });
});

describe('wrong SQL is told before anything is fetched, in one sentence', () => {
  it.each([
    ['', 'The SQL is empty'],
    ['  \n ', 'The SQL is empty'],
    ['-- only a comment', 'The SQL is empty'],
    [';', 'The SQL is empty'],
    ['SELECT 1; SELECT 2', 'The SQL holds 2 statements'],
    ['SELEC 1', 'Parser error (line 1, column 1): syntax error at or near "SELEC"'],
    ['SELECT count(*)\nFROM evnts', 'Catalog error (line 2, column 6): Table with name evnts does not exist! Did you mean "events"?'],
    ['SELECT nothing FROM events', 'Binder error (line 1, column 8): Referenced column "nothing" not found'],
    [`SELECT 'é', nothing FROM events`, 'Binder error (line 1, column 13): '],
    ['SELECT $1', 'The SQL has parameters'],
    ['FROM nope', 'Catalog error (line 1, column 6): Table with name nope does not exist! Did you mean "events"?'],
    ['SELECT * FROM a.nope', 'Table with name "a.nope" does not exist! Did you mean "events"?'],
    [`SELECT * FROM read_csv('x')`, 'disabled by configuration. A query reads the views events and all_events and nothing else.'],
    ...[
      'DELETE FROM events',
      'INSERT INTO events VALUES (1)',
      'UPDATE events SET bytes = 1',
      'WITH a AS (SELECT 1) DELETE FROM events',
      'TRUNCATE events',
      'DROP TABLE nope',
      `COPY nope TO 'x'`,
      'EXPLAIN SELECT nothing FROM events',
    ].map((sql): [string, string] => [sql, 'A query only reads: give one SELECT.']),
  ])('%j', async (sql, sentence) => {
    const fault: unknown = await check(sql).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(QueryFault);
    expect(String(fault)).toContain(sentence);
    expect(String(fault)).not.toContain('\n');
  });

  it.each(['SELECT 1;', 'FROM events', 'DESCRIBE events', 'SUMMARIZE events', 'WITH a AS (SELECT 1) SELECT * FROM a'])(
    '%j is one statement that reads',
    async (sql) => {
      await check(sql);
    },
  );
});

describe('the SQL reaches nothing but the lake', () => {
  it.each([
    `COPY (SELECT 1) TO 'OUTSIDE'`,
    `COPY (SELECT 1) TO 'INSIDE/a.csv'`,
    `EXPLAIN ANALYZE COPY (SELECT 1) TO 'INSIDE/a.csv'`,
    `ATTACH 'OUTSIDE'`,
    `SELECT * FROM read_csv('OUTSIDE')`,
    `SELECT * FROM read_text('INSIDE/../outside')`,
    `SELECT * FROM 'OUTSIDE'`,
    `SELECT * FROM glob('OUTSIDE*')`,
    `SELECT * FROM sniff_csv('OUTSIDE')`,
    `SELECT * FROM query('SELECT * FROM read_text(''OUTSIDE'')')`,
    `SELECT * FROM read_parquet('https://127.0.0.1:9/x.parquet')`,
    `SELECT * FROM read_parquet('s3://bucket/x.parquet')`,
    'INSTALL httpfs',
    'LOAD httpfs',
    'SET lock_configuration = false',
    'SET enable_external_access = true',
    'RESET enable_external_access',
    `PRAGMA memory_limit = '1GB'`,
    'CREATE TABLE more AS SELECT 1',
    'CREATE SECRET (TYPE s3)',
    'DROP VIEW events',
    `EXPORT DATABASE 'OUTSIDE'`,
    'CALL duckdb_settings()',
  ])('%s', async (sql) => {
    await inFolder(async (folder) => {
      const inside = join(folder, 'inside');
      await mkdir(inside);
      await writeFile(join(folder, 'outside'), 'secret');
      const text = sql.replaceAll('OUTSIDE', join(folder, 'outside')).replaceAll('INSIDE', inside);
      await withDatabase(async (database) => {
        const run = async (): Promise<unknown> => await (await LakeQuery.open(database, text, { folder: inside })).run([]);
        await expect(run()).rejects.toThrow(/^[^\n]+$/);
      });
      expect(await readdir(folder, { recursive: true })).toEqual(['inside', 'outside']);
    });
  });
});

it('a fetch that fails ends after the others, and begins no further one', async () => {
  await inFolder(async (folder) => {
    let begun = 0;
    let open = 0;
    const store = new MemoryStore(async (operation, key) => {
      if (operation !== 'get') return;
      begun++;
      if (key.endsWith('0')) throw new Error('the store is away');
      open++;
    });
    for (let i = 0; i < 10; i++) await store.putIfAbsent(`x/${i}`, Buffer.from('body'));
    const objects = Array.from({ length: 10 }, (_, i) => ({ key: `x/${i}`, sizeBytes: 4 }));
    await expect(fetchObjects(store, objects, folder)).rejects.toThrow('the store is away');
    expect(begun).toBe(4);
    expect(await readdir(join(folder, 'x'))).toHaveLength(open);
  });
});
