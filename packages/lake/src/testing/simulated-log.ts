import { StoreError } from '../object-store.ts';
import type { ChainId, OffsetRange } from '../records.ts';

/** One life of the simulated topic's one partition. */
export interface Life {
  readonly incarnation: string;
  logStart: number;
  /** Per offset whether it holds a readable record; its length is the log's end. */
  readonly readable: boolean[];
}

/** A row in the simulated lake. */
export interface Row {
  readonly offset: number;
  readonly content: string;
}

/** What a client is told of the topic, at one moment. */
export interface Look {
  readonly incarnation: string;
  readonly logStart: number;
  readonly logEnd: number;
}

/** The process is dead: nothing of it runs on. */
export class Killed extends Error {}

/** Whether a request that failed so was carried out is not known. */
export class Away extends StoreError {
  constructor() {
    super('away');
  }
}

export const TOPIC = 'service-events';

export const chainOf = (incarnation: string): ChainId => ({ topic: TOPIC, incarnation, partition: 3 });

/** What a record is, as the log that wrote it knows it: the simulated topics' lives write different ones at the same offset. */
export const contentOf = (incarnation: string, offset: number): string => `${incarnation}:${offset}`;

/** A small generator of whole numbers in [0, below), so that a run is a function of its seed. */
export function picker(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // mulberry32: the low bits of a plain linear generator repeat after a few numbers.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A topic of one partition that grows, expires, and is deleted and made anew. */
export class SimulatedLog {
  readonly lives: Life[] = [];
  readonly #pick: (below: number) => number;

  constructor(pick: (below: number) => number) {
    this.#pick = pick;
    this.makeAnew();
  }

  get now(): Life {
    return this.lives.at(-1) as Life;
  }

  makeAnew(): void {
    const logStart = this.#pick(3) === 0 ? 7 : 0;
    this.lives.push({ incarnation: `life___${this.lives.length}`, logStart, readable: Array<boolean>(logStart).fill(true) });
    this.grow(1 + this.#pick(5));
  }

  grow(count: number): void {
    for (let i = 0; i < count; i++) this.now.readable.push(this.#pick(7) > 0);
  }

  expire(count: number): void {
    this.now.logStart = Math.min(this.now.readable.length, this.now.logStart + count);
  }

  /** Something happens between two steps of somebody. */
  move(): void {
    this.grow(this.#pick(3));
    if (this.#pick(40) === 0) this.expire(this.#pick(9));
    if (this.#pick(70) === 0 && this.lives.length < 4) this.makeAnew();
  }

  look(): Look {
    const { incarnation, logStart, readable } = this.now;
    return { incarnation, logStart, logEnd: readable.length };
  }

  /** The records of the present topic in `[first, next)`, as far as it holds them; the first `most` of them. */
  rows(first: number, next: number, most = Number.POSITIVE_INFINITY): Row[] {
    const { incarnation, readable, logStart } = this.now;
    const rows: Row[] = [];
    for (let offset = Math.max(first, logStart); offset < Math.min(next, readable.length) && rows.length < most; offset++)
      if (readable[offset] === true) rows.push({ offset, content: contentOf(incarnation, offset) });
    return rows;
  }
}

/** The offsets of `[first, next)` in which none of the rows lies. */
export function holesIn(range: OffsetRange, rows: readonly Row[]): OffsetRange[] {
  const holes: OffsetRange[] = [];
  let at = range.first;
  for (const { offset } of rows) {
    if (offset > at) holes.push({ first: at, next: offset });
    at = offset + 1;
  }
  if (at < range.next) holes.push({ first: at, next: range.next });
  return holes;
}
