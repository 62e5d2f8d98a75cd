import { afterAll, beforeAll, expect, it } from 'vitest';
import { listChain } from './chain-listing.ts';
import { Database } from './duckdb.ts';
import { entryKey } from './object-names.ts';
import { ArchivedLake, LAKE, run } from './testing/archived-lake.ts';
import { CHAIN } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

it('lists a chain entry by entry, with what became of its claims', async () => {
  const lake = new ArchivedLake(database);
  await lake.ledger.claim(CHAIN, { kind: 'genesis', first: 0, next: 10, attempt: 'g' });
  await lake.add(run(10, 20));
  await lake.add(run(20, 30), { put: false });
  await lake.ledger.noteLost(CHAIN, { first: 20, next: 30 });
  await lake.ledger.claim(CHAIN, { kind: 'lost', first: 30, next: 40, attempt: 'l' });
  await lake.add(run(40, 45), { put: false });
  const listed: unknown[] = [];
  for await (const each of listChain(lake.ledger, CHAIN))
    listed.push('damage' in each ? each : [each.entry.kind, each.entry.first, each.entry.next, each.state]);
  expect(listed).toEqual([
    ['genesis', 0, 10, 'stands'],
    ['data', 10, 20, 'stands'],
    ['data', 20, 30, 'lost'],
    ['lost', 30, 40, 'stands'],
    ['data', 40, 45, 'pending'],
  ]);
});

it('lists what is around a damaged entry, and the damage in its place', async () => {
  const lake = new ArchivedLake(database);
  for (let first = 0; first < 40; first++) await lake.ledger.claim(CHAIN, { kind: 'void', first, next: first + 1, attempt: 'v' });
  const bad = [0, 17, 39];
  for (const first of bad) lake.store.objects.set(entryKey(LAKE, CHAIN, first), Buffer.from(first === 0 ? '' : '{"first":'));
  const listed: number[] = [];
  const damaged: number[] = [];
  for await (const each of listChain(lake.ledger, CHAIN)) {
    if (!('damage' in each)) listed.push(each.entry.first);
    else {
      damaged.push(each.first);
      expect(each.damage.message).toContain(entryKey(LAKE, CHAIN, each.first));
    }
  }
  expect(damaged).toEqual(bad);
  expect(listed).toHaveLength(37);
});

it('finds every chain, also of names that begin alike, by one listing for each', async () => {
  const lake = new ArchivedLake(database);
  const chains = [
    { topic: 'a', incarnation: 'life___1', partition: 1 },
    { topic: 'a', incarnation: 'life___1', partition: 10 },
    { topic: 'a', incarnation: 'life___1', partition: 2 },
    { topic: 'a', incarnation: 'life___2', partition: 1 },
    { topic: 'a-b', incarnation: 'life___1', partition: 0 },
    { topic: 'ab', incarnation: '-ife___1', partition: 0 },
  ];
  for (const chain of chains)
    for (let first = 0; first < 5; first++) await lake.ledger.claim(chain, { kind: 'void', first, next: first + 1, attempt: 'v' });
  const found = await lake.ledger.chains();
  expect(found).toHaveLength(chains.length);
  expect(found).toEqual(expect.arrayContaining(chains));
  expect(await lake.ledger.lives('a')).toEqual(['life___1', 'life___2']);
  expect(await lake.ledger.lives('ab')).toEqual(['-ife___1']);
  expect(await lake.ledger.lives('nothing')).toEqual([]);
});
