import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chainParts, indexObjects } from './chain-parts.ts';
import { Database } from './duckdb.ts';
import { Ledger } from './ledger.ts';
import { dataKey, entryKey } from './object-names.ts';
import { oldestInLake } from './oldest-in-lake.ts';
import { planPartition, reachOf } from './replay-plan.ts';
import type { ChainPart } from './replay-sources.ts';
import { replayWindow } from './replay-window.ts';
import { ArchivedLake, CHAIN, MemoryStore, run } from './testing/index.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NINE = Date.UTC(2026, 0, 2, 9);
const LAKE = { prefix: 'lake', stream: 'service-events' };

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const KINDS = ['data', 'data', 'data', 'data', 'data', 'genesis', 'void', 'lost', 'noted', 'damaged', 'vanished'] as const;
const entry = fc.record({
  length: fc.integer({ min: 1, max: 9 }),
  kind: fc.constantFrom(...KINDS),
  minutes: fc.integer({ min: -70, max: 130 }),
});

it('what is read of a chain says the same as all of it, whatever stands in it', async () => {
  const seed = randomInt(2 ** 31);
  console.log(`chain-parts seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 30, size: 'max' }), async (entries) => {
      const store = new MemoryStore();
      const ledger = new Ledger(store, LAKE);
      const truth: ChainPart[] = [];
      let first = 0;
      let timeMs = NINE;
      for (const { length, kind, minutes } of entries) {
        const next = first + length;
        timeMs += minutes * MINUTE_MS;
        const body = {
          kind: 'data',
          first,
          next,
          attempt: 'a',
          object: dataKey(LAKE, CHAIN, first, timeMs),
          voids: [],
          checksum: 'c',
        } as const;
        const facts = { rows: length, minTimestampMs: timeMs, maxTimestampMs: timeMs + 1 };
        if (kind === 'genesis' || kind === 'void' || kind === 'lost') {
          await ledger.claim(CHAIN, { kind, first, next, attempt: 'a' });
          truth.push({ kind: kind === 'genesis' ? 'before-archive' : kind, first, next });
        } else if (kind === 'damaged') await store.putIfAbsent(entryKey(LAKE, CHAIN, first), Buffer.from('nonsense'));
        else {
          await ledger.claim(CHAIN, { ...body, ...facts });
          if (kind === 'noted') await ledger.noteLost(CHAIN, { first, next });
          if (kind === 'noted') truth.push({ kind: 'lost', first, next });
          if (kind === 'data') await store.putIfAbsent(body.object, Buffer.from('rows'));
          if (kind === 'data') truth.push({ kind: 'data', first, next, bytes: 4, ...facts });
        }
        first = next;
      }
      const sources = (parts: readonly ChainPart[]) => ({ ...CHAIN, parts, log: null, archived: true });
      const parts = await chainParts(ledger, CHAIN, await indexObjects(ledger));
      const oldest = replayWindow([sources(truth)]).partitions[0]?.lake?.oldest;
      expect(await oldestInLake(ledger, CHAIN)).toEqual(oldest == null ? { kind: 'none' } : { kind: 'found', ...oldest });
      expect(replayWindow([sources(parts)])).toEqual(replayWindow([sources(truth)]));
      expect(parts.map(({ kind, first: from, next }) => ({ kind, from, next }))).toEqual(
        truth.map(({ kind, first: from, next }) => ({ kind, from, next })),
      );
      const reads = parts.map((part) => (part.kind === 'data' && part.isOfHour === true ? undefined : part));
      for (const [i, part] of reads.entries()) if (part !== undefined) expect(part).toEqual(truth[i]);
    }),
    { seed, numRuns: 400 },
  );
});

it('of a long chain only the ends, and the hours that a window meets, are read', async () => {
  const gets: string[] = [];
  const store = new MemoryStore(async (operation, key) => {
    if (operation === 'get' && key.includes('_ledger')) gets.push(key);
  });
  const ledger = new Ledger(store, LAKE);
  // Six objects an hour for three days; those of the hours that are looked into are real files.
  const lake = new ArchivedLake(database, LAKE);
  const reach = { fromMs: NINE + 30 * HOUR_MS, toMs: NINE + 31 * HOUR_MS };
  for (let i = 0; i < 432; i++) {
    const timestampMs = NINE + i * 10 * MINUTE_MS;
    const isReal = timestampMs >= reach.fromMs - HOUR_MS && timestampMs < reach.toMs + HOUR_MS;
    if (isReal) await lake.add(run(i * 5, i * 5 + 5, timestampMs));
    const object = dataKey(LAKE, CHAIN, i * 5, timestampMs);
    const times = { minTimestampMs: timestampMs, maxTimestampMs: timestampMs + 4 };
    await ledger.claim(CHAIN, {
      kind: 'data',
      first: i * 5,
      next: i * 5 + 5,
      attempt: 'a',
      object,
      rows: 5,
      voids: [],
      checksum: 'c',
      ...times,
    });
    await store.putIfAbsent(object, isReal ? ((await lake.store.get(object)) ?? Buffer.alloc(0)) : Buffer.from('rows'));
  }
  const index = await indexObjects(ledger);
  gets.length = 0;
  expect(await chainParts(ledger, CHAIN, index)).toHaveLength(432);
  expect(gets).toHaveLength(2);
  const parts = await chainParts(ledger, CHAIN, index, reach);
  expect(gets).toHaveLength(2 + 2 + 6 + 2);
  expect(parts.filter((part) => part.kind === 'data' && part.isOfHour !== true).map(({ first }) => first / 5)).toEqual([
    0, 179, 180, 181, 182, 183, 184, 185, 186, 431,
  ]);
}, 60_000);

it('of an object that holds a rest only, what is below is lost', async () => {
  const lake = new ArchivedLake(database, LAKE);
  await lake.add(run(4, 10), { first: 0 });
  const parts = await chainParts(lake.ledger, CHAIN, await indexObjects(lake.ledger), { fromMs: NINE, toMs: NINE + HOUR_MS });
  expect(parts).toMatchObject([
    { kind: 'lost', first: 0, next: 4 },
    { kind: 'data', first: 4, next: 10, rows: 6 },
  ]);
});

it('a hole that is wider than the window, without a trace in the bucket, is seen by who plans that window', async () => {
  const lake = new ArchivedLake(database, LAKE);
  for (const hour of [0, 1, 2, 6, 7, 8]) await lake.add(run(hour * 10, hour * 10 + 10, NINE + hour * HOUR_MS));
  const reach = { fromMs: NINE + 4 * HOUR_MS, toMs: NINE + 5 * HOUR_MS };
  const parts = await chainParts(lake.ledger, CHAIN, await indexObjects(lake.ledger), reach);
  expect(parts.map(({ first, next }) => [first, next])).toEqual([0, 1, 2, 6, 7, 8].map((hour) => [hour * 10, hour * 10 + 10]));
});

it('a clock that went back across the window is seen, though no object of the window is beside the step', async () => {
  const lake = new ArchivedLake(database, LAKE);
  // The third object begins 5 hours before the second one; the window lies between them, and the time of the sixth comes by it again.
  for (const [place, hour] of [8, 9, 4, 5, 6, 7].entries()) await lake.add(run(place * 10, place * 10 + 10, NINE + hour * HOUR_MS));
  const window = { fromMs: NINE + 7 * HOUR_MS, toMs: NINE + 7 * HOUR_MS + MINUTE_MS, by: 'broker', skewMs: 0 } as const;
  const parts = await chainParts(lake.ledger, CHAIN, await indexObjects(lake.ledger), reachOf(window));
  expect(planPartition(window, { ...CHAIN, parts, log: null, archived: true, index: null })).toMatchObject({
    ranges: [{ first: 50, next: 60 }],
    clockSteps: [{ offset: 20, backMs: 5 * HOUR_MS + 9 }],
  });
});
