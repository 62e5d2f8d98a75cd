import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { auditLake, StoreError } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Abandoned, OutOfOrder, SpoolLost, UndeclaredGap } from './faults.ts';
import { batchOf, CHAIN, laneOf, logRecords, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

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

async function eachFile(folder: string, work: (path: string) => Promise<void>): Promise<void> {
  for (const name of await readdir(folder)) await work(join(folder, name));
}
const truncateAll = (folder: string): Promise<void> => eachFile(folder, (path) => truncate(path, 700));
const scrambleAll = (folder: string): Promise<void> =>
  eachFile(folder, async (path) => writeFile(path, (await readFile(path)).fill('x', 300, 900)));

const settled = async (promise: Promise<unknown>): Promise<string> =>
  await Promise.race([
    promise.then(
      () => 'resolved',
      () => 'rejected',
    ),
    new Promise<string>((resolve) => setTimeout(() => resolve('pending'), 20)),
  ]);

describe('the archive sink, when things fail', () => {
  it('tries again for as long as the store is away, also when only the answers are lost, and writes each row once', async () => {
    let faults = 40;
    const fail = async (operation: string): Promise<void> => {
      if (operation === 'put' && faults-- > 0) throw new StoreError('memory is away');
    };
    const w = await open({ store: new MemoryStore(fail, fail) });
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 10)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.problem).toBe('memory is away'));
    expect(await write).toHaveLength(10);
    expect(w.sink.views()[0]?.problem).toBeUndefined();
    expect(w.seen('step-failed').length).toBeGreaterThanOrEqual(20);
    expect(await w.archived()).toEqual([logRecords(0, 10)]);
    expect((await auditLake(w.ledger)).findings).toEqual([]);
  });

  it('does not take in more than it can put away: the third object waits on disk, the rest with the runtime', async () => {
    let away = true;
    const w = await open({
      store: new MemoryStore(async (operation) => {
        if (away && operation === 'put') throw new StoreError('memory is away');
      }),
      rotation: { maxRows: 10 },
    });
    await w.sink.assign(laneOf());
    const batches = Array.from({ length: 6 }, (_, i) => batchOf(logRecords(i * 10, i * 10 + 10)));
    const writes = batches.map((batch) => w.sink.write(batch, signal));
    await vi.waitFor(() => expect(w.sink.views()[0]).toMatchObject({ waitingObjects: 2, spooledRows: 30 }));
    expect(batches.map(({ released }) => released)).toEqual([true, true, true, false, false, false]);
    away = false;
    await Promise.all(writes);
    expect(await w.archived()).toEqual([0, 1, 2, 3, 4, 5].map((i) => logRecords(i * 10, i * 10 + 10)));
  });

  it('ends a lane whose signal is aborted, also while the store is away, and leaves no file', async () => {
    const w = await open({
      store: new MemoryStore(async (operation) => {
        if (operation === 'put') throw new StoreError('memory is away');
      }),
    });
    await w.sink.assign(laneOf());
    const lane = new AbortController();
    const write = w.sink.write(batchOf(logRecords(0, 5)), lane.signal);
    await vi.waitFor(() => expect(w.seen('step-failed').length).toBeGreaterThan(0));
    lane.abort();
    await expect(write).rejects.toThrow(Abandoned);
    await vi.waitFor(async () => expect(await w.spooled()).toEqual([]));
  });

  it('has a batch in the spool whole or not at all, and rejects all behind one that it rejected', async () => {
    const w = await open({ idleMs: 60_000, rotation: { maxRows: 10 } });
    await w.sink.assign(laneOf());
    const kept = w.sink.write(batchOf(logRecords(0, 8)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(8));
    // The second object of the next batch can not be begun: the disk is gone.
    const { folder } = w.spool;
    const rows = w.spool.rows.bind(w.spool);
    w.spool.rows = async () => {
      throw new Error(`no space in ${folder}`);
    };
    const broken = batchOf(logRecords(8, 15));
    const behind = batchOf(logRecords(15, 18));
    const results = await Promise.allSettled([w.sink.write(broken, signal), w.sink.write(behind, signal)]);
    expect(results).toMatchObject([{ reason: { message: expect.stringContaining('no space') } }, { reason: expect.any(OutOfOrder) }]);
    expect([broken.released, behind.released]).toEqual([false, false]);
    expect(w.sink.views()[0]?.spooledRows).toBe(8);
    w.spool.rows = rows;
    const again = [w.sink.write(broken, signal), w.sink.write(behind, signal)];
    await vi.waitFor(() => expect(behind.released).toBe(true));
    await w.sink.flush('stop', [CHAIN]);
    await Promise.all([kept, ...again]);
    expect(await w.archived()).toEqual([logRecords(0, 10), logRecords(10, 18)]);
  });

  it('claims nothing that could not be built, and tries the build again until the lane is given up', async () => {
    const w = await open({ idleMs: 10 });
    await w.sink.assign(laneOf());
    const path = w.spool.parquetPath.bind(w.spool);
    let paths = 0;
    w.spool.parquetPath = () => (paths++ === 0 ? '/nowhere/at/all.parquet' : path());
    const write = w.sink.write(batchOf(logRecords(0, 5)), signal);
    await vi.waitFor(() => expect(w.seen('step-failed')).toMatchObject([{ step: 'build the file' }, ...w.seen('step-failed').slice(1)]));
    expect(w.store.objects.size).toBe(0);
    expect(await settled(write)).toBe('pending');
    await w.sink.flush('revoke', [CHAIN]);
    await expect(write).rejects.toThrow(Abandoned);
  });

  it('passes no hole in silence: a gap and a jump within a batch stop it by name', async () => {
    const w = await open();
    await w.sink.assign(laneOf());
    await expect(w.sink.gap(laneOf(), { kind: 'truncated', from: 5, to: 9 })).rejects.toThrow(UndeclaredGap);
    await expect(w.sink.gap(laneOf(), { kind: 'truncated', from: 5, to: 9 })).rejects.toThrow(
      'Offsets 5 to 8 of service-events, partition 3, are truncated',
    );
    for (const kind of ['expired', 'void'] as const)
      await expect(w.sink.gap(laneOf(), { kind, from: 5, to: 9 })).rejects.toThrow(OutOfOrder);
    await expect(w.sink.write(batchOf(logRecords(1, 3)), signal)).rejects.toThrow(OutOfOrder);
    await expect(w.sink.write(batchOf([...logRecords(0, 2), ...logRecords(3, 5)]), signal)).rejects.toThrow(OutOfOrder);
    expect(w.store.objects.size).toBe(0);
  });

  it.each([
    ['are gone', async (w: SinkWorld) => rm(w.spool.folder, { recursive: true })],
    ['are cut', async (w: SinkWorld) => truncateAll(w.spool.folder)],
    ['are not what was written', async (w: SinkWorld) => scrambleAll(w.spool.folder)],
  ])('gives up a lane whose rows %s: they are read from Kafka again, and the spool is whole again', async (_, damage) => {
    const w = await open({ idleMs: 60_000 });
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 50)), signal);
    const failed = expect(write).rejects.toThrow(SpoolLost);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(50));
    await damage(w);
    await w.sink.flush('stop', [CHAIN]);
    await failed;
    expect(await w.sink.assign(laneOf())).toEqual({ startAt: 0 });
    const again = w.sink.write(batchOf(logRecords(0, 50)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(50));
    await w.sink.flush('stop', [CHAIN]);
    await again;
    expect(await w.archived()).toEqual([logRecords(0, 50)]);
  });

  it('opens a lane anew after a rejection: what was open is dropped, and read again from the chain’s end', async () => {
    const w = await open({ idleMs: 60_000 });
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 5)), signal);
    write.catch(() => {});
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(5));
    expect(await w.sink.assign(laneOf())).toEqual({ startAt: 0 });
    await expect(write).rejects.toThrow(Abandoned);
    expect(await w.spooled()).toEqual([]);
  });

  it('says what it could not delete, and goes on', async () => {
    const w = await open({ idleMs: 60_000 });
    await w.sink.assign(laneOf());
    const lane = new AbortController();
    const write = w.sink.write(batchOf(logRecords(0, 5)), lane.signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(5));
    await eachFile(w.spool.folder, async (path) => {
      await rm(path);
      await mkdir(path);
    });
    lane.abort();
    await expect(write).rejects.toThrow(Abandoned);
    await vi.waitFor(() => expect(w.seen('cleanup-failed')).toHaveLength(1));
  });
});
