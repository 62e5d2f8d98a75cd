import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditLake } from './audit.ts';
import { lookAtFooter } from './audit-entry.ts';
import { decodeObject } from './decode-object.ts';
import { Database } from './duckdb.ts';
import { FileDamage } from './file-damage.ts';
import { Ledger } from './ledger.ts';
import { formatEntry } from './ledger-entry.ts';
import { entryKey } from './object-names.ts';
import { ArchivedLake, LAKE, NINE, run } from './testing/archived-lake.ts';
import { CHAIN, inFolder, MemoryStore } from './testing/index.ts';

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
    expect(damaged).toContainEqual(expect.objectContaining({ first: 10, detail: expect.stringContaining(cut) }));
    expect(damaged).toContainEqual(expect.objectContaining({ first: 20, detail: expect.stringContaining('first is 0, and should be 20') }));
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

  it('goes on whatever is wrong with the content of one object or entry: each is a finding, and the others are looked at', async () => {
    const lake = new ArchivedLake(database);
    for (let first = 0; first < 60; first += 10) await lake.add(run(first, first + 10));
    const [, empty, short, unreadable, gone] = lake.keys as [string, string, string, string, string];
    lake.store.objects.set(empty, Buffer.alloc(0));
    lake.store.objects.set(short, Buffer.alloc(11));
    const badEntry = entryKey(LAKE, CHAIN, 50);
    const store = new MemoryStore(
      async (operation, key) => {
        // As S3Store does where the store's own checksum does not fit.
        if (operation === 'get' && [unreadable, badEntry].includes(key)) throw new FileDamage(key, 'its bytes do not fit the checksum');
        if (operation === 'get' && key === gone) lake.store.objects.delete(gone);
      },
      undefined,
      lake.store.objects,
    );
    await inFolder(async (folder) => {
      for (const lookInto of [lookAtFooter, decodeObject(database, folder)]) {
        const { findings, partitions } = await auditLake(new Ledger(store, LAKE), { lookInto });
        expect(partitions).toMatchObject([{ objects: 1, rows: 10 }]);
        const kinds = findings.map((finding) => [finding.kind, 'first' in finding && finding.first]);
        for (const first of [10, 20, 30, 40])
          expect(kinds).toContainEqual([first === 40 ? expect.stringMatching(/^(damaged|missing)-object$/) : 'damaged-object', first]);
        expect(kinds).toContainEqual(['damaged-entry', 50]);
        for (const key of [empty, short, unreadable, badEntry])
          expect(
            findings.some(({ detail }) => detail.includes(key)),
            key,
          ).toBe(true);
      }
    });
  });

  it('an object of every length that it could be cut to is a finding', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 3));
    const [key] = lake.keys as [string];
    const whole = lake.store.objects.get(key) as Buffer;
    for (let bytes = 0; bytes < whole.length; bytes += bytes < 40 ? 1 : 101) {
      lake.store.objects.set(key, whole.subarray(0, bytes));
      expect((await auditLake(lake.ledger)).findings, `${bytes} bytes`).toMatchObject([{ kind: 'damaged-object', first: 0, next: 3 }]);
    }
  });

  it('finds every file that a reader of *.parquet would read and nobody claimed, whatever its name', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 3));
    const [own] = lake.keys as [string];
    const strangers = [
      'service-events/copy.parquet',
      'service-events/.parquet',
      own.replace('.parquet', ' (1).parquet'),
      own.replace(/dt=[^/]*/, 'dt=+030000-01-01'),
      own.replace('hour=09', 'hour=9'),
    ];
    for (const key of strangers) lake.store.objects.set(key, lake.store.objects.get(own) as Buffer);
    const { findings, partitions } = await auditLake(lake.ledger);
    expect(partitions).toMatchObject([{ objects: 1, rows: 3 }]);
    expect(findings).toHaveLength(strangers.length);
    for (const object of strangers)
      expect(findings).toContainEqual({ kind: 'unclaimed-object', object, detail: expect.stringContaining(object) });
  });

  it('never says that more objects were looked into than there are, also where an archiver goes on meanwhile', async () => {
    const lake = new ArchivedLake(database);
    await lake.add(run(0, 3));
    let listings = 0;
    const store = new MemoryStore(
      async (operation) => {
        // Behind the listing of the objects comes that of the chains.
        if (operation === 'list' && ++listings === 2) await lake.add(run(3, 6));
      },
      undefined,
      lake.store.objects,
    );
    const told: number[][] = [];
    await auditLake(new Ledger(store, LAKE), { progress: (done, all) => told.push([done, all]) });
    expect(told).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });

  it('says that it could not look when the store fails, instead of finding something', async () => {
    const failing = new MemoryStore(async (operation, key) => {
      if (operation === 'get' && key.endsWith('.json')) throw new Error('the store is away');
    });
    await failing.putIfAbsent(entryKey(LAKE, CHAIN, 0), Buffer.from('{}'));
    await expect(auditLake(new Ledger(failing, LAKE))).rejects.toThrow('the store is away');
  });
});
