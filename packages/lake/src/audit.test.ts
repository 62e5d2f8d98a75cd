import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLake } from './audit.ts';
import { Database } from './duckdb.ts';
import { Ledger } from './ledger.ts';
import { formatEntry } from './ledger-entry.ts';
import { entryKey } from './object-names.ts';
import { ArchivedLake, LAKE, NINE, run } from './testing/archived-lake.ts';
import { CHAIN, MemoryStore } from './testing/index.ts';

const HOUR_MS = 3_600_000;

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

describe('an audit', () => {
  it('finds nothing in a lake that is as it should be, and says what it holds', async () => {
    const lake = new ArchivedLake(database);
    await lake.ledger.claim(CHAIN, { kind: 'genesis', first: 0, next: 50, attempt: 'g' });
    await lake.add(run(50, 60));
    await lake.add(run(60, 61, NINE + HOUR_MS));
    await lake.ledger.claim(CHAIN, { kind: 'lost', first: 61, next: 70, attempt: 'l' });
    await lake.add(run(70, 75));
    await lake.add(run(0, 3), { chain: { ...CHAIN, partition: 4 } });
    const report = await auditLake(lake.ledger);
    expect(report.findings).toEqual([]);
    expect(report.partitions).toMatchObject([
      {
        partition: 3,
        next: 75,
        objects: 3,
        rows: 16,
        beforeArchive: [{ first: 0, next: 50 }],
        lost: [{ first: 61, next: 70 }],
        pending: null,
      },
      { partition: 4, next: 3, objects: 1, rows: 3, beforeArchive: [], lost: [] },
    ]);
  });

  it('tells a claim that is still being filled from an object that is missing', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10), { put: false });
    const pending = await auditLake(lake.ledger);
    expect(pending).toMatchObject({ findings: [], partitions: [{ next: 0, objects: 0, pending: { first: 0, next: 10 } }] });
    await lake.add(run(10, 12));
    const missing = await auditLake(lake.ledger);
    expect(missing.findings).toMatchObject([{ kind: 'missing-object', partition: 3, first: 0, next: 10 }]);
  });

  it('counts what a repair could not bring back as lost, whole or in part', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10), { put: false });
    await lake.ledger.noteLost(CHAIN, { first: 0, next: 10 });
    await lake.add(run(14, 20), { first: 10 });
    const report = await auditLake(lake.ledger);
    expect(report).toMatchObject({
      findings: [],
      partitions: [
        {
          next: 20,
          rows: 6,
          lost: [
            { first: 0, next: 10 },
            { first: 10, next: 14 },
          ],
        },
      ],
    });
  });

  it('tells voids inside an object from what of it is lost', async () => {
    const lake = new ArchivedLake(database);
    const voids = [
      { first: 2, next: 5 },
      { first: 7, next: 8 },
    ];
    await lake.add([...run(0, 2), ...run(5, 7), ...run(8, 10)], { voids });
    const behind = voids.map(({ first, next }) => ({ first: first + 10, next: next + 10 }));
    // Of [10, 20) a repair found only what lies behind 16 in Kafka.
    await lake.add([...run(16, 17), ...run(18, 20)], { first: 10, voids: behind });
    expect(await auditLake(lake.ledger)).toMatchObject({
      findings: [],
      partitions: [
        {
          next: 20,
          rows: 9,
          voids: [...voids, ...behind],
          lost: [
            { first: 10, next: 12 },
            { first: 15, next: 16 },
          ],
        },
      ],
    });
  });

  it('names gaps and overlaps by their exact ranges', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10));
    await lake.add(run(12, 20));
    await lake.add(run(17, 30));
    expect((await auditLake(lake.ledger)).findings).toMatchObject([
      { kind: 'gap', first: 10, next: 12 },
      { kind: 'overlap', first: 17, next: 20 },
    ]);
  });

  it('finds objects that nobody claimed, that are cut off, and that hold other rows than their entry says', async () => {
    const lake = new ArchivedLake(database);
    for (const first of [0, 10, 20]) await lake.add(run(first, first + 10));
    const [stranger, cut, swapped] = lake.keys as [string, string, string];
    lake.store.objects.delete(entryKey(LAKE, CHAIN, 0));
    lake.store.objects.set(cut, (lake.store.objects.get(cut) as Buffer).subarray(0, 1000));
    lake.store.objects.set(swapped, lake.store.objects.get(stranger) as Buffer);
    const { findings } = await auditLake(lake.ledger);
    expect(findings.filter(({ kind }) => kind === 'unclaimed-object')).toMatchObject([
      { first: 0, detail: expect.stringContaining(stranger) },
    ]);
    expect(findings.filter(({ kind }) => kind === 'gap')).toMatchObject([{ first: 0, next: 10 }]);
    const damaged = findings.filter(({ kind }) => kind === 'damaged-object');
    expect(damaged.some(({ first, detail }) => first === 10 && detail.includes(cut))).toBe(true);
    expect(damaged.some(({ first, detail }) => first === 20 && detail.includes('first is 0, and should be 20'))).toBe(true);
  });

  it('finds rows of another hour than the key says', async () => {
    const lake = new ArchivedLake(database);
    await lake.add([...run(0, 2), ...run(2, 4, NINE + HOUR_MS)]);
    expect((await auditLake(lake.ledger)).findings).toMatchObject([
      { kind: 'damaged-object', detail: expect.stringContaining('another hour') },
    ]);
  });

  it('finds damaged entries, and an unfinished upload is none of its business', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 10));
    await lake.add(run(10, 20));
    lake.store.objects.set(`${lake.keys[0]}-4b2f0c1e`, Buffer.from('half'));
    expect((await auditLake(lake.ledger)).findings).toEqual([]);
    const key = entryKey(LAKE, CHAIN, 10);
    lake.store.objects.set(key, formatEntry({ kind: 'genesis', first: 11, next: 20, attempt: 'x' }));
    const { findings } = await auditLake(lake.ledger);
    expect(findings[0]).toMatchObject({ kind: 'damaged-entry', first: 10, detail: expect.stringContaining(key) });
  });

  it('says that it could not look when the store fails, instead of finding something', async () => {
    const failing = new MemoryStore(async (operation, key) => {
      if (operation === 'get' && key.endsWith('.json')) throw new Error('the store is away');
    });
    await failing.putIfAbsent(entryKey(LAKE, CHAIN, 0), Buffer.from('{}'));
    await expect(auditLake(new Ledger(failing, LAKE))).rejects.toThrow('the store is away');
  });
});
