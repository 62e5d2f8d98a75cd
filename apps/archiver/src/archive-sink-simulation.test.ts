import { randomInt } from 'node:crypto';
import { auditLake, type LakeRecord, StoreError } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { expect, it } from 'vitest';
import { NotVoid } from './faults.ts';
import { batchOf, CHAIN, laneOf, logRecords, NINE, SinkWorld } from './testing/sink-world.ts';
import type { ConfirmVoids } from './void-reader.ts';

const LOG_END = 120;
const RUNS = 6;
/** Every fourth record arrives in the next hour or back in the first: objects stay small. */
const timeOf = (offset: number): number => NINE + Math.floor(offset / 25) * 3_600_000;

function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Markers and aborted records of transactions. */
const isVoid = (offset: number): boolean => offset % 13 === 4 || offset % 17 === 8 || offset % 17 === 9;
const rowsOf = (first: number, next: number): LakeRecord[] => logRecords(first, next, timeOf).filter(({ offset }) => !isVoid(offset));

/** The test's log: it forgets its beginning while it is read. */
interface Log {
  start: number;
}

/** What a runtime would do next at `at`: tell of a gap, or hand over a run of records. Returns where it goes on. */
function step(
  world: SinkWorld,
  log: Log,
  at: number,
  most: number,
  signal: AbortSignal,
): { readonly next: number; readonly done: Promise<unknown> } {
  if (at < log.start) {
    const to = log.start;
    return { next: to, done: world.sink.gap(laneOf({ logEnd: LOG_END }), { kind: 'expired', from: at, to }) };
  }
  let next = at;
  if (isVoid(at)) {
    while (isVoid(next)) next++;
    return { next, done: world.sink.gap(laneOf({ logEnd: LOG_END }), { kind: 'void', from: at, to: next }) };
  }
  while (next < Math.min(LOG_END, at + most) && !isVoid(next)) next++;
  return { next, done: world.sink.write(batchOf(logRecords(at, next, timeOf)), signal) };
}

/** An archiver that reads the log from where its sink says, until it is revoked, aborted or at the log's end. */
async function live(world: SinkWorld, log: Log, pick: (below: number) => number): Promise<void> {
  const lane = new AbortController();
  let at = await assignUntilReached(world);
  const under: Promise<unknown>[] = [];
  const lives = 3 + pick(20);
  for (let i = 0; i < lives && at < LOG_END; i++) {
    const isGap = at < log.start || isVoid(at);
    const { next, done } = step(world, log, at, 1 + pick(12), lane.signal);
    // Rejected or not is all the same here: what counts is what stands in the lake at the end.
    const settled = done.then(
      () => true,
      () => false,
    );
    under.push(settled);
    // Nothing behind a gap is handed over before it was told; one that fails has the partition opened again.
    if (isGap && !(await settled)) at = await assignUntilReached(world);
    else at = next;
    if (pick(3) === 0) await new Promise((resolve) => setTimeout(resolve, pick(20)));
    if (pick(12) === 0) log.start = Math.min(LOG_END - 20, Math.max(log.start, at - pick(10)));
    if (pick(40) === 0) log.start = Math.min(LOG_END - 20, log.start + pick(15));
  }
  const ending = pick(3);
  if (ending === 0) await world.sink.flush('revoke', [CHAIN]);
  else if (ending === 1) await world.sink.flush('stop', [CHAIN]);
  else lane.abort();
  await Promise.all(under);
}

async function assignUntilReached(world: SinkWorld): Promise<number> {
  for (;;) {
    try {
      return (await world.sink.assign(laneOf({ logEnd: LOG_END }))).startAt;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

it(`has every offset exactly once, as a row, a void or a loss that is one, whatever fails and whoever takes over (${RUNS} random runs)`, async () => {
  let lostOffsets = 0;
  for (let run = 0; run < RUNS; run++) {
    const seed = randomInt(2 ** 31);
    const pick = numbers(seed);
    const log: Log = { start: 0 };
    let calm = false;
    const fail = async (): Promise<void> => {
      if (calm) return;
      if (pick(4) === 0) await new Promise((resolve) => setTimeout(resolve, pick(10)));
      if (pick(10) === 0) throw new StoreError('memory is away');
    };
    const store = new MemoryStore(fail, fail);
    const confirmVoids: ConfirmVoids = async (chain, voids) => {
      for (const hole of voids) {
        const [record] = rowsOf(Math.max(hole.first, log.start), hole.next);
        if (record !== undefined) throw new NotVoid(chain, hole, record.offset);
        if (hole.first < log.start) return hole.first;
      }
      return undefined;
    };
    const options = { store, timeOf, isVoid, confirmVoids, logStart: () => log.start, idleMs: 5, rotation: { maxRows: 20 } };
    // Two at once: the owner, and one that does not know that it no longer is.
    const worlds = await Promise.all([SinkWorld.open(options), SinkWorld.open(options)]);
    await Promise.all(
      worlds.map(async (world) => {
        for (let life = 0; life < 4; life++) await live(world, log, pick);
      }),
    );
    calm = true;
    const last = await SinkWorld.open(options);
    const never = new AbortController().signal;
    for (let at = await assignUntilReached(last); at < LOG_END; ) {
      const { next, done } = step(last, log, at, 20, never);
      await done;
      at = next;
    }
    await last.sink.flush('stop', [CHAIN]);
    const { findings, partitions } = await auditLake(last.ledger);
    expect(findings, `seed ${seed}`).toEqual([]);
    expect(partitions, `seed ${seed}`).toMatchObject([{ ...CHAIN, next: LOG_END, pending: null }]);
    const lost = (partitions[0]?.lost ?? []).flatMap(({ first, next }) => Array.from({ length: next - first }, (_, i) => first + i));
    for (const offset of lost) expect(offset, `seed ${seed}: lost`).toBeLessThan(log.start);
    for (const { first, next } of partitions[0]?.voids ?? []) expect(rowsOf(first, next), `seed ${seed}: void`).toEqual([]);
    const rows = rowsOf(0, LOG_END).filter(({ offset }) => !lost.includes(offset));
    expect((await last.archived()).flat(), `seed ${seed}`).toEqual(rows);
    lostOffsets += lost.length;
    for (const world of [...worlds, last]) await world.close();
  }
  // Else nothing expired before it was archived, and the runs show nothing about that.
  expect(lostOffsets).toBeGreaterThan(0);
}, 60_000);
