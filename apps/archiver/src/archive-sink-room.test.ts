import { auditLake, type ChainId, type LakeRecord, StoreError } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { archiveHealth } from './archive-health.ts';
import { batchOf, CHAIN, laneOf, NINE, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

const KIB = 1024;
const ROW_BYTES = 2 * KIB;
const LIMIT_BYTES = 200 * KIB;
const signal = new AbortController().signal;
let world: SinkWorld | undefined;

async function open(options: WorldOptions = {}): Promise<SinkWorld> {
  world = await SinkWorld.open({ idleMs: 60_000, ...options });
  return world;
}
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const chainOf = (partition: number): ChainId => ({ ...CHAIN, partition });
/** Rows that take some 2 KiB each in the spool, whatever is in them. */
const rows = (first: number, next: number): LakeRecord[] =>
  Array.from({ length: next - first }, (_, i) => ({
    offset: first + i,
    timestampMs: NINE,
    key: null,
    value: Buffer.alloc((ROW_BYTES * 3) / 4, first + i),
    headers: [],
  }));
const heldBytes = (w: SinkWorld): number => w.sink.views().reduce((sum, { spoolBytes }) => sum + spoolBytes, 0);

describe('the room in the spool', () => {
  it('is shared by all partitions: the largest open object is closed, the others go on', async () => {
    const w = await open({ maxSpoolBytes: LIMIT_BYTES });
    for (const partition of [0, 1, 2]) await w.sink.assign(laneOf({ partition }));
    const small = [0, 2].map((partition) => w.sink.write(batchOf(rows(0, 5), chainOf(partition)), signal));
    const large = [0, 1, 2, 3].map((i) => w.sink.write(batchOf(rows(i * 15, i * 15 + 15), chainOf(1)), signal));
    // Without anything new, and long before it is idle.
    await Promise.all(large.slice(0, 3));
    expect(w.seen('object-closed').map((event) => [event.chain.partition, 'cause' in event && event.cause])).toEqual([[1, 'room']]);
    expect(w.sink.views().map(({ spooledRows }) => spooledRows)).toEqual([5, expect.any(Number), 5]);
    await w.sink.flush('stop', [0, 1, 2].map(chainOf));
    await Promise.all([...small, ...large]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ rows: 5 }, { rows: 60 }, { rows: 5 }] });
  });

  it('is never passed while the store is away: the rest waits with the runtime, and goes on by itself', async () => {
    let away = true;
    const w = await open({
      maxSpoolBytes: LIMIT_BYTES,
      store: new MemoryStore(async (operation) => {
        if (away && operation === 'put') throw new StoreError('memory is away');
      }),
    });
    for (const partition of [0, 1]) await w.sink.assign(laneOf({ partition }));
    const batches = [0, 1].flatMap((partition) =>
      Array.from({ length: 20 }, (_, i) => batchOf(rows(i * 10, i * 10 + 10), chainOf(partition))),
    );
    let highest = 0;
    const watch = setInterval(() => {
      highest = Math.max(highest, heldBytes(w));
    }, 1);
    const writes = batches.map((batch) => w.sink.write(batch, signal));
    await vi.waitFor(() => expect(heldBytes(w)).toBeGreaterThanOrEqual(LIMIT_BYTES));
    await vi.waitFor(() => expect(w.sink.views().some(({ problem }) => problem !== undefined)).toBe(true));
    const released = batches.filter((batch) => batch.released).length;
    expect(released).toBeLessThan(20);
    away = false;
    await vi.waitFor(() => expect(batches.every((batch) => batch.released)).toBe(true), { timeout: 15_000 });
    await w.sink.flush('stop', [0, 1].map(chainOf));
    await Promise.all(writes);
    clearInterval(watch);
    // One batch of each partition may be on its way when the limit is reached.
    expect(highest).toBeLessThan(LIMIT_BYTES + 2 * 11 * ROW_BYTES);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ rows: 200 }, { rows: 200 }] });
  });

  it('is what the disk has beside what the largest object needs: nothing is taken in, and nothing is lost', async () => {
    let free = 2 ** 40;
    const w = await open({ freeBytes: async () => free });
    await w.sink.assign(laneOf());
    const before = w.sink.write(batchOf(rows(0, 10)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(10));
    free = 10 * 2 ** 20;
    const behind = w.sink.write(batchOf(rows(10, 20)), signal);
    // What was open is written, so that its room comes back.
    await before;
    await vi.waitFor(() =>
      expect(w.sink.views()[0]?.problem ?? '').toContain(
        'the disk of /data/spool (ARCHIVER_DATA_DIR) has 10 MiB free, and 64 MiB are needed',
      ),
    );
    expect(archiveHealth(w.sink.views(), [], { kafka: 'Kafka', lake: 'S3' })).toMatchObject({
      state: 'degraded',
      sentence: expect.stringContaining('the disk of /data/spool'),
    });
    expect(w.seen('disk-short')).toHaveLength(1);
    expect(w.seen('disk-enough')).toHaveLength(0);
    expect(w.sink.views()[0]?.spooledRows).toBe(0);
    free = 2 ** 40;
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(10), { timeout: 5_000 });
    expect(w.sink.views()[0]?.problem).toBeUndefined();
    expect([w.seen('disk-short').length, w.seen('disk-enough').length]).toEqual([1, 1]);
    await w.sink.flush('stop', [CHAIN]);
    await behind;
    expect(await w.archived()).toEqual([rows(0, 10), rows(10, 20)]);
  });

  it('does not hold up a lane that ends', async () => {
    const w = await open({ freeBytes: async () => 0 });
    await w.sink.assign(laneOf());
    const lane = new AbortController();
    const write = w.sink.write(batchOf(rows(0, 10)), lane.signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.problem).toContain('has 0 MiB free'));
    lane.abort();
    await expect(write).rejects.toThrow('the partition was taken away');
    expect(w.seen('disk-enough')).toHaveLength(1);
  });
});
