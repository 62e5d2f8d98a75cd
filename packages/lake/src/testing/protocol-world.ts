import { auditLake } from '../audit.ts';
import type { RepairPorts } from '../claims.ts';
import { Ledger } from '../ledger.ts';
import { type LedgerEntry, parseEntry } from '../ledger-entry.ts';
import { entryKey, lostKey } from '../object-names.ts';
import { without } from '../ranges.ts';
import type { ChainId, OffsetRange } from '../records.ts';
import { MemoryStore } from './memory-store.ts';
import { RULES, type Rules, SimulatedArchiver } from './simulated-archiver.ts';
import { Away, chainOf, contentOf, Killed, type Life, picker, type Row, SimulatedLog } from './simulated-log.ts';
import { bodyOf, LAKE, lookIntoSimulated, rowsIn } from './simulated-object.ts';

const ARCHIVERS = 3;
const LIVES_OF_EACH = 4;
const ROUNDS = 4;
/** Of the last archiver, whose client still jumps over records now and then. */
const MOST_OPENINGS = 200;

/** What a chain says of its offsets, as a reader sees it: up to a claim with neither object nor note. */
interface Covered {
  readonly end: number;
  readonly rows: readonly Row[];
  readonly voids: readonly OffsetRange[];
  readonly lost: readonly OffsetRange[];
  readonly genesis: readonly OffsetRange[];
}

export interface Outcome {
  /** What is not as the design promises; empty in a sound run. */
  readonly problems: readonly string[];
  /** How often what happened, so that a test sees that it saw it. */
  readonly happened: ReadonlyMap<string, number>;
}

/**
 * One random run of the lake's protocol: several archivers of one partition that do not know of each other, over one store, while the log
 * grows, expires and is made anew; each dies and fails anywhere. A function of its seed.
 */
export class ProtocolWorld {
  readonly #pick: (below: number) => number;
  readonly #log: SimulatedLog;
  readonly #rules: Rules;
  readonly #objects = new Map<string, Buffer>();
  readonly #waiting: (() => void)[] = [];
  readonly #problems: string[] = [];
  readonly #happened = new Map<string, number>();
  /** Up to where each life's chain was seen to stand. */
  readonly #seen = new Map<string, number>();
  #calm = false;
  readonly #overwrites: boolean;

  private constructor(seed: number, rules: Rules, overwrites: boolean) {
    this.#pick = picker(seed);
    this.#log = new SimulatedLog(this.#pick);
    this.#rules = rules;
    this.#overwrites = overwrites;
  }

  /** `overwrites`: the store does not honour put-if-absent. */
  static async run(seed: number, rules: Partial<Rules> = {}, overwrites = false): Promise<Outcome> {
    const world = new ProtocolWorld(seed, { ...RULES, ...rules }, overwrites);
    await world.#archiveAtOnce();
    world.#calm = true;
    await world.#archiveToTheEnd();
    await world.#check();
    return { problems: world.#problems, happened: world.#happened };
  }

  async #archiveAtOnce(): Promise<void> {
    let running = ARCHIVERS;
    for (let i = 0; i < ARCHIVERS; i++)
      void this.#lives()
        .catch((fault: unknown) => this.#problems.push(`an archiver failed: ${String(fault)}`))
        .finally(() => running--);
    while (running > 0) {
      // Every archiver runs up to its next step; then one of them goes on.
      await new Promise((resolve) => setImmediate(resolve));
      this.#waiting.splice(this.#pick(this.#waiting.length), 1)[0]?.();
    }
  }

  async #lives(): Promise<void> {
    for (let life = 0; life < LIVES_OF_EACH; life++) {
      try {
        await (await SimulatedArchiver.open(this.#surroundings())).archive(ROUNDS);
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        this.#count('killed');
      }
    }
  }

  /** Nothing fails any more: the next owner brings the present topic to its end. */
  async #archiveToTheEnd(): Promise<void> {
    const { readable } = this.#log.now;
    readable.push(true);
    for (let opened = 0; opened < MOST_OPENINGS && this.#seenEnd(chainOf(this.#log.now.incarnation)) < readable.length; opened++)
      await (await SimulatedArchiver.open(this.#surroundings())).archive(ROUNDS * 4);
    // The chains of earlier lives are ended also where the present one was complete.
    await this.#rules.endOtherLives(
      this.#ports(async () => {}),
      chainOf(this.#log.now.incarnation),
    );
    const { end } = this.#covered(this.#log.now);
    if (end !== readable.length) this.#problems.push(`the chain ends at ${end}, and the log at ${readable.length}`);
  }

  #surroundings() {
    let dead = false;
    const step = async (): Promise<void> => {
      if (this.#calm) return;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#log.move();
      if (this.#pick(60) === 0) dead = true;
      if (dead) throw new Killed();
      if (this.#pick(15) === 0) throw new Away();
    };
    return {
      log: this.#log,
      rules: this.#rules,
      ports: this.#ports(step),
      pick: this.#pick,
      step,
      answered: (chain: ChainId, end: number) => this.#answered(chain, end),
      happened: (what: string) => this.#count(what),
    };
  }

  #ports(step: () => Promise<void>): RepairPorts {
    const onPut = async (operation: string, key: string): Promise<void> => {
      await step();
      if (operation === 'put' && this.#overwrites) this.#objects.delete(key);
    };
    const ledger = new Ledger(new MemoryStore(onPut, step, this.#objects), LAKE);
    const log = this.#log;
    const isOver = ({ incarnation }: ChainId): boolean => log.now.incarnation !== incarnation;
    return {
      ledger,
      logStart: async (chain) => {
        await step();
        return isOver(chain) ? undefined : log.now.logStart;
      },
      readLog: async (chain, first, next) => {
        await step();
        const from = Math.max(first, log.now.logStart);
        if (isOver(chain) || from >= next) return { kind: 'nothing-left' };
        const records = log.rows(from, next).map(({ offset, content }) => ({
          offset,
          timestampMs: 0,
          key: null,
          value: Buffer.from(content),
          headers: [],
        }));
        return { kind: 'records', from, records: one(records) };
      },
      makeObject: async (chain, entry, range) => {
        const rows: Row[] = [];
        for await (const records of range.records) rows.push(...records.map(({ offset, value }) => ({ offset, content: String(value) })));
        await step();
        return bodyOf(chain, { first: entry.first, next: entry.next, voids: entry.voids, rows });
      },
    };
  }

  #count(what: string): void {
    this.#happened.set(what, (this.#happened.get(what) ?? 0) + 1);
  }

  /** Everything below an answer stands in an object, or is declared, from then on. */
  #answered(chain: ChainId, end: number): void {
    const seen = this.#seenEnd(chain);
    if (seen < end) this.#problems.push(`${chain.incarnation}: stored was answered below ${end}, and a reader sees ${seen}`);
  }

  /** Where the chain ends for a reader. What was seen to stand is not looked at again here: at the end of the run all of it is. */
  #seenEnd(chain: ChainId): number {
    let end = this.#seen.get(chain.incarnation) ?? 0;
    for (let entry = this.#entryAt(chain, end); entry !== undefined; entry = this.#entryAt(chain, end)) {
      if (entry.kind === 'data' && !this.#objects.has(entry.object) && !this.#objects.has(lostKey(LAKE, chain, end))) break;
      end = entry.next;
    }
    this.#seen.set(chain.incarnation, end);
    return end;
  }

  #entryAt(chain: ChainId, first: number): LedgerEntry | undefined {
    const key = entryKey(LAKE, chain, first);
    const body = this.#objects.get(key);
    return body && parseEntry(key, first, body);
  }

  #covered({ incarnation }: Life): Covered {
    const chain = chainOf(incarnation);
    const rows: Row[] = [];
    const ranges: Record<LedgerEntry['kind'], OffsetRange[]> = { data: [], genesis: [], void: [], lost: [] };
    let end = 0;
    for (let entry = this.#entryAt(chain, 0); entry !== undefined; entry = this.#entryAt(chain, end)) {
      if (entry.kind === 'data') {
        const body = this.#objects.get(entry.object);
        if (body === undefined && !this.#objects.has(lostKey(LAKE, chain, entry.first))) break;
        const held = body === undefined ? [] : rowsIn(body);
        rows.push(...held);
        ranges.void.push(...entry.voids);
        ranges.lost.push(...without({ first: entry.first, next: held[0]?.offset ?? entry.next }, entry.voids));
      } else ranges[entry.kind].push(entry);
      end = entry.next;
    }
    return { end, rows, voids: ranges.void, lost: ranges.lost, genesis: ranges.genesis };
  }

  async #check(): Promise<void> {
    const { findings, partitions } = await auditLake(new Ledger(new MemoryStore(undefined, undefined, this.#objects), LAKE), {
      lookInto: lookIntoSimulated,
    });
    for (const finding of findings) {
      const where = 'first' in finding ? `${finding.incarnation}: [${finding.first}, ${finding.next}) ` : '';
      this.#problems.push(`${where}${finding.kind}: ${finding.detail}`);
    }
    for (const { incarnation, pending } of partitions)
      if (pending !== null) this.#problems.push(`${incarnation}: [${pending.first}, ${pending.next}) is claimed for ever`);
    for (const life of this.#log.lives) this.#checkLife(life);
  }

  #checkLife(life: Life): void {
    const { incarnation, readable } = life;
    const { end, rows, voids, lost, genesis } = this.#covered(life);
    const wrong = (what: string, where: unknown): void => void this.#problems.push(`${incarnation}: ${what}: ${JSON.stringify(where)}`);
    for (const row of rows)
      if (row.content !== contentOf(incarnation, row.offset) || readable[row.offset] !== true) wrong('a row that the log never held', row);
    const times = new Map<number, number>();
    const cover = (offset: number): void => void times.set(offset, (times.get(offset) ?? 0) + 1);
    for (const { offset } of rows) cover(offset);
    for (const { first, next } of [...voids, ...lost, ...genesis]) for (let offset = first; offset < next; offset++) cover(offset);
    for (let offset = 0; offset < end; offset++) if (times.get(offset) !== 1) wrong('covered other than once', offset);
    const gone = life === this.#log.now ? life.logStart : readable.length;
    for (const { first, next } of [...lost, ...genesis])
      if (next > Math.min(gone, readable.length)) wrong('declared lost, and still there', { first, next });
    for (const range of voids)
      if (range.next > readable.length || readable.slice(range.first, range.next).includes(true))
        wrong('declared void, and held a record', range);
  }
}

async function* one<T>(item: T): AsyncIterable<T> {
  yield item;
}
