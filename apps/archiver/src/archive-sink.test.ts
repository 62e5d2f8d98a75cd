import { randomUUID } from 'node:crypto';
import { STORED } from '@tailrace/kafka-kit';
import { auditLake, type DataEntry, dataKey, StoreError } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rawBytes } from './batch-records.ts';
import { Abandoned } from './faults.ts';
import { batchOf, CHAIN, LAKE, laneOf, logRecords, NINE, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

const HOUR_MS = 3_600_000;
let world: SinkWorld | undefined;
let signal: AbortSignal;
beforeEach(() => {
  signal = new AbortController().signal;
});

async function open(options: WorldOptions = {}): Promise<SinkWorld> {
  world = await SinkWorld.open(options);
  return world;
}
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const settled = async (promise: Promise<unknown>): Promise<string> =>
  await Promise.race([
    promise.then(
      () => 'resolved',
      () => 'rejected',
    ),
    new Promise<string>((resolve) => setTimeout(() => resolve('pending'), 20)),
  ]);

function claimOf(first: number, next: number): DataEntry {
  const object = dataKey(LAKE, CHAIN, first, NINE);
  return {
    kind: 'data',
    first,
    next,
    attempt: randomUUID(),
    object,
    rows: next - first,
    minTimestampMs: NINE,
    maxTimestampMs: NINE,
    voids: [],
    checksum: 'x',
  };
}

describe('the archive sink', () => {
  it('gathers batches into one object, and answers each record `stored` once that object stands', async () => {
    const { sink, ...w } = await open();
    expect(await sink.assign(laneOf())).toEqual({ startAt: 0 });
    const batches = [batchOf(logRecords(0, 10)), batchOf(logRecords(10, 11)), batchOf(logRecords(11, 30))];
    const writes = batches.map((batch) => sink.write(batch, signal));
    await vi.waitFor(() => expect(batches.every(({ released }) => released)).toBe(true));
    expect(w.store.objects.size).toBe(0);
    const outcomes = await Promise.all(writes);
    expect(outcomes.map((each) => each.length)).toEqual([10, 1, 19]);
    expect(new Set(outcomes.flat())).toEqual(new Set([STORED]));
    expect(await world?.archived()).toEqual([logRecords(0, 30)]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 30, rows: 30 }] });
    await vi.waitFor(async () => expect(await world?.spooled()).toEqual([]));
  });

  it('closes an object before the hour changes, also back, and by rows, bytes and record time', async () => {
    const later = (ms: number) => (offset: number) => NINE + (offset >= 5 ? ms : 0);
    const maxRawBytes = logRecords(5, 10).reduce((sum, record) => sum + rawBytes(record), 0);
    const cases = [
      { cause: 'hour', options: {}, timeOf: later(HOUR_MS) },
      { cause: 'hour', options: {}, timeOf: later(-HOUR_MS) },
      { cause: 'record-time', options: {}, timeOf: later(600_000) },
      { cause: 'rows', options: { rotation: { maxRows: 5 } }, timeOf: later(0) },
      {
        cause: 'bytes',
        options: {
          rotation: { maxRawBytes },
        },
        timeOf: later(0),
      },
    ] as const;
    for (const { cause, options, timeOf } of cases) {
      const w = await open(options);
      await w.sink.assign(laneOf());
      await w.sink.write(batchOf(logRecords(0, 10, timeOf)), signal);
      expect(
        (await w.archived()).map((rows) => rows.length),
        cause,
      ).toEqual([5, 5]);
      expect(w.seen('object-closed').map((event) => 'cause' in event && event.cause)).toEqual([cause, 'idle']);
      expect((await auditLake(w.ledger)).findings).toEqual([]);
      await w.close();
      world = undefined;
    }
  });

  it('takes the chain’s end for its position, and cuts off what is below it, also in the middle of a batch', async () => {
    const store = new MemoryStore();
    const first = await open({ store });
    await first.sink.assign(laneOf());
    await first.sink.write(batchOf(logRecords(0, 10)), signal);
    await first.close();
    const w = await open({ store });
    expect(await w.sink.assign(laneOf({ committed: 4 }))).toEqual({ startAt: 10 });
    const below = batchOf(logRecords(2, 8));
    expect(await w.sink.write(below, signal)).toEqual(Array(6).fill(STORED));
    await w.sink.write(batchOf(logRecords(8, 15)), signal);
    expect(await w.archived()).toEqual([logRecords(0, 10), logRecords(10, 15)]);
  });

  it('begins the chain of a log that begins above 0 with a genesis', async () => {
    const w = await open();
    expect(await w.sink.assign(laneOf({ logStart: 500 }))).toEqual({ startAt: 500 });
    await w.sink.write(batchOf(logRecords(500, 510)), signal);
    expect(await auditLake(w.ledger)).toMatchObject({
      findings: [],
      partitions: [{ next: 510, beforeArchive: [{ first: 0, next: 500 }] }],
    });
  });

  it('meets another archiver’s claim: makes sure of its object, and writes only the rows behind it', async () => {
    const w = await open();
    await w.sink.assign(laneOf());
    await w.ledger.claim(CHAIN, claimOf(0, 6));
    await w.sink.write(batchOf(logRecords(0, 10)), signal);
    expect(await w.archived()).toEqual([logRecords(0, 6), logRecords(6, 10)]);
    expect(w.seen('claim-met')).toMatchObject([{ first: 0, next: 6 }]);
    expect(w.seen('claim-checked')).toMatchObject([{ repair: { kind: 'changed' } }]);
  });

  it('meets a chain that is longer than everything it has: answers stored, and goes on behind it', async () => {
    const w = await open({ rotation: { maxRows: 5 } });
    await w.sink.assign(laneOf());
    await w.ledger.claim(CHAIN, claimOf(0, 8));
    await w.ledger.claim(CHAIN, claimOf(8, 20));
    await w.sink.write(batchOf(logRecords(0, 12)), signal);
    await w.sink.write(batchOf(logRecords(12, 25)), signal);
    expect(await w.archived()).toEqual([logRecords(0, 8), logRecords(8, 20), logRecords(20, 25)]);
    expect((await auditLake(w.ledger)).findings.filter(({ detail }) => !detail.includes('checksum'))).toEqual([]);
    await vi.waitFor(async () => expect(await w.spooled()).toEqual([]));
  });

  it('makes the object of a claim that a crash left without one, on assignment', async () => {
    const w = await open();
    await w.ledger.claim(CHAIN, claimOf(0, 6));
    expect(await w.sink.assign(laneOf())).toEqual({ startAt: 6 });
    expect(await w.archived()).toEqual([logRecords(0, 6)]);
  });

  it('on a revoke gives up what is not claimed, with its files, and finishes what is', async () => {
    let block: Promise<void> | undefined;
    let claimed = 0;
    const store = new MemoryStore(async (operation, key) => {
      if (operation === 'put' && key.endsWith('.parquet')) {
        claimed++;
        await block;
        if (claimed === 1) throw new StoreError('the answer was lost');
      }
    });
    const w = await open({ store, rotation: { maxRows: 5 }, idleMs: 60_000 });
    await w.sink.assign(laneOf());
    let go: () => void = () => {};
    block = new Promise((resolve) => {
      go = resolve;
    });
    const first = w.sink.write(batchOf(logRecords(0, 5)), signal);
    const second = w.sink.write(batchOf(logRecords(5, 10)), signal);
    const third = w.sink.write(batchOf(logRecords(10, 12)), signal);
    await vi.waitFor(() => expect(claimed).toBe(1));
    second.catch(() => {});
    third.catch(() => {});
    const flushed = w.sink.flush('revoke', [CHAIN]);
    expect(await settled(first)).toBe('pending');
    go();
    await flushed;
    expect(await first).toHaveLength(5);
    await expect(second).rejects.toThrow(Abandoned);
    await expect(third).rejects.toThrow(Abandoned);
    expect(await w.archived()).toEqual([logRecords(0, 5)]);
    expect(await w.spooled()).toEqual([]);
    expect(w.sink.views()).toEqual([]);
    await expect(w.sink.write(batchOf(logRecords(12, 13)), signal)).rejects.toThrow(Abandoned);
  });

  it('answers a batch when the object of its last record stands, and not one before', async () => {
    const w = await open({ rotation: { maxRows: 5 }, idleMs: 60_000 });
    await w.sink.assign(laneOf());
    const across = w.sink.write(batchOf(logRecords(0, 6)), signal);
    const behind = w.sink.write(batchOf(logRecords(6, 7)), signal);
    await vi.waitFor(() => expect(w.seen('object-stored')).toHaveLength(1));
    expect([await settled(across), await settled(behind)]).toEqual(['pending', 'pending']);
    await w.sink.flush('stop', [CHAIN]);
    expect([await settled(across), await settled(behind)]).toEqual(['resolved', 'resolved']);
  });

  it('on a stop makes an object of what is open', async () => {
    const w = await open({ idleMs: 60_000 });
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 5)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(5));
    await w.sink.flush('stop', [CHAIN]);
    expect(await write).toHaveLength(5);
    expect(await w.archived()).toEqual([logRecords(0, 5)]);
    expect(await w.spooled()).toEqual([]);
  });
});
