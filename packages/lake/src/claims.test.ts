import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendChain, type LogRange, openChain, type RepairPorts } from './claims.ts';
import { Ledger } from './ledger.ts';
import type { DataEntry } from './ledger-entry.ts';
import { dataKey, type LakeLayout } from './object-names.ts';
import { CHAIN, MemoryStore, recordAt } from './testing/index.ts';

const LAKE: LakeLayout = { prefix: 'p', stream: 'service-events' };
const TIME = 1_767_323_045_123;

/** An object of the simulation: the offsets `[from, next)`. */
interface SimulatedObject {
  readonly from: number;
  readonly next: number;
}

function entryFor(first: number, next: number): DataEntry {
  const object = dataKey(LAKE, CHAIN, first, TIME);
  return {
    kind: 'data',
    first,
    next,
    attempt: randomUUID(),
    object,
    rows: next - first,
    minTimestampMs: TIME,
    maxTimestampMs: TIME,
    voids: [],
    checksum: 'c',
  };
}

const bodyOf = (object: SimulatedObject): Buffer => Buffer.from(JSON.stringify(object));
const objectOf = (body: Buffer): SimulatedObject => JSON.parse(body.toString()) as SimulatedObject;

class Killed extends Error {}
class Fault extends Error {}

/** A log that grows and expires, a store that delays and fails, and archivers that are killed anywhere. */
class World {
  logStart: number;
  logEnd: number;
  killed = 0;
  readonly store: MemoryStore;
  readonly ledger: Ledger;
  /** The greatest chain end below which an archiver answered `stored`. */
  answered = 0;
  readonly #random: () => number;
  readonly #schedule: () => Promise<void>;
  calm = false;

  constructor(random: () => number, schedule: () => Promise<void>, logStart: number) {
    this.#random = random;
    this.#schedule = schedule;
    this.logStart = logStart;
    this.logEnd = logStart + 5;
    this.store = new MemoryStore(
      () => this.step(),
      () => this.step(),
    );
    this.ledger = new Ledger(this.store, LAKE);
  }

  pick(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** Somewhere in a request or between two: others go on, the log moves, this archiver may die, the request may fail. */
  async step(): Promise<void> {
    if (this.calm) return;
    await this.#schedule();
    this.logEnd += this.pick(3);
    if (this.pick(12) === 0) this.logStart = Math.min(this.logEnd, this.logStart + this.pick(8));
    if (this.pick(15) === 0) throw new Fault();
    if (this.pick(25) === 0) {
      this.killed++;
      throw new Killed();
    }
  }

  ports(): RepairPorts {
    return {
      ledger: this.ledger,
      readLog: async (_, first, next): Promise<LogRange> => {
        await this.step();
        const from = Math.max(first, this.logStart);
        if (from >= next) return { kind: 'nothing-left' };
        const records = async function* () {
          yield Array.from({ length: next - from }, (_none, i) => recordAt(from + i, 'x'));
        };
        return { kind: 'records', from, records: records() };
      },
      makeObject: async (_, entry, range) => {
        await this.step();
        let next = range.from;
        for await (const records of range.records) next += records.length;
        return { body: bodyOf({ from: range.from, next }), checksum: entry.checksum };
      },
    };
  }

  /** What every archiver does, until it is killed or `rounds` objects stand. Returns whether it lived. */
  async archive(rounds: number): Promise<void> {
    const ports = this.ports();
    let end = await this.#retried(async () => (await openChain(ports, CHAIN, { start: this.logStart, hint: null })).end);
    this.#answer(end);
    for (let round = 0; round < rounds; round++) {
      // What is in its spool stays there, also when the log forgets it.
      const next = Math.max(end, this.logStart) === end ? Math.min(this.logEnd, end + 1 + this.pick(6)) : end;
      if (next <= end) continue;
      const entry = entryFor(end, next);
      const extended = await this.#retried(() => extendChain(ports, CHAIN, entry, bodyOf({ from: end, next }), () => {}));
      end = extended.end;
      this.#answer(end);
    }
  }

  async #retried<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
      }
    }
  }

  /** Everything below an answer is in an object that stands, or declared. */
  #answer(end: number): void {
    this.answered = Math.max(this.answered, end);
    expect(this.coverage().end).toBeGreaterThanOrEqual(end);
  }

  /** The chain as a reader sees it right now: it ends at a claim with neither object nor note. */
  coverage(): { end: number; archived: Set<number>; lost: Set<number>; genesis: number } {
    const archived = new Set<number>();
    const lost = new Set<number>();
    let end = 0;
    let genesis = 0;
    const entries = [...this.store.objects]
      .filter(([key]) => key.startsWith('p/_ledger/') && !key.includes('.lost.'))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [key, body] of entries) {
      const entry = JSON.parse(body.toString()) as DataEntry | { kind: 'genesis'; first: number; next: number };
      expect(entry.first, 'entries follow each other').toBe(end);
      if (entry.kind === 'data') {
        const object = this.store.objects.get(entry.object);
        const note = this.store.objects.get(key.replace('.json', '.lost.json'));
        if (object === undefined && note === undefined) break;
        const from = object === undefined ? entry.next : objectOf(object).from;
        for (let offset = entry.first; offset < entry.next; offset++) (offset < from ? lost : archived).add(offset);
        if (object !== undefined) expect(objectOf(object).next).toBe(entry.next);
      } else genesis = entry.next;
      end = entry.next;
    }
    return { end, archived, lost, genesis };
  }
}

/** A small generator of numbers in [0, 1), so that a run is a function of its seed. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('the protocol of claims', () => {
  it('covers every offset exactly once, whoever dies or comes back when', async () => {
    let kills = 0;
    let losses = 0;
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.nat(), fc.constantFrom(0, 0, 7), async (scheduler, seed, logStart) => {
        const world = new World(numbers(seed), () => scheduler.schedule(Promise.resolve()), logStart);
        const faults: unknown[] = [];
        const lives = async (): Promise<void> => {
          for (let life = 0; life < 4; life++) {
            try {
              await world.archive(4);
            } catch (error) {
              if (!(error instanceof Killed)) faults.push(error);
            }
          }
        };
        // Three at once: an owner, and two that do not know that they no longer are.
        await scheduler.waitFor(Promise.all([lives(), lives(), lives()]));
        expect(faults).toEqual([]);
        world.calm = true;
        await world.archive(1);
        const { end, archived, lost, genesis } = world.coverage();
        expect(end).toBeGreaterThanOrEqual(world.answered);
        expect(archived.size + lost.size).toBe(end - genesis);
        for (const offset of lost) expect(offset, 'only what the log no longer holds is lost').toBeLessThan(world.logStart);
        kills += world.killed;
        losses += lost.size;
      }),
      { numRuns: 300 },
    );
    // Else the simulation proves nothing.
    expect(kills).toBeGreaterThan(100);
    expect(losses).toBeGreaterThan(10);
  }, 60_000);

  it('makes the object of a claim that a crash left without one, from exactly its range', async () => {
    const world = new World(
      () => 0.99,
      async () => {},
      0,
    );
    world.calm = true;
    await world.ledger.claim(CHAIN, entryFor(0, 4));
    world.logEnd = 100;
    const opened = await openChain(world.ports(), CHAIN, { start: 0, hint: 4 });
    expect(opened).toMatchObject({ end: 4, repair: { how: { kind: 'made' } } });
    expect(objectOf(world.store.objects.get(dataKey(LAKE, CHAIN, 0, TIME)) as Buffer)).toEqual({ from: 0, next: 4 });
    expect(await openChain(world.ports(), CHAIN, { start: 0, hint: 4 })).toMatchObject({ end: 4, repair: { how: { kind: 'stands' } } });
  });

  it('makes the rest that the log still holds, says so, and notes a loss where nothing is left', async () => {
    const world = new World(
      () => 0.99,
      async () => {},
      0,
    );
    world.calm = true;
    await world.ledger.claim(CHAIN, entryFor(0, 10));
    world.logEnd = 100;
    world.logStart = 6;
    const rest = await openChain(world.ports(), CHAIN, { start: 6, hint: null });
    expect(rest).toMatchObject({ end: 10, repair: { how: { kind: 'rest', from: 6 } } });
    await world.ledger.claim(CHAIN, entryFor(10, 20));
    world.logStart = 20;
    expect(await openChain(world.ports(), CHAIN, { start: 20, hint: null })).toMatchObject({ end: 20, repair: { how: { kind: 'lost' } } });
    expect(world.coverage()).toMatchObject({ end: 20, genesis: 0 });
    expect([...world.coverage().lost]).toEqual([0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  it('begins a chain on a log that begins above 0 with a genesis, and on one that begins at 0 with nothing', async () => {
    const world = new World(
      () => 0.99,
      async () => {},
      500,
    );
    world.calm = true;
    expect((await openChain(world.ports(), CHAIN, { start: 500, hint: null })).end).toBe(500);
    expect((await openChain(world.ports(), CHAIN, { start: 700, hint: null })).end).toBe(500);
    expect(world.coverage()).toMatchObject({ end: 500, genesis: 500 });
    const other = { ...CHAIN, partition: 4 };
    expect((await openChain(world.ports(), other, { start: 0, hint: null })).end).toBe(0);
    expect(await world.ledger.last(other, null)).toBeUndefined();
  });
});
