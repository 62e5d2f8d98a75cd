import { randomUUID } from 'node:crypto';
import { auditLake, StillThere } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Abandoned } from './faults.ts';
import { batchOf, CHAIN, laneOf, logRecords, NINE, SinkWorld, type WorldOptions } from './testing/sink-world.ts';

const NEW = 'other___';
const LONG_IDLE_MS = 60_000;
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

/** Writes, and waits until the rows are in the spool. What becomes of the answer is the caller's. */
async function taken(w: SinkWorld, first: number, next: number): Promise<{ readonly write: Promise<unknown> }> {
  const before = w.sink.views()[0]?.spooledRows ?? 0;
  const write = w.sink.write(batchOf(logRecords(first, next)), signal);
  await spooled(w, before + next - first);
  return { write };
}

describe('offsets that are gone', () => {
  it('are declared lost at once, behind what was open, and the archive goes on', async () => {
    const w = await open({ logStart: () => 9 });
    await w.sink.assign(laneOf());
    const before = w.sink.write(batchOf(logRecords(0, 5)), signal);
    await w.sink.gap(laneOf(), { kind: 'expired', from: 5, to: 9 });
    await before;
    expect(w.seen('loss-declared')).toMatchObject([{ first: 5, next: 9 }]);
    const { write: behind } = await taken(w, 9, 12);
    await w.sink.flush('stop', [CHAIN]);
    await behind;
    expect(await w.archived()).toEqual([logRecords(0, 5), logRecords(9, 12)]);
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 12, lost: [{ first: 5, next: 9 }] }] });
  });

  it('are declared where the chain ends below the log’s start on assignment', async () => {
    const store = new MemoryStore();
    const first = await open({ store });
    await first.sink.assign(laneOf());
    const { write } = await taken(first, 0, 5);
    await first.sink.flush('stop', [CHAIN]);
    await write;
    await first.close();
    const w = await open({ store, logStart: () => 100 });
    const lane = laneOf({ logStart: 100 });
    expect(await w.sink.assign(lane)).toEqual({ startAt: 5 });
    await w.sink.gap(lane, { kind: 'expired', from: 5, to: 100 });
    expect(await w.sink.assign(lane)).toEqual({ startAt: 100 });
    expect(await auditLake(w.ledger)).toMatchObject({ findings: [], partitions: [{ next: 100, lost: [{ first: 5, next: 100 }] }] });
  });

  it('are never those that the log still has: a stale answer declares what is gone, and the rest is read', async () => {
    const w = await open({ logStart: () => 7 });
    await w.sink.assign(laneOf());
    await w.sink.gap(laneOf(), { kind: 'expired', from: 0, to: 7 });
    await expect(w.sink.gap(laneOf(), { kind: 'expired', from: 7, to: 9 })).rejects.toThrow(StillThere);
    expect(await w.sink.assign(laneOf())).toEqual({ startAt: 7 });
    expect(w.seen('loss-declared')).toMatchObject([{ first: 0, next: 7 }]);
    const other = await open({ logStart: () => 3 });
    await other.sink.assign(laneOf());
    await expect(other.sink.gap(laneOf(), { kind: 'expired', from: 0, to: 9 })).rejects.toThrow(StillThere);
    expect(await other.sink.assign(laneOf())).toEqual({ startAt: 3 });
    expect(other.seen('loss-declared')).toMatchObject([{ first: 0, next: 3 }]);
  });

  it('are not declared where another archiver had them: the chain’s end counts', async () => {
    const w = await open({ logStart: () => 9 });
    await w.sink.assign(laneOf());
    await w.ledger.claim(CHAIN, { kind: 'void', first: 0, next: 4, attempt: randomUUID() });
    await w.ledger.claim(CHAIN, { kind: 'genesis', first: 4, next: 20, attempt: randomUUID() });
    await w.sink.gap(laneOf(), { kind: 'expired', from: 0, to: 9 });
    expect(w.seen('loss-declared')).toEqual([]);
    expect(w.sink.views()[0]?.chainEnd).toBe(20);
  });
});

describe('a topic that is made anew', () => {
  it('has what is proven of the old one written, the rest cut off and counted, and then a chain of its own', async () => {
    let present = CHAIN.incarnation;
    const w = await open({ incarnation: async () => present });
    await w.sink.assign(laneOf());
    const { write: proven } = await taken(w, 0, 5);
    const { write: mixed } = await taken(w, 5, 12);
    present = NEW;
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 8, to: 8 });
    await proven;
    expect(await w.archived()).toEqual([logRecords(0, 8)]);
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 8, to: 8 });
    expect(w.seen('topic-made-anew')).toMatchObject([{ end: 8, cutRows: 4 }]);
    await expect(w.sink.write(batchOf(logRecords(12, 13)), signal)).rejects.toThrow(Abandoned);
    const cut = expect(mixed).rejects.toThrow(Abandoned);
    const lane = laneOf({ incarnation: NEW, logEnd: 3 });
    expect(await w.sink.assign(lane)).toEqual({ startAt: 0 });
    await cut;
    const anew = w.sink.write(batchOf(logRecords(0, 3), { ...CHAIN, incarnation: NEW }), signal);
    await spooled(w, 3);
    await w.sink.flush('stop', [CHAIN]);
    await anew;
    const { findings, partitions } = await auditLake(w.ledger);
    expect(findings).toEqual([]);
    expect(partitions).toMatchObject([
      { incarnation: CHAIN.incarnation, next: 8, rows: 8 },
      { incarnation: NEW, next: 3, rows: 3 },
    ]);
    expect(await w.spooled()).toEqual([]);
  });

  it('before anybody has said so: the object waits, and is cut where it is told', async () => {
    let present = CHAIN.incarnation;
    const w = await open({ incarnation: async () => present, rotation: { maxRows: 5 } });
    await w.sink.assign(laneOf());
    const { write: first } = await taken(w, 0, 5);
    present = NEW;
    const { write: second } = await taken(w, 5, 7);
    await vi.waitFor(() => expect(w.sink.views()[0]?.problem).toContain('its id began with aB-_9xYz; now its id begins with other___'));
    expect(await w.archived()).toEqual([]);
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 3, to: 3 });
    expect(await w.archived()).toEqual([logRecords(0, 3)]);
    expect(w.seen('topic-made-anew')).toMatchObject([{ end: 3, cutRows: 4 }]);
    const ends = [first, second].map((each) => expect(each).rejects.toThrow(Abandoned));
    await w.sink.assign(laneOf({ incarnation: NEW }));
    await Promise.all(ends);
  });

  it('is told also while a gap before it is being declared: the two do not wait for each other', async () => {
    let present = CHAIN.incarnation;
    const w = await open({ incarnation: async () => present, logStart: () => 9 });
    await w.sink.assign(laneOf());
    const { write } = await taken(w, 0, 5);
    present = NEW;
    await w.sink.gap(laneOf(), { kind: 'expired', from: 5, to: 9 });
    expect(w.seen('loss-declared')).toEqual([]);
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 7, to: 7 });
    await write;
    expect(await w.archived()).toEqual([logRecords(0, 5)]);
    expect(w.seen('loss-declared')).toMatchObject([{ first: 5, next: 7 }]);
    expect((await auditLake(w.ledger)).findings).toEqual([]);
  });

  it('keeps what the archiver’s own look-up has proven, also where the runtime’s is older', async () => {
    let present = CHAIN.incarnation;
    let away = true;
    const w = await open({
      incarnation: async () => present,
      rotation: { maxRows: 5 },
      store: new MemoryStore(async (operation) => {
        if (away && operation === 'put') throw new Error('memory is away');
      }),
    });
    await w.sink.assign(laneOf());
    const write = w.sink.write(batchOf(logRecords(0, 6)), signal);
    await vi.waitFor(() => expect(w.sink.views()[0]?.problem).toContain('memory is away'));
    present = NEW;
    const gap = w.sink.gap(laneOf(), { kind: 'recreated', from: 2, to: 2 });
    away = false;
    await gap;
    expect(await w.archived()).toEqual([logRecords(0, 5)]);
    expect(w.seen('topic-made-anew')).toMatchObject([{ end: 5, cutRows: 1 }]);
    const end = expect(write).rejects.toThrow(Abandoned);
    await w.sink.assign(laneOf({ incarnation: NEW }));
    await end;
  });

  it('leaves voids that nobody can read again as lost, and the cut may fall into one', async () => {
    let present = CHAIN.incarnation;
    const w = await open({
      incarnation: async () => present,
      confirmVoids: async (_, [hole]) => (present === NEW ? hole?.first : undefined),
    });
    await w.sink.assign(laneOf());
    const writes = [w.sink.write(batchOf(logRecords(0, 3)), signal)];
    await w.sink.gap(laneOf(), { kind: 'void', from: 3, to: 5 });
    writes.push(w.sink.write(batchOf(logRecords(5, 7)), signal));
    await w.sink.gap(laneOf(), { kind: 'void', from: 7, to: 9 });
    const cut = w.sink.write(batchOf(logRecords(9, 10)), signal);
    await spooled(w, 6);
    present = NEW;
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 8, to: 8 });
    await Promise.all(writes);
    expect(await w.archived()).toEqual([logRecords(0, 3), logRecords(5, 7)]);
    expect(w.seen('loss-declared')).toMatchObject([
      { first: 3, next: 5 },
      { first: 7, next: 8 },
    ]);
    expect(w.seen('topic-made-anew')).toMatchObject([{ end: 8, cutRows: 1 }]);
    expect((await auditLake(w.ledger)).findings).toEqual([]);
    const end = expect(cut).rejects.toThrow(Abandoned);
    await w.sink.assign(laneOf({ incarnation: NEW }));
    await end;
  });

  it('has a claim of the old one that nobody wrote noted as lost when the new one is opened, and says so', async () => {
    const w = await open({ incarnation: async () => NEW });
    const entry = {
      first: 0,
      next: 6,
      attempt: randomUUID(),
      rows: 6,
      minTimestampMs: NINE,
      maxTimestampMs: NINE,
      voids: [],
      checksum: 'x',
    };
    await w.ledger.claim(CHAIN, { kind: 'data', object: 'lake/service-events/somewhere', ...entry });
    const lane = laneOf({ incarnation: NEW });
    // Given back long before.
    await w.sink.gap(laneOf(), { kind: 'recreated', from: 9, to: 9 });
    expect(w.seen('topic-made-anew')).toMatchObject([{ chain: CHAIN, end: 6, cutRows: 0 }]);
    expect(await w.sink.assign(lane)).toEqual({ startAt: 0 });
    expect(w.seen('claim-checked')).toMatchObject([{ chain: CHAIN, first: 0, next: 6, repair: { kind: 'lost' } }]);
    const { findings, partitions } = await auditLake(w.ledger);
    expect(findings).toEqual([]);
    expect(partitions).toMatchObject([{ next: 6, pending: null, lost: [{ first: 0, next: 6 }] }]);
    // Once per process: a claim that stands costs no further look.
    await w.sink.assign(lane);
    expect(w.seen('claim-checked')).toHaveLength(1);
  });

  it('does not hold up the new one where the old lane had ended already', async () => {
    const w = await open();
    await w.sink.assign(laneOf());
    const { write } = await taken(w, 0, 4);
    const ended = expect(write).rejects.toThrow(Abandoned);
    const lane = new AbortController();
    lane.abort();
    await expect(w.sink.write(batchOf(logRecords(4, 5)), lane.signal)).rejects.toThrow(Abandoned);
    await ended;
    expect(await w.sink.assign(laneOf({ incarnation: NEW }))).toEqual({ startAt: 0 });
  });

  it('says for how long a chain has been opening, as long as the store does not answer', async () => {
    let answer: () => void = () => {};
    const hung = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const w = await open({ store: new MemoryStore(async (operation) => (operation === 'list' ? await hung : undefined)) });
    const assigned = w.sink.assign(laneOf());
    await vi.waitFor(() => expect(w.sink.openings()[0]?.forMs).toBeGreaterThan(5));
    expect(w.sink.openings()).toMatchObject([{ topic: CHAIN.topic, partition: CHAIN.partition }]);
    answer();
    await assigned;
    expect(w.sink.openings()).toEqual([]);
  });

  it('is seen on assignment too, when nobody told of it', async () => {
    let present = CHAIN.incarnation;
    const w = await open({ incarnation: async () => present });
    await w.sink.assign(laneOf());
    const { write } = await taken(w, 0, 4);
    const ended = expect(write).rejects.toThrow(Abandoned);
    present = NEW;
    expect(await w.sink.assign(laneOf({ incarnation: NEW }))).toEqual({ startAt: 0 });
    await ended;
    expect(w.seen('topic-made-anew')).toMatchObject([{ end: 0, cutRows: 4 }]);
    expect(await w.archived()).toEqual([]);
  });
});
