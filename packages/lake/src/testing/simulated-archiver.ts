import { randomUUID } from 'node:crypto';
import {
  declareHole,
  type Extended,
  endOtherLives,
  extendChain,
  type HoleEntry,
  lostEntry,
  openChain,
  type RepairPorts,
  StillThere,
} from '../claims.ts';
import type { ChainId, OffsetRange } from '../records.ts';
import { Away, chainOf, holesIn, type Look, type Row, type SimulatedLog } from './simulated-log.ts';
import { bodyOf, entryOf, type Rows } from './simulated-object.ts';

/** What the protocol is made of. A test replaces one to see that the simulation notices. */
export interface Rules {
  readonly endOtherLives: typeof endOtherLives;
  readonly openChain: typeof openChain;
  readonly extendChain: typeof extendChain;
  readonly declareHole: typeof declareHole;
  readonly lostEntry: typeof lostEntry;
  /** The topic id is looked up once more before a claim. */
  readonly checksTopic: boolean;
  /** What was not proven to be of the old topic is cut off. */
  readonly cutsUnproven: boolean;
  /** A void is read again before it is claimed. */
  readonly confirmsVoids: boolean;
  /** Where the object of another attempt reaches to is heeded. */
  readonly goesOnBehindOthers: boolean;
}

export const RULES: Rules = {
  endOtherLives,
  openChain,
  extendChain,
  declareHole,
  lostEntry,
  checksTopic: true,
  cutsUnproven: true,
  confirmsVoids: true,
  goesOnBehindOthers: true,
};

/** What surrounds one archiver of the simulation. */
export interface Surroundings {
  readonly log: SimulatedLog;
  readonly rules: Rules;
  readonly ports: RepairPorts;
  readonly pick: (below: number) => number;
  /** Others go on here; this archiver may die, or what it asks may fail. */
  readonly step: () => Promise<void>;
  /** Everything below `end` was answered `stored`. */
  readonly answered: (chain: ChainId, end: number) => void;
  readonly happened: (what: string) => void;
}

/** The partition is opened again from the chain's end. */
class Reopened extends Error {}

/** One assignment of the partition, from the opening of the chain to a stop, a death or the topic's end. */
export class SimulatedArchiver {
  readonly #world: Surroundings;
  readonly #chain: ChainId;
  #end = 0;
  /** The next offset to take in. */
  #next = 0;
  /** Every offset below was delivered before a look-up began that gave this life's id. */
  #proven = 0;
  #over = false;

  private constructor(world: Surroundings, chain: ChainId) {
    this.#world = world;
    this.#chain = chain;
  }

  static async open(world: Surroundings): Promise<SimulatedArchiver> {
    const { rules, ports, log, pick } = world;
    const look = await retried(async () => {
      await world.step();
      return log.look();
    });
    const archiver = new SimulatedArchiver(world, chainOf(look.incarnation));
    for (const { how } of await retried(() => rules.endOtherLives(ports, archiver.#chain))) world.happened(`other life ${how.kind}`);
    // The group's commit may be anything: reset, of an earlier life, lost.
    const hint = pick(3) === 0 ? null : pick(60);
    const opened = await retried(() => rules.openChain(ports, archiver.#chain, { start: look.logStart, hint }));
    if (opened.repair !== undefined) world.happened(`repair ${opened.repair.how.kind}`);
    archiver.#goTo(opened.end);
    return archiver;
  }

  /** Takes in and stores, until its rounds are over or the topic is another one. */
  async archive(rounds: number): Promise<void> {
    try {
      for (let round = 0; round < rounds && !this.#over; round++) await this.#round();
    } catch (error) {
      if (!(error instanceof Reopened || error instanceof StillThere)) throw error;
      this.#world.happened('reopened');
    }
  }

  async #round(): Promise<void> {
    const { log, pick } = this.#world;
    const look = await this.#look();
    if (look.incarnation !== this.#chain.incarnation) {
      this.#over = true;
      return;
    }
    if (this.#next < look.logStart) {
      // Who tells of it may know it wrongly, but no broker has a log that begins behind its end.
      const said = look.logStart + (pick(6) === 0 ? 1 + pick(5) : 0);
      await this.#lost({ first: this.#next, next: Math.min(said, look.logEnd) });
      return;
    }
    const rows: Row[] = [];
    const first = this.#next;
    for (let reads = 1 + pick(4); reads > 0; reads--) {
      await retried(this.#world.step);
      // Whatever topic has the name now: this archiver does not know. At its end, or below its start, nothing comes.
      const came = this.#next < log.now.logStart ? [] : log.rows(this.#next, log.now.readable.length, 1 + pick(5));
      // The client has been seen to jump over records.
      if (pick(25) === 0) came.shift();
      rows.push(...came);
      this.#next = (came.at(-1)?.offset ?? this.#next - 1) + 1;
      if (pick(4) === 0) await this.#look();
    }
    await this.#store(first, rows);
  }

  /** Looks up what the topic is. */
  async #look(): Promise<Look> {
    const before = this.#next;
    const look = await retried(async () => {
      await this.#world.step();
      return this.#world.log.look();
    });
    if (look.incarnation === this.#chain.incarnation) this.#proven = Math.max(this.#proven, before);
    return look;
  }

  /** Makes rows stand in the lake, and the holes before them. */
  async #store(first: number, taken: readonly Row[]): Promise<void> {
    const { rules } = this.#world;
    let rows = taken;
    while (this.#end < this.#next && rows.length > 0) {
      if (rules.checksTopic && !this.#over && (await this.#look()).incarnation !== this.#chain.incarnation) {
        this.#over = true;
        const upTo = rules.cutsUnproven ? this.#proven : this.#next;
        if (upTo < this.#next) this.#world.happened('cut');
        rows = rows.filter(({ offset }) => offset < upTo);
        this.#next = Math.min(this.#next, upTo);
      }
      const at = Math.max(first, this.#end);
      rows = rows.filter(({ offset }) => offset >= at);
      const [head] = rows;
      if (head === undefined) return;
      if (head.offset > at) {
        await this.#void({ first: at, next: head.offset });
        continue;
      }
      const range = { first: at, next: (rows.at(-1)?.offset ?? at) + 1 };
      const cutAt = (await this.#firstUnproven(holesIn(range, rows))) ?? range.next;
      const run = rows.filter(({ offset }) => offset < cutAt);
      const voids = holesIn({ first: at, next: cutAt }, run);
      const next = cutAt;
      if (voids.length > 0) this.#world.happened('void inside');
      await this.#data({ first: at, next, voids, rows: run });
    }
  }

  async #data(rows: Rows): Promise<void> {
    const { rules, ports } = this.#world;
    const entry = entryOf(this.#chain, rows, randomUUID());
    const { body } = bodyOf(this.#chain, rows);
    this.#goOn(await retried(() => rules.extendChain(ports, this.#chain, entry, body, () => {})), rows.next);
  }

  /** Where the first hole begins that is no void for sure: an object ends before it. Some archivers end theirs before any. */
  async #firstUnproven(holes: readonly OffsetRange[]): Promise<number | undefined> {
    if (this.#world.pick(2) === 0) return holes[0]?.first;
    for (const hole of holes) if (!(await this.#isVoid(hole))) return hole.first;
    return undefined;
  }

  async #void(range: OffsetRange): Promise<void> {
    if (!(await this.#isVoid(range))) return await this.#lost(range);
    await this.#declare({ kind: 'void', ...range, attempt: randomUUID() });
  }

  /** False where nobody can say it any more. Throws Reopened where a record lies there. */
  async #isVoid({ first, next }: OffsetRange): Promise<boolean> {
    const { log, rules } = this.#world;
    await retried(this.#world.step);
    if (!rules.confirmsVoids) return true;
    if (log.now.incarnation !== this.#chain.incarnation) return false;
    if (log.rows(first, next).length > 0) throw new Reopened();
    if (log.now.logStart > first) return false;
    return true;
  }

  async #lost(range: OffsetRange): Promise<void> {
    const { rules, ports } = this.#world;
    const entry = await retried(() => rules.lostEntry(ports, this.#chain, range));
    await this.#declare(entry);
    this.#world.happened('lost');
    this.#next = Math.max(this.#next, this.#end);
    if (entry.next < range.next) throw new Reopened();
  }

  async #declare(entry: HoleEntry): Promise<void> {
    const { rules, ports } = this.#world;
    this.#goOn(await retried(() => rules.declareHole(ports, this.#chain, entry)), entry.next);
  }

  #goOn({ end, met }: Extended, own: number): void {
    if (met !== undefined) this.#world.happened('met');
    this.#goTo(this.#world.rules.goesOnBehindOthers ? end : own);
  }

  #goTo(end: number): void {
    this.#end = end;
    this.#next = Math.max(this.#next, end);
    this.#world.answered(this.#chain, end);
  }
}

async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Away)) throw error;
    }
  }
}
