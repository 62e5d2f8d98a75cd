import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { declareHole, endOtherLives, lostEntry, openChain, type RepairPorts, StillThere } from './claims.ts';
import { Ledger } from './ledger.ts';
import { lostKey } from './object-names.ts';
import { behindHoles } from './ranges.ts';
import type { ChainId, OffsetRange } from './records.ts';
import { CHAIN, MemoryStore } from './testing/index.ts';
import type { Row } from './testing/simulated-log.ts';
import { bodyOf, entryOf, LAKE, rowsIn } from './testing/simulated-object.ts';

const FORMER: ChainId = { ...CHAIN, incarnation: 'former__' };

const rowsOf = (first: number, next: number, voids: readonly OffsetRange[] = []): Row[] =>
  Array.from({ length: next - first }, (_, i) => first + i)
    .filter((offset) => behindHoles(offset, voids) === offset)
    .map((offset) => ({ offset, content: `x:${offset}` }));

/** A claim as an archiver makes it that then dies. */
const claimOf = (first: number, next: number, voids: readonly OffsetRange[] = [], chain = CHAIN) =>
  entryOf(chain, { first, next, voids, rows: rowsOf(first, next, voids) }, randomUUID());

/** A log that begins at `logStart` and has only this life of the topic. */
function portsOf(logStart: number, life: string = CHAIN.incarnation): RepairPorts {
  return {
    ledger: new Ledger(new MemoryStore(), LAKE),
    logStart: async ({ incarnation }) => (incarnation === life ? logStart : undefined),
    readLog: async ({ incarnation }, first, next, voids) => {
      const from = Math.max(first, logStart);
      if (from >= next || incarnation !== life) return { kind: 'nothing-left' };
      const records = async function* () {
        yield rowsOf(from, next, voids).map(({ offset }) => ({ offset, timestampMs: 0, key: null, value: null, headers: [] }));
      };
      return { kind: 'records', from, records: records() };
    },
    makeObject: async (chain, { first, next, voids }, { records }) => {
      const rows: Row[] = [];
      for await (const batch of records) rows.push(...batch.map(({ offset }) => ({ offset, content: `x:${offset}` })));
      return bodyOf(chain, { first, next, voids, rows });
    },
  };
}

const offsetsAt = (ports: RepairPorts, key: string): number[] =>
  rowsIn((ports.ledger.store as MemoryStore).objects.get(key) as Buffer).map(({ offset }) => offset);

describe('a chain', () => {
  it('has the object made of a claim that a crash left without one, from exactly its range', async () => {
    const ports = portsOf(0);
    const entry = claimOf(0, 4);
    await ports.ledger.claim(CHAIN, entry);
    expect(await openChain(ports, CHAIN, { start: 0, hint: 4 })).toMatchObject({ end: 4, repair: { how: { kind: 'made' } } });
    expect(offsetsAt(ports, entry.object)).toEqual([0, 1, 2, 3]);
    expect(await openChain(ports, CHAIN, { start: 0, hint: 4 })).toMatchObject({ end: 4, repair: { how: { kind: 'stands' } } });
  });

  it('has the object made of a claim that names voids, also of what is left of it', async () => {
    const voids = [
      { first: 2, next: 4 },
      { first: 5, next: 8 },
    ];
    const whole = portsOf(0);
    const entry = claimOf(0, 10, voids);
    await whole.ledger.claim(CHAIN, entry);
    expect(await openChain(whole, CHAIN, { start: 0, hint: null })).toMatchObject({ end: 10, repair: { how: { kind: 'made' } } });
    expect(offsetsAt(whole, entry.object)).toEqual([0, 1, 4, 8, 9]);
    const rest = portsOf(6);
    await rest.ledger.claim(CHAIN, entry);
    expect(await openChain(rest, CHAIN, { start: 6, hint: null })).toMatchObject({ end: 10, repair: { how: { kind: 'rest', from: 6 } } });
    expect(offsetsAt(rest, entry.object)).toEqual([8, 9]);
  });

  it('has the rest made that the log still holds, and a note where nothing is left', async () => {
    const ports = portsOf(6);
    const entry = claimOf(0, 10);
    await ports.ledger.claim(CHAIN, entry);
    expect(await openChain(ports, CHAIN, { start: 6, hint: null })).toMatchObject({ end: 10, repair: { how: { kind: 'rest', from: 6 } } });
    expect(offsetsAt(ports, entry.object)).toEqual([6, 7, 8, 9]);
    const gone = portsOf(10);
    await gone.ledger.claim(CHAIN, entry);
    expect(await openChain(gone, CHAIN, { start: 10, hint: null })).toMatchObject({ end: 10, repair: { how: { kind: 'lost' } } });
    expect(await gone.ledger.isLost(CHAIN, 0)).toBe(true);
  });

  it('begins with a genesis on a log that begins above 0, and with nothing on one that begins at 0', async () => {
    const ports = portsOf(500);
    expect((await openChain(ports, CHAIN, { start: 500, hint: null })).end).toBe(500);
    // It begins once: where the log begins later is a loss, which somebody else declares.
    expect((await openChain(ports, CHAIN, { start: 700, hint: null })).end).toBe(500);
    expect(await ports.ledger.entryAt(CHAIN, 0)).toMatchObject({ kind: 'genesis', next: 500 });
    const other = { ...CHAIN, partition: 4 };
    expect((await openChain(ports, other, { start: 0, hint: null })).end).toBe(0);
    expect(await ports.ledger.last(other, null)).toBeUndefined();
  });
});

describe('a loss', () => {
  it('is declared as far as the log is gone by a look of its own, and not at all where all of it is there', async () => {
    const ports = portsOf(7);
    const entry = await lostEntry(ports, CHAIN, { first: 0, next: 12 });
    expect(entry).toMatchObject({ kind: 'lost', first: 0, next: 7 });
    expect(await declareHole(ports, CHAIN, entry)).toEqual({ end: 7, met: undefined });
    await expect(lostEntry(ports, CHAIN, { first: 7, next: 12 })).rejects.toThrow(StillThere);
    expect(await openChain(ports, CHAIN, { start: 7, hint: null })).toEqual({ end: 7, repair: undefined });
  });

  it('is everything of a life of the topic that is over', async () => {
    const ports = portsOf(0);
    expect(await lostEntry(ports, FORMER, { first: 3, next: 12 })).toMatchObject({ first: 3, next: 12 });
  });

  it('gives way to what another archiver had written there', async () => {
    const ports = portsOf(20);
    const theirs = claimOf(0, 15);
    await ports.ledger.store.putIfAbsent(theirs.object, bodyOf(CHAIN, { ...theirs, rows: rowsOf(0, 15) }).body);
    await ports.ledger.claim(CHAIN, theirs);
    const met = await declareHole(ports, CHAIN, await lostEntry(ports, CHAIN, { first: 0, next: 20 }));
    expect(met).toMatchObject({ end: 15, met: { entry: { attempt: theirs.attempt }, repair: { kind: 'stands' } } });
  });
});

describe('the other lives of a topic', () => {
  it('are ended: what was claimed and never written is noted as lost, once', async () => {
    const ports = portsOf(0);
    await ports.ledger.claim(FORMER, claimOf(0, 5, [], FORMER));
    await ports.ledger.claim({ ...FORMER, partition: 4 }, claimOf(0, 5, [], FORMER));
    await ports.ledger.claim(CHAIN, claimOf(0, 4));
    expect(await ports.ledger.lives(CHAIN.topic)).toEqual([CHAIN.incarnation, FORMER.incarnation]);
    expect(await endOtherLives(ports, CHAIN)).toMatchObject([{ chain: FORMER, entry: { first: 0, next: 5 }, how: { kind: 'lost' } }]);
    expect((ports.ledger.store as MemoryStore).objects.has(lostKey(LAKE, FORMER, 0))).toBe(true);
    expect(await ports.ledger.isLost({ ...FORMER, partition: 4 }, 0), 'another partition has an owner of its own').toBe(false);
    expect(await ports.ledger.isLost(CHAIN, 0)).toBe(false);
    expect(await endOtherLives(ports, CHAIN)).toMatchObject([{ how: { kind: 'stands' } }]);
  });

  it('are made whole where the one that looks is the one that is mistaken', async () => {
    const ports = portsOf(0, FORMER.incarnation);
    const entry = claimOf(0, 5, [], FORMER);
    await ports.ledger.claim(FORMER, entry);
    expect(await endOtherLives(ports, CHAIN)).toMatchObject([{ how: { kind: 'made' } }]);
    expect(offsetsAt(ports, entry.object)).toEqual([0, 1, 2, 3, 4]);
  });
});
