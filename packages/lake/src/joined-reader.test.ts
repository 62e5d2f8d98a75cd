import { randomInt } from 'node:crypto';
import { HistoryHole, type HistoryPart, type RecordHistory } from '@tailrace/kafka-kit';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { JoinedReader, type JoinedSources, LIVE_TAIL_MS, type ReplayLog, type ReplaySource } from './joined-reader.ts';
import type { OffsetRange } from './records.ts';
import { CHAIN, recordAt } from './testing/index.ts';

const NOW = Date.UTC(2026, 0, 2, 9);
const never = new AbortController().signal;
type Kind = 'record' | 'void' | 'lost' | 'before-archive' | 'hole';

/** A partition that lives on while it is read: each look at it may archive more of it and delete more from Kafka. */
class World {
  readonly kinds: readonly Kind[];
  /** Ends of the chain's entries. */
  readonly ends: readonly number[];
  readonly youngFrom: number;
  readonly moves: (() => boolean) | undefined;
  archivedTo: number;
  logStart: number;
  waits: OffsetRange[] = [];

  constructor(fields: {
    kinds: readonly Kind[];
    ends: readonly number[];
    archivedTo: number;
    logStart: number;
    youngFrom: number;
    moves?: () => boolean;
  }) {
    this.kinds = fields.kinds;
    this.ends = fields.ends;
    this.archivedTo = fields.archivedTo;
    this.logStart = fields.logStart;
    this.youngFrom = fields.youngFrom;
    this.moves = fields.moves;
  }

  timeOf(offset: number): number {
    return offset < this.youngFrom ? NOW - LIVE_TAIL_MS - 1 : NOW;
  }

  live(): void {
    if (this.moves?.() !== true) return;
    this.archivedTo = this.ends.find((end) => end > this.archivedTo) ?? this.archivedTo;
    if (this.moves()) this.logStart = Math.min(this.logStart + 3, this.kinds.length);
  }

  readonly log: ReplayLog = {
    extent: async () => {
      this.live();
      return { logStart: this.logStart, logEnd: this.kinds.length };
    },
    read: (_chain, from, to) => this.#readLog(from, to),
  };

  async *#readLog(from: number, to: number) {
    for (let at = Math.max(from, this.logStart); at < to; at = Math.max(at + 2, this.logStart)) {
      const records = [at, at + 1]
        .filter((offset) => offset < to && this.#isInLog(offset))
        .map((offset) => recordAt(offset, 'kafka', { timestampMs: this.timeOf(offset) }));
      if (records.length > 0) yield records;
      this.live();
    }
  }

  #isInLog(offset: number): boolean {
    // What the lake has lost, or has a hole for, Kafka may hold all the same.
    return this.kinds[offset] !== 'void';
  }

  readonly history: RecordHistory = { read: (_chain, from, to) => this.#readLake(from, to) };

  async *#readLake(from: number, to: number): AsyncGenerator<HistoryPart> {
    for (let at = from; at < Math.min(to, this.archivedTo); at++) {
      const kind = this.kinds[at] ?? 'hole';
      if (kind === 'hole') throw new HistoryHole(CHAIN, at, at + 1, 'nobody has it');
      yield kind === 'record'
        ? { kind: 'records', records: [recordAt(at, 'lake', { timestampMs: this.timeOf(at) })] }
        : { kind, from: at, to: at + 1 };
      this.live();
    }
  }

  sources(only?: ReplaySource): JoinedSources {
    return {
      history: this.history,
      log: this.log,
      only,
      archived: async (_chain, offset) => {
        if (offset >= this.archivedTo) return undefined;
        const end = this.ends.find((each) => each > offset) ?? this.archivedTo;
        return { newestMs: this.timeOf(end - 1) };
      },
      nowMs: () => NOW,
      patienceMs: 0,
      askAgainMs: 0,
      onWait: (_chain, range) => this.waits.push(range),
    };
  }

  async read(
    range: OffsetRange,
    only?: ReplaySource,
  ): Promise<{ seen: string[]; hole: HistoryHole | undefined; bySource: Record<ReplaySource, number[]> }> {
    const seen: string[] = [];
    const bySource: Record<ReplaySource, number[]> = { lake: [], kafka: [] };
    try {
      for await (const part of new JoinedReader(this.sources(only)).read(CHAIN, range, never)) {
        if (part.kind === 'records') {
          for (const { offset, value } of part.records) {
            expect(value?.toString()).toBe(part.source);
            seen.push(`record ${offset}`);
            bySource[part.source].push(offset);
          }
        } else for (let offset = part.from; offset < part.to; offset++) seen.push(`${part.kind} ${offset}`);
      }
      return { seen, hole: undefined, bySource };
    } catch (fault) {
      if (!(fault instanceof HistoryHole)) throw fault;
      return { seen, hole: fault, bySource };
    }
  }
}

const all = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, i) => `record ${from + i}`);

it('gives each offset of any chain and log once and in order, while both move on, and stops exactly at what neither has', async () => {
  const seed = randomInt(2 ** 31);
  console.log(`joined-reader seed ${seed}`);
  const kind = fc.constantFrom<Kind>('record', 'record', 'record', 'record', 'record', 'void', 'lost', 'hole');
  await fc.assert(
    fc.asyncProperty(
      fc.array(kind, { minLength: 4, maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
      fc.nat(40),
      fc.nat(40),
      fc.nat(40),
      fc.nat(20),
      fc.nat(45),
      fc.infiniteStream(fc.boolean()),
      async (kinds, cuts, archived, start, youngFrom, first, length, coins) => {
        const ends = [...new Set([...cuts.filter((cut) => cut < kinds.length), kinds.length])].sort((a, b) => a - b);
        const archivedTo = ends.filter((end) => end <= archived).at(-1) ?? 0;
        const logStart = Math.min(start, kinds.length);
        const moves = (): boolean => coins.next().value === true;
        const world = new World({ kinds, ends, archivedTo, logStart, youngFrom, moves });
        const range = { first: Math.min(first, kinds.length - 1), next: Math.min(first + length + 1, kinds.length) };
        const { seen, hole } = await world.read(range);
        // What was told is a run of offsets without a gap or a repeat.
        expect(seen.map((each) => Number(each.split(' ')[1]))).toEqual(seen.map((_, i) => range.first + i));
        const at = range.first + seen.length;
        for (const [i, each] of seen.entries()) {
          const truth = kinds[range.first + i];
          // A hole of the lake, and what it declares lost, come from Kafka where that has them.
          if (truth === 'record' || truth === 'hole') expect(each).toMatch(/^record /);
          else if (truth === 'lost') expect(each).toMatch(/^(record|lost) /);
          else expect(each).toMatch(new RegExp(`^${truth} `));
        }
        if (hole === undefined) expect(at).toBe(range.next);
        else {
          expect(hole.from).toBe(at);
          expect(hole.to).toBeGreaterThan(at);
          expect(hole.to).toBeLessThanOrEqual(range.next);
          // Kafka has lost it for certain, and the lake has a hole there or ended before it when it was asked.
          expect(world.logStart).toBeGreaterThan(at);
          if (kinds[at] !== 'hole') expect(world.waits.some((range) => range.first === at)).toBe(true);
        }
      },
    ),
    { seed, numRuns: 3000 },
  );
});

const still = (fields: Partial<ConstructorParameters<typeof World>[0]>): World =>
  new World({ kinds: Array<Kind>(20).fill('record'), ends: [5, 10, 15], archivedTo: 15, logStart: 0, youngFrom: 12, ...fields });

it('what is archived and old comes from the lake, the live tail from Kafka, also where it is archived', async () => {
  const { seen, bySource } = await still({}).read({ first: 2, next: 20 });
  expect(seen).toEqual(all(2, 20));
  expect(bySource.lake).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

it('the live tail comes from the lake where Kafka no longer has it', async () => {
  const { seen, bySource } = await still({ logStart: 14 }).read({ first: 2, next: 20 });
  expect(seen).toEqual(all(2, 20));
  expect(bySource.lake.at(-1)).toBe(13);
});

it('reads from one of them alone when told so, and names what that does not have', async () => {
  expect((await still({}).read({ first: 2, next: 20 }, 'kafka')).bySource.lake).toEqual([]);
  expect((await still({}).read({ first: 2, next: 15 }, 'lake')).bySource.kafka).toEqual([]);
  expect((await still({ logStart: 4 }).read({ first: 2, next: 20 }, 'kafka')).hole).toMatchObject({ from: 2, to: 4 });
  expect((await still({}).read({ first: 2, next: 20 }, 'lake')).hole).toMatchObject({ from: 15, to: 20 });
});

it('a hole of the lake is read from Kafka as far as that has it', async () => {
  const kinds = Array.from({ length: 20 }, (_, i): Kind => (i === 7 || i === 8 ? 'hole' : 'record'));
  const whole = await still({ kinds, logStart: 7 }).read({ first: 0, next: 20 });
  expect(whole.seen).toEqual(all(0, 20));
  expect(whole.bySource.kafka.slice(0, 2)).toEqual([7, 8]);
  const { seen, hole } = await still({ kinds, logStart: 8 }).read({ first: 0, next: 20 });
  expect(seen).toEqual(all(0, 7));
  expect(hole).toMatchObject({
    from: 7,
    to: 8,
    message: expect.stringMatching(/^Offsets 7 to 7 of .* are not to be had: nobody has it\.$/),
  });
});

it('what Kafka has deleted and the lake does not have yet is waited for', async () => {
  const world = still({ archivedTo: 5, logStart: 10, youngFrom: 20 });
  const sources: JoinedSources = {
    ...world.sources(),
    patienceMs: 60_000,
    onWait: (_chain, range) => {
      world.waits.push(range);
      world.archivedTo = 15;
    },
  };
  const offsets: number[] = [];
  for await (const part of new JoinedReader(sources).read(CHAIN, { first: 0, next: 20 }, never))
    if (part.kind === 'records') offsets.push(...part.records.map(({ offset }) => offset));
  expect(offsets).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(world.waits).toEqual([{ first: 5, next: 10 }]);
});
