import { randomUUID } from 'node:crypto';
import { auditLake, type OffsetRange } from '@tailrace/lake';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NotVoid } from './faults.ts';
import { batchOf, CHAIN, laneOf, logRecords, NINE, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

const LONG_IDLE_MS = 60_000;
const HOUR_MS = 3_600_000;
let world: SinkWorld | undefined;
let signal: AbortSignal;
beforeEach(() => {
  signal = new AbortController().signal;
});

async function open(options: WorldOptions = {}): Promise<SinkWorld> {
  world = await SinkWorld.open({ idleMs: LONG_IDLE_MS, ...options });
  return world;
}
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const spooled = (w: SinkWorld, rows: number) => vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(rows));

describe('offsets that hold no record', () => {
  it('are noted in the object whose rows are around them, and read again once for all of them', async () => {
    const read: (readonly OffsetRange[])[] = [];
    const w = await open({
      confirmVoids: async (_, voids) => {
        if (voids.length > 0) read.push(voids);
        return undefined;
      },
    });
    await w.sink.assign(laneOf());
    const writes: Promise<unknown>[] = [];
    for (const first of [0, 8, 16]) {
      writes.push(w.sink.write(batchOf(logRecords(first, first + 5)), signal));
      await w.sink.gap(laneOf(), { kind: 'void', from: first + 5, to: first + 7 });
      await w.sink.gap(laneOf(), { kind: 'void', from: first + 7, to: first + 8 });
    }
    await w.sink.flush('stop', [CHAIN]);
    await Promise.all(writes);
    const inside = [
      { first: 5, next: 8 },
      { first: 13, next: 16 },
    ];
    expect(read).toEqual([inside, [{ first: 21, next: 24 }]]);
    expect(await w.archived()).toEqual([[...logRecords(0, 5), ...logRecords(8, 13), ...logRecords(16, 21)]]);
    expect(await auditLake(w.ledger)).toMatchObject({
      findings: [],
      partitions: [{ next: 24, rows: 15, objects: 1, voids: [{ first: 21, next: 24 }, ...inside] }],
    });
    expect(w.seen('void-declared')).toMatchObject([{ first: 21, next: 24 }]);
    // Another archiver goes on behind it, and one that is told of it again has nothing to do.
    expect(await w.sink.assign(laneOf())).toEqual({ startAt: 24 });
    await w.sink.gap(laneOf(), { kind: 'void', from: 21, to: 24 });
  });

  it('stand between two objects where the next row is not for the open one, and alone where none is open', async () => {
    const timeOf = (offset: number): number => NINE + (offset < 8 ? 0 : HOUR_MS);
    const w = await open();
    await w.sink.assign(laneOf());
    await w.sink.gap(laneOf(), { kind: 'void', from: 0, to: 2 });
    const before = w.sink.write(batchOf(logRecords(2, 5, timeOf)), signal);
    await w.sink.gap(laneOf(), { kind: 'void', from: 5, to: 8 });
    const behind = w.sink.write(batchOf(logRecords(8, 10, timeOf)), signal);
    await before;
    await w.sink.flush('stop', [CHAIN]);
    await behind;
    expect(w.seen('void-declared')).toMatchObject([
      { first: 0, next: 2 },
      { first: 5, next: 8 },
    ]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 10, objects: 2 }] });
  });

  it.each(['between two rows', 'before any'])(
    'are not declared where a second reader finds a record, %s: the lane is read again',
    async (where) => {
      const w = await open({
        confirmVoids: async (chain, [range]) => {
          if (range !== undefined) throw new NotVoid(chain, range, 6);
          return undefined;
        },
      });
      await w.sink.assign(laneOf({ logStart: 5 }));
      const writes = where === 'before any' ? [] : [w.sink.write(batchOf(logRecords(5, 6)), signal)];
      const [from, to] = where === 'before any' ? [5, 9] : [6, 9];
      const gap = w.sink.gap(laneOf(), { kind: 'void', from, to });
      const failed = [gap.then(() => w.sink.write(batchOf(logRecords(9, 10)), signal)), ...writes].map((each) =>
        expect(each).rejects.toThrow(NotVoid),
      );
      if (where !== 'before any') {
        await spooled(w, 2);
        await w.sink.flush('stop', [CHAIN]);
      }
      await Promise.all(failed);
      expect(await w.sink.assign(laneOf())).toEqual({ startAt: 5 });
      expect(w.seen('void-declared')).toEqual([]);
      expect(await w.archived()).toEqual([]);
    },
  );

  it('are lost where nobody can read them again: the object ends before them, and another begins behind', async () => {
    const w = await open({
      confirmVoids: async (_, voids) => voids.find(({ first }) => first >= 13)?.first,
      logStart: () => 40,
    });
    await w.sink.assign(laneOf());
    const writes: Promise<unknown>[] = [];
    for (const first of [0, 8, 16]) {
      if (first > 0) await w.sink.gap(laneOf(), { kind: 'void', from: first - 3, to: first });
      writes.push(w.sink.write(batchOf(logRecords(first, first + 5)), signal));
    }
    await spooled(w, 15);
    await w.sink.flush('stop', [CHAIN]);
    await Promise.all(writes);
    expect(w.seen('loss-declared')).toMatchObject([{ first: 13, next: 16 }]);
    expect(await w.archived()).toEqual([[...logRecords(0, 5), ...logRecords(8, 13)], logRecords(16, 21)]);
    expect(await auditLake(w.ledger)).toMatchObject({
      findings: [],
      partitions: [{ next: 21, voids: [{ first: 5, next: 8 }], lost: [{ first: 13, next: 16 }] }],
    });
  });

  it('are cut like rows where another archiver’s entry ends within them', async () => {
    const w = await open();
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 5)), signal);
    await w.sink.gap(laneOf(), { kind: 'void', from: 5, to: 9 });
    const behind = w.sink.write(batchOf(logRecords(9, 12)), signal);
    await spooled(w, 8);
    await w.ledger.claim(CHAIN, { kind: 'lost', first: 0, next: 7, attempt: randomUUID() });
    await w.sink.flush('stop', [CHAIN]);
    await Promise.all([write, behind]);
    expect(w.seen('void-declared')).toMatchObject([{ first: 7, next: 9 }]);
    expect(await w.archived()).toEqual([logRecords(9, 12)]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 12 }] });
  });
});
