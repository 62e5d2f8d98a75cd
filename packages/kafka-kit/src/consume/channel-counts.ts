import type { AppliedCounts } from '../recover/channel-record.ts';
import { addDigest, checksumText, DigestSum, replayDigest } from '../recover/digest.ts';
import type { Batch, Outcome } from './contract.ts';

/** The plan that a record of a side channel belongs to, by its note; undefined for one of none (it comes from dead letters, or is not ours). */
export function planOf(batch: Pick<Batch, 'notes'>, i: number): string | undefined {
  const plan = batch
    .notes(i)
    .find(([name]) => name === PLAN_NOTE)?.[1]
    ?.toString('latin1');
  return plan !== undefined && PLAN.test(plan) ? plan : undefined;
}

const PLAN_NOTE = 'replay.plan';
const PLAN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A record that counts for its plan, from when it is handed over until it has an outcome that settles it. About 100 bytes. */
interface Waiting {
  readonly plan: string;
  /** Its origin's offset. */
  readonly origin: number;
  readonly digest: string;
  retried: number;
}

/** What became of some records of a plan. */
interface Tally {
  through: number;
  stored: number;
  readonly skipped: Map<string, number>;
  dead: number;
  retried: number;
  sum: bigint;
}

/** Records of one answer whose offsets the loop settles in one step, so that a position never lies within them. */
interface Run {
  /** One above its last offset. */
  readonly to: number;
  readonly tallies: Map<string, Tally>;
}

/**
 * What became of the records of one lane of a side channel, by plan, below a position: a function of the channel's records below it and of their
 * outcomes, in whatever order those came. Of a plan's records that repeat an origin's offset, or come behind a higher one, only the first counts;
 * which one that is, is found when they are handed over, which is in offset order.
 */
export class ChannelCounts {
  readonly #plans: Map<string, Tally>;
  /** The highest origin offset of each plan that was handed over, or counted before. */
  readonly #highest = new Map<string, number>();
  readonly #waiting = new Map<number, Waiting>();
  readonly #dead = new Map<number, Waiting>();
  #runs: Run[] = [];

  /** `plans`: what was counted below the position where the lane begins. */
  constructor(plans: Readonly<Record<string, AppliedCounts>> = {}) {
    this.#plans = new Map(Object.entries(plans).map(([plan, counts]) => [plan, tallyOf(counts)]));
    for (const [plan, { through }] of this.#plans) this.#highest.set(plan, through);
  }

  /** Takes note of a batch before the sink has it: behind its release there is nothing to read. A batch that comes again changes nothing. */
  handOver(batch: Batch): void {
    for (let i = 0; i < batch.length; i += 1) {
      const plan = planOf(batch, i);
      if (plan === undefined || this.#waiting.has(batch.offset(i))) continue;
      const { offset: origin } = batch.origin(i);
      if (origin <= (this.#highest.get(plan) ?? -1)) continue;
      this.#highest.set(plan, origin);
      this.#waiting.set(batch.offset(i), { plan, origin, digest: replayDigest(origin, batch.key(i), batch.value(i)), retried: 0 });
    }
  }

  /** Takes the sink's answer, before the loop does. */
  answered(batch: Pick<Batch, 'length' | 'offset'>, outcomes: readonly Outcome[]): void {
    let run: Map<string, Adding> = new Map();
    let to = -1;
    const end = (): void => {
      if (run.size > 0) this.#runs.push({ to, tallies: new Map([...run].map(([plan, adding]) => [plan, adding.done()])) });
      run = new Map();
    };
    for (const [i, outcome] of outcomes.entries()) {
      const offset = batch.offset(i);
      const waiting = this.#waiting.get(offset);
      if (outcome.kind === 'retry') {
        if (waiting !== undefined) waiting.retried += 1;
        continue;
      }
      if (outcome.kind === 'dead') {
        if (waiting === undefined) continue;
        this.#dead.set(offset, waiting);
        this.#waiting.delete(offset);
        continue;
      }
      if (offset !== to) end();
      to = offset + 1;
      if (waiting === undefined) continue;
      this.#waiting.delete(offset);
      const adding = run.get(waiting.plan) ?? new Adding();
      run.set(waiting.plan, adding);
      adding.add(waiting, outcome);
    }
    end();
  }

  /** Moves on to a position that the loop has reached: everything below it is settled. */
  moveTo(nextToRead: number): void {
    const waits: Run[] = [];
    for (const run of this.#runs) {
      if (run.to > nextToRead) waits.push(run);
      else for (const [plan, tally] of run.tallies) this.#count(plan, tally);
    }
    this.#runs = waits;
    for (const [offset, waiting] of this.#dead) {
      if (offset >= nextToRead) continue;
      this.#dead.delete(offset);
      const adding = new Adding();
      adding.add(waiting, DEAD);
      this.#count(waiting.plan, adding.done());
    }
  }

  /** The plans that are counted here. */
  get plans(): ReadonlySet<string> {
    return new Set(this.#plans.keys());
  }

  /** Forgets what is counted of a plan. */
  drop(plan: string): void {
    this.#plans.delete(plan);
    this.#highest.delete(plan);
  }

  /** What became of each plan's records below the position that was moved to last. */
  applied(): Readonly<Record<string, AppliedCounts>> {
    return Object.fromEntries([...this.#plans].map(([plan, tally]) => [plan, countsOf(tally)]));
  }

  #count(plan: string, tally: Tally): void {
    const sum = this.#plans.get(plan);
    if (sum === undefined) this.#plans.set(plan, tally);
    else addTally(sum, tally);
  }
}

const DEAD: Outcome = { kind: 'dead', reason: '' };

/** A tally that grows record by record. */
class Adding {
  readonly #tally: Tally = { through: -1, stored: 0, skipped: new Map(), dead: 0, retried: 0, sum: 0n };
  readonly #sum = new DigestSum();

  add({ origin, digest, retried }: Waiting, outcome: Outcome): void {
    const tally = this.#tally;
    tally.through = Math.max(tally.through, origin);
    tally.retried += retried;
    this.#sum.add(digest);
    if (outcome.kind === 'stored') tally.stored += 1;
    else if (outcome.kind === 'dead') tally.dead += 1;
    else tally.skipped.set(outcome.reason, (tally.skipped.get(outcome.reason) ?? 0) + 1);
  }

  done(): Tally {
    this.#tally.sum = this.#sum.value;
    return this.#tally;
  }
}

function addTally(to: Tally, more: Tally): void {
  to.through = Math.max(to.through, more.through);
  to.stored += more.stored;
  to.dead += more.dead;
  to.retried += more.retried;
  to.sum = addDigest(to.sum, more.sum);
  for (const [reason, records] of more.skipped) to.skipped.set(reason, (to.skipped.get(reason) ?? 0) + records);
}

function tallyOf({ checksum, skipped, ...counts }: AppliedCounts): Tally {
  return { ...counts, skipped: new Map(Object.entries(skipped)), sum: BigInt(`0x${checksum}`) };
}

function countsOf({ sum, skipped, ...counts }: Tally): AppliedCounts {
  return { ...counts, skipped: Object.fromEntries(skipped), checksum: checksumText(sum) };
}
