import { randomInt } from 'node:crypto';
import { HistoryHole, type HistoryPart } from '@tailrace/kafka-kit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { LakeHistory } from './lake-history.ts';
import { entryKey } from './object-names.ts';
import { ArchivedLake, CHAIN, inFolder, run } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const never = new AbortController().signal;

/** What is read of `[from, to)`: offsets of records as numbers, and what lies between them by its kind. */
async function readAll(
  lake: ArchivedLake,
  from: number,
  to: number,
  heldBytes?: number,
): Promise<{ seen: (number | string)[]; hole: HistoryHole | undefined }> {
  return await inFolder(async (folder) => {
    const seen: (number | string)[] = [];
    try {
      for await (const part of new LakeHistory({
        ledger: lake.ledger,
        database,
        folder,
        ...(heldBytes === undefined ? {} : { heldBytes }),
      }).read(CHAIN, from, to, never))
        seen.push(...flat(part));
      return { seen, hole: undefined };
    } catch (fault) {
      if (!(fault instanceof HistoryHole)) throw fault;
      return { seen, hole: fault };
    }
  });
}

function flat(part: HistoryPart): (number | string)[] {
  if (part.kind === 'records') return part.records.map(({ offset }) => offset);
  return Array.from({ length: part.to - part.from }, (_, i) => `${part.kind} ${part.from + i}`);
}

const KINDS = ['data', 'data', 'data', 'genesis', 'void', 'lost', 'noted', 'rest', 'holey', 'gone', 'skipped', 'damaged'] as const;
const entry = fc.record({ length: fc.integer({ min: 3, max: 9 }), kind: fc.constantFrom(...KINDS) });

it('gives each offset of any chain once, in order, and stops at the first that nobody keeps and nobody declared', {
  timeout: 60_000,
}, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`lake-history seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 8 }), fc.nat(70), fc.nat(70), async (entries, from, length) => {
      const lake = new ArchivedLake(database);
      const truth: (number | string | undefined)[] = [];
      let first = 0;
      // The last entry is whole: a chain ends where nothing stands behind a hole.
      for (const { length: span, kind } of [...entries, { length: 3, kind: 'data' as const }]) {
        const next = first + span;
        const tell = (of: (offset: number) => number | string | undefined): void => {
          for (let offset = first; offset < next; offset++) truth.push(of(offset));
        };
        if (kind === 'genesis' || kind === 'void' || kind === 'lost') {
          await lake.ledger.claim(CHAIN, { kind, first, next, attempt: 'a' });
          tell((offset) => `${kind === 'genesis' ? 'before-archive' : kind} ${offset}`);
        } else if (kind === 'data') {
          await lake.add(run(first, next));
          tell((offset) => offset);
        } else if (kind === 'rest') {
          await lake.add(run(first + 2, next), { first });
          const held = first + 2;
          tell((offset) => (offset < held ? `lost ${offset}` : offset));
        } else if (kind === 'holey') {
          const hole = first + 1;
          await lake.add(
            run(first, next).filter(({ offset }) => offset !== hole),
            { voids: [{ first: hole, next: hole + 1 }] },
          );
          tell((offset) => (offset === hole ? `void ${offset}` : offset));
        } else if (kind === 'noted') {
          await lake.add(run(first, next), { put: false });
          await lake.ledger.noteLost(CHAIN, { first, next });
          tell((offset) => `lost ${offset}`);
        } else {
          if (kind === 'gone') await lake.add(run(first, next), { put: false });
          if (kind === 'damaged') await lake.store.putIfAbsent(entryKey(lake.ledger.lake, CHAIN, first), Buffer.from('nonsense'));
          tell(() => undefined);
        }
        first = next;
      }
      const wanted = truth.slice(from, from + length);
      const bad = wanted.indexOf(undefined);
      const { seen, hole } = await readAll(lake, from, from + length);
      expect(seen).toEqual(bad === -1 ? wanted : wanted.slice(0, bad));
      expect(hole?.from).toBe(bad === -1 ? undefined : from + bad);
    }),
    { seed, numRuns: 150 },
  );
});

it('ends at the chain’s end: behind its last entry, and before a last claim whose object is not there yet', async () => {
  const lake = new ArchivedLake(database);
  await lake.add(run(0, 5));
  expect(await readAll(lake, 3, 100)).toEqual({ seen: [3, 4], hole: undefined });
  await lake.add(run(5, 9), { put: false });
  expect(await readAll(lake, 3, 100)).toEqual({ seen: [3, 4], hole: undefined });
  expect(await readAll(lake, 50, 100)).toEqual({ seen: [], hole: undefined });
  expect(await readAll(new ArchivedLake(database), 0, 100)).toEqual({ seen: [], hole: undefined });
});

it('calls an object that can not be read a hole, by its name', async () => {
  const lake = new ArchivedLake(database);
  await lake.add(run(0, 5), { put: false });
  await lake.add(run(5, 9));
  await lake.store.putIfAbsent(lake.keys[0] ?? '', Buffer.from('no Parquet, but long enough'));
  const { seen, hole } = await readAll(lake, 0, 9);
  expect(seen).toEqual([]);
  expect(hole).toMatchObject({ from: 0, to: 5, message: expect.stringContaining(lake.keys[0] ?? '') });
});

it.each([undefined, 1])('gives nothing of an object whose checksum differs, however large it is (held: %s bytes)', async (heldBytes) => {
  const [sound, damaged] = [new ArchivedLake(database), new ArchivedLake(database)];
  for (const lake of [sound, damaged]) {
    await lake.add(run(0, 5));
    await lake.add(run(5, 5000), { put: lake === sound });
  }
  const key = damaged.keys[1] ?? '';
  const body = Buffer.from((await sound.store.get(key)) ?? '');
  const at = body.indexOf('"checksum":"') + '"checksum":"'.length;
  const digit = String.fromCharCode(body[at] ?? 0);
  body.write(digit === '0' ? '1' : '0', at);
  await damaged.store.putIfAbsent(key, body);
  expect((await readAll(sound, 3, 5000, heldBytes)).seen.length).toBe(4997);
  const { seen, hole } = await readAll(damaged, 3, 5000, heldBytes);
  expect(seen).toEqual([3, 4]);
  expect(hole).toMatchObject({ from: 5, to: 5000, message: expect.stringContaining('checksum') });
});
