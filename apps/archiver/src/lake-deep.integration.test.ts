import { randomUUID } from 'node:crypto';
import { Database, lakeLayout, S3Store } from '@tailrace/lake';
import { ArchivedLake, CHAIN, run } from '@tailrace/lake/testing';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { runLake } from './testing/processes.ts';

const { s3 } = endpointsFromEnvironment();
const prefix = `lake-deep-${randomUUID().slice(0, 8)}`;
const own = { TAILRACE_LAKE_PREFIX: prefix };
const store = new S3Store({ ...s3, endpoint: s3.endpointUrl });
let database: Database;
let lake: ArchivedLake;

beforeAll(async () => {
  database = await Database.open();
  lake = new ArchivedLake(database, lakeLayout({ prefix }));
  await lake.ledger.claim(CHAIN, { kind: 'genesis', first: 0, next: 5, attempt: randomUUID() });
  await lake.add(run(5, 205));
  await lake.add([...run(205, 210), ...run(212, 220)], { voids: [{ first: 210, next: 212 }] });
  await lake.ledger.claim(CHAIN, { kind: 'lost', first: 220, next: 230, attempt: randomUUID() });
  await lake.add(run(0, 3), { chain: { ...CHAIN, partition: 4 } });
  for (const [key, body] of lake.store.objects) await store.putIfAbsent(key, body);
});
afterEach(() => killFromSources());
afterAll(() => {
  database.close();
  store.close();
});

test('the ledger is shown entry by entry, all of it or one chain, for people and as JSON', async () => {
  const all = await runLake(['ledger', 'show'], own);
  expect([all.code, all.errors]).toEqual([0, '']);
  const lines = all.out.split('\n');
  expect(lines[0]).toBe('service-events~aB-_9xYz, partition 3: 4 entries, up to offset 230');
  expect(lines[1]).toBe('  genesis 0 to 4');
  expect(lines[2]).toMatch(
    /^ {2}data {4}5 to 204 {2}200 rows {2}2026-01-02T09:00:00\.000Z to .* lake-deep-.*\/dt=2026-01-02\/hour=09\/.*\.parquet$/,
  );
  expect(lines[3]).toContain('data    205 to 219  13 rows, 2 void offsets');
  expect(lines[4]).toBe('  lost    220 to 229');
  expect(lines[5]).toBe('service-events~aB-_9xYz, partition 4: 1 entry, up to offset 3');
  const one = await runLake(
    ['ledger', '--json', 'show', '--topic', CHAIN.topic, '--partition', '4', '--incarnation', CHAIN.incarnation],
    own,
  );
  expect(JSON.parse(one.out)).toMatchObject({
    chains: [{ partition: 4, entries: [{ kind: 'data', first: 0, next: 3, rows: 3, state: 'stands' }] }],
  });
  const other = await runLake(['ledger', 'show', '--partition', '99'], own);
  expect([other.code, other.out]).toEqual([2, '']);
  expect(other.errors).toContain(
    'no chain for --partition 99. It has --topic service-events --incarnation aB-_9xYz with the partitions 3, 4.',
  );
  for (const wrong of [['ledger'], ['ledger', 'nonsense'], ['ledger', 'show', '--partition', 'x']])
    expect((await runLake(wrong, own)).code, wrong.join(' ')).toBe(2);
}, 60_000);

test('a deep audit finds what the footers do not show, with the exact range, and says how far it is', async () => {
  const sound = await runLake(['audit', '--deep', '--no-kafka'], own);
  expect([sound.code, sound.errors]).toEqual([0, '3 of 3 objects decoded\n']);
  expect(sound.out).toContain('LOST, as declared: offsets 220 to 229');
  const [key] = lake.keys as [string];
  const damaged = Buffer.from(lake.store.objects.get(key) as Buffer);
  // The first column's data: the footer, and everything that a shallow audit looks at, stands at the other end.
  for (let at = 100; at < 140; at++) damaged[at] = (damaged[at] ?? 0) ^ 0xff;
  await store.delete(key);
  await store.putIfAbsent(key, damaged);
  expect((await runLake(['audit', '--no-kafka'], own)).code).toBe(0);
  const found = await runLake(['audit', '--deep', '--no-kafka'], own);
  expect(found.code).toBe(1);
  expect(found.out).toMatch(/damaged-object: service-events~aB-_9xYz, partition 3, offsets 5 to 204: /);
  const json = JSON.parse((await runLake(['audit', '--deep', '--no-kafka', '--json'], own)).out) as unknown;
  expect(json).toMatchObject({ clean: false, findings: [{ kind: 'damaged-object', partition: 3, first: 5, next: 205 }] });
}, 60_000);

test('damage of one object or entry in the store never ends an audit, a query says which it is, and the ledger is shown around it', async () => {
  const damagedPrefix = `${prefix}-damaged`;
  const here = { TAILRACE_LAKE_PREFIX: damagedPrefix };
  const there = new ArchivedLake(database, lakeLayout({ prefix: damagedPrefix }));
  for (const first of [0, 10, 20, 30]) await there.add(run(first, first + 10));
  const entries = [...there.store.objects.keys()].filter((key) => key.includes('/_ledger/')).sort();
  const [empty] = there.keys as [string];
  const [, , badEntry] = entries as [string, string, string];
  there.store.objects.set(empty, Buffer.alloc(0));
  there.store.objects.set(badEntry, Buffer.from('{'));
  for (const [key, body] of there.store.objects) await store.putIfAbsent(key, body);
  for (const flags of [[], ['--deep']]) {
    const audit = await runLake(['audit', '--no-kafka', ...flags], here);
    expect(audit.code, audit.errors).toBe(1);
    expect(audit.out).toContain(
      `damaged-object: service-events~aB-_9xYz, partition 3, offsets 0 to 9: The lake file ${empty} is damaged: it has 0 bytes`,
    );
    expect(audit.out).toContain('damaged-entry: service-events~aB-_9xYz, partition 3, offset 20:');
  }
  const query = await runLake(['query', 'SELECT count(*) FROM events'], here);
  expect([query.code, query.out]).toEqual([1, '']);
  expect(query.errors).toContain(`The lake file ${empty} is damaged`);
  const shown = await runLake(['ledger', 'show'], here);
  expect(shown.code).toBe(1);
  expect(shown.out.split('\n').filter((line) => line.startsWith('  '))).toEqual([
    expect.stringContaining('data    0 to 9'),
    expect.stringContaining('data    10 to 19'),
    expect.stringContaining(`DAMAGED 20 to ?  The ledger object ${badEntry} is damaged`),
    expect.stringContaining('data    30 to 39'),
  ]);
}, 60_000);
