import { StandsStill } from '@tailrace/kafka-kit';
import { auditLake, type LakeRecord } from '@tailrace/lake';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { batchOf, CHAIN, laneOf, logRecords, NINE, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

let signal = new AbortController().signal;
let world: SinkWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});
async function open(options: WorldOptions = {}): Promise<SinkWorld> {
  signal = new AbortController().signal;
  world = await SinkWorld.open({ idleMs: 60_000, ...options });
  await world.sink.assign(laneOf());
  return world;
}
/** The test's log, with one record of another time. */
const logWith = (first: number, next: number, odd: number, timeMs: number): LakeRecord[] =>
  logRecords(first, next, (offset) => (offset === odd ? timeMs : NINE));

describe('a record whose time the lake can not name stops its partition by name', () => {
  it.each([
    ['microseconds of today', 1.7e15 * 10],
    ['9e15', 9e15],
    ['2^63 - 1', 2 ** 63 - 1],
    ['-2^63', -(2 ** 63)],
    ['the year 30000', 884_541_340_800_000],
    ['the year 10000', 253_402_300_800_000],
    ['the year 0', -62_135_596_800_001],
  ])('%s, in the middle of a batch: what is before it is archived, and nothing behind it', async (_name, timeMs) => {
    const w = await open();
    const before = w.sink.write(batchOf(logRecords(0, 10)), signal);
    const at = w.sink.write(batchOf(logWith(10, 20, 15, timeMs)), signal);
    const behind = w.sink.write(batchOf(logRecords(20, 30)), signal);
    const told = await Promise.allSettled([before, at, behind]);
    expect(told[0]).toMatchObject({ status: 'fulfilled' });
    for (const each of told.slice(1)) {
      expect(each).toMatchObject({ status: 'rejected', reason: expect.any(StandsStill) });
      expect(String(each.status === 'rejected' && each.reason)).toMatch(
        new RegExp(
          `Offset 15 of service-events, partition 3, has the time ${timeMs < 0 ? '-' : ''}[^,]* ms since 1970.*LogAppendTime.*topics plan`,
        ),
      );
    }
    expect(await w.archived()).toEqual([logRecords(0, 15)]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 15, rows: 15 }] });
    expect(w.seen('step-failed')).toEqual([]);
  });

  it('as the first record of all, and again after the partition is opened anew', async () => {
    const w = await open();
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(w.sink.write(batchOf(logWith(0, 5, 0, 9e15)), signal)).rejects.toThrow('Offset 0 of service-events');
      expect(await w.sink.assign(laneOf())).toEqual({ startAt: 0 });
    }
    expect(w.store.objects.size).toBe(0);
  });

  it('a hole that is told behind it waits for what is before it too', async () => {
    const w = await open();
    const at = w.sink.write(batchOf(logWith(0, 10, 8, 9e15)), signal);
    const gaps = (['void', 'expired'] as const).map((kind) => w.sink.gap(laneOf(), { kind, from: 10, to: 12 }));
    for (const told of await Promise.allSettled([at, ...gaps])) expect(told).toMatchObject({ reason: expect.any(StandsStill) });
    expect(await w.archived()).toEqual([logRecords(0, 8)]);
  });

  it('once the log was deleted up to it, the chain says what is lost and goes on', async () => {
    let logStart = 0;
    const w = await open({ logStart: () => logStart });
    await expect(w.sink.write(batchOf(logWith(0, 10, 8, 9e15)), signal)).rejects.toBeInstanceOf(StandsStill);
    logStart = 9;
    await w.sink.assign(laneOf({ logStart: 9 }));
    await w.sink.gap(laneOf(), { kind: 'expired', from: 8, to: 9 });
    const write = w.sink.write(batchOf(logRecords(9, 12)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBe(3));
    await w.sink.flush('stop', [CHAIN]);
    await write;
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 12, rows: 11, lost: [{ first: 8, next: 9 }] }] });
  });
});

it('times of the years 1 and 9999 are archived and read back as they are', async () => {
  const times = ['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'].map((text) => Date.parse(text));
  const w = await open();
  const records = logRecords(0, 3, (offset) => times[offset] as number);
  const write = w.sink.write(batchOf(records), signal);
  await vi.waitFor(() => expect(w.sink.views()[0]?.spooledRows).toBeGreaterThan(0));
  await w.sink.flush('stop', [CHAIN]);
  await write;
  expect((await w.archived()).flat()).toEqual(records);
  expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ rows: 3 }] });
});
