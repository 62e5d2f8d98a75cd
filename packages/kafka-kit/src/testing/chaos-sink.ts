import { type Batch, type Gap, type Lane, type Outcome, type Sink, STORED } from '../consume/contract.ts';
import type { DeadLetterPort } from '../consume/dead-letters.ts';
import type { Published } from '../publish/contract.ts';
import type { Clock } from '../time/clock.ts';
import type { Random } from './random.ts';

/** What one lane (one ownership, or one opening of it) was handed, and what it still owes. */
interface LaneLog {
  highest: number;
  /** Offsets whose write failed, and when. */
  readonly owed: Map<number, number>;
}

/** A failure becomes known to the loop at its next turn; until then what is behind may still be handed over. */
const NOTICED_MS = 200;

/** A store that many sinks write to, and what must hold of it. Everything that is wrong goes into `faults`. */
export class ChaosStore {
  readonly stored = new Set<string>();
  /** Records for which a sink has answered `stored` or `skipped`, or whose dead letter is kept. */
  readonly settled = new Set<string>();
  /** Offsets that a sink was told are gone, and took. */
  readonly gone = new Set<string>();
  readonly faults: string[] = [];
}

/** Takes dead letters as the chaos sink takes records: fails, refuses and stalls at random. What it has acknowledged is stored and settled. */
export function chaosDeadLetters(store: ChaosStore, random: Random, clock: Clock, healed: () => boolean): DeadLetterPort {
  const keep = (partition: number | undefined, offset: string): void => {
    store.stored.add(`${partition}/${offset}`);
    store.settled.add(`${partition}/${offset}`);
  };
  return {
    topic: (source) => `${source}.dlq`,
    publisher: {
      async publish(records) {
        await clock.sleep(random.chance(0.05) ? random.whole(1000, 9000) : random.whole(0, 300));
        return records.map(({ partition, headers }): Published => {
          const fate = healed() ? 1 : random.next();
          if (fate < 0.1) return { kind: 'refused', reason: 'too large' };
          if (fate < 0.3) return { kind: fate < 0.2 ? 'withdrawn' : 'unknown', reason: 'not now' };
          keep(partition, String(headers?.find(([name]) => name === 'dlq.via.offset')?.[1]));
          return { kind: 'acknowledged' };
        });
      },
    },
    async unsendable({ via }) {
      await clock.sleep(random.whole(0, 300));
      if (!healed() && random.chance(0.3)) throw new Error('the bucket is away');
      keep(via.partition, String(via.offset));
    },
    budget: undefined,
  };
}

/** A sink that stores, fails, stalls, retries, calls records dead and answers nonsense at random, and checks the order in which it is called. */
export class ChaosSink implements Sink {
  readonly name = 'chaos';
  readonly #store: ChaosStore;
  readonly #random: Random;
  readonly #clock: Clock;
  readonly #lanes = new WeakMap<AbortSignal, LaneLog>();
  /** From then on it only stores. */
  healed = false;

  constructor(store: ChaosStore, random: Random, clock: Clock) {
    this.#store = store;
    this.#random = random;
    this.#clock = clock;
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const keys = Array.from({ length: batch.length }, (_, i) => `${batch.source.partition}/${batch.offset(i)}`);
    const offsets = keys.map((_, i) => batch.offset(i));
    const lane = this.#checkOrder(batch.source.partition, offsets, signal);
    const random = this.#random;
    if (this.healed) return this.#answer(keys, offsets, lane, () => STORED);
    await this.#clock.sleep(random.chance(0.05) ? random.whole(1000, 9000) : random.whole(0, 300));
    const released = random.chance(0.2);
    if (released) batch.release();
    // A sink may have written some of it before it fails, and a lane that was given up may still be written.
    if (random.chance(0.3)) for (const key of keys) if (random.chance(0.5)) this.#store.stored.add(key);
    const fate = random.next();
    if (fate < 0.1) return this.#fail(offsets, lane, released);
    if (fate < 0.15) {
      this.#owe(offsets, lane, released);
      return random.pick([
        [],
        [...keys, ''].map(() => STORED),
        null,
        keys.map(() => ({ kind: 'what' })),
        new Array(batch.length),
      ]) as readonly Outcome[];
    }
    return this.#answer(keys, offsets, lane, () => {
      const each = random.next();
      if (each < 0.03 && !released) return { kind: 'retry', reason: 'busy' };
      if (each < 0.05 && !released) return { kind: 'dead', reason: 'bad' };
      return each < 0.1 ? { kind: 'skipped', reason: 'old' } : STORED;
    });
  }

  async gap({ partition }: Lane, { kind, from, to }: Gap): Promise<void> {
    if (!this.healed) {
      await this.#clock.sleep(this.#random.whole(0, 300));
      if (this.#random.chance(0.3)) throw new Error('can not take it');
    }
    if (kind === 'expired') for (let offset = from; offset < to; offset += 1) this.#store.gone.add(`${partition}/${offset}`);
    else if (kind !== 'void') this.#store.faults.push(`I9: ${partition} was told of a ${kind} gap that never was`);
  }

  async flush(): Promise<void> {
    if (this.healed) return;
    await this.#clock.sleep(this.#random.whole(0, 200));
    if (this.#random.chance(0.2)) throw new Error('can not flush');
  }

  #answer(keys: readonly string[], offsets: readonly number[], lane: LaneLog, outcome: () => Outcome): readonly Outcome[] {
    return keys.map((key, i) => {
      const each = outcome();
      const offset = offsets[i] ?? -1;
      if (each.kind === 'retry') {
        lane.owed.set(offset, this.#clock.nowMs());
        return each;
      }
      lane.owed.delete(offset);
      if (each.kind === 'dead') return each;
      this.#store.stored.add(key);
      this.#store.settled.add(key);
      return each;
    });
  }

  #fail(offsets: readonly number[], lane: LaneLog, released: boolean): never {
    this.#owe(offsets, lane, released);
    throw new Error('away');
  }

  #owe(offsets: readonly number[], lane: LaneLog, released: boolean): void {
    // After release a failure gives the lane up: the lane that comes in its place begins anew.
    if (!released) for (const offset of offsets) lane.owed.set(offset, this.#clock.nowMs());
  }

  #checkOrder(partition: number, offsets: readonly number[], signal: AbortSignal): LaneLog {
    let lane = this.#lanes.get(signal);
    if (lane === undefined) {
      lane = { highest: -1, owed: new Map() };
      this.#lanes.set(signal, lane);
    }
    const fault = (what: string): void => {
      this.#store.faults.push(`partition ${partition}, offsets ${offsets[0]}-${offsets.at(-1)}: ${what}`);
    };
    if (signal.aborted) fault('was handed over after its lane was given up');
    if (offsets.some((offset, i) => i > 0 && offset <= (offsets[i - 1] ?? -1))) fault('is not in offset order');
    const fresh = offsets.filter((offset) => offset > (lane?.highest ?? -1));
    if (fresh.length > 0 && fresh.length < offsets.length) fault('mixes new records with such that were handed over before');
    if (fresh.length > 0) {
      for (const [offset, failedMs] of lane.owed) {
        if (this.#clock.nowMs() - failedMs > NOTICED_MS) fault(`was handed over while ${offset} is owed`);
      }
      lane.highest = fresh.at(-1) ?? lane.highest;
    }
    return lane;
  }
}
