/** Offsets `[from, to)`. */
interface Run {
  from: number;
  to: number;
}

/**
 * What of a lane was delivered and settled, and so what may be committed: the first offset that is not settled.
 * Offsets are tracked in growing order, settled in any. Kept as runs, since a sink may hold millions of records before it settles
 * them. Dies with its lane.
 */
export class OffsetLedger {
  /** Everything tracked from `nextToRead` on; a void in the log ends a run. */
  readonly #tracked: Run[] = [];
  /** What is settled above `nextToRead`. */
  readonly #settled: Run[] = [];
  #nextToRead: number;
  #unsettled = 0;

  /** `startAt` is where the lane begins to read. */
  constructor(startAt: number) {
    this.#nextToRead = startAt;
  }

  /** The first offset that is not settled: everything below it is, so it is safe to commit. */
  get nextToRead(): number {
    return this.#nextToRead;
  }

  get unsettled(): number {
    return this.#unsettled;
  }

  /** Throws on an offset that does not grow: the caller checks continuity before it tracks. */
  track(offset: number): void {
    const last = this.#tracked.at(-1);
    const next = last?.to ?? this.#nextToRead;
    if (offset < next) throw new Error(`offset ${offset} was tracked after ${next - 1}`);
    if (last?.to === offset) last.to += 1;
    else this.#tracked.push({ from: offset, to: offset + 1 });
    this.#unsettled += 1;
  }

  /** Throws on an offset that is not waiting: settling twice would hide a record that was never settled (I3). */
  settle(offset: number): void {
    const below = lastAtOrBelow(this.#settled, offset);
    if (
      !covers(this.#tracked, lastAtOrBelow(this.#tracked, offset), offset) ||
      offset < this.#nextToRead ||
      covers(this.#settled, below, offset)
    ) {
      throw new Error(`offset ${offset} was settled without being tracked, or twice`);
    }
    this.#unsettled -= 1;
    const left = this.#settled[below];
    const right = this.#settled[below + 1];
    const joinsLeft = left?.to === offset;
    const joinsRight = right?.from === offset + 1;
    if (left !== undefined && joinsLeft && right !== undefined && joinsRight) {
      left.to = right.to;
      this.#settled.splice(below + 1, 1);
    } else if (left !== undefined && joinsLeft) left.to += 1;
    else if (right !== undefined && joinsRight) right.from -= 1;
    else this.#settled.splice(below + 1, 0, { from: offset, to: offset + 1 });
    this.#advance();
  }

  /** A settled run lies within one tracked run: neighbours in it are neighbours in the log. */
  #advance(): void {
    for (;;) {
      const tracked = this.#tracked[0];
      const settled = this.#settled[0];
      if (tracked === undefined || settled === undefined) return;
      if (settled.from !== tracked.from) return;
      this.#nextToRead = settled.to;
      tracked.from = settled.to;
      this.#settled.shift();
      if (tracked.from < tracked.to) return;
      this.#tracked.shift();
    }
  }
}

/** The index of the last run that begins at or below `offset`; -1 where there is none. */
function lastAtOrBelow(runs: readonly Run[], offset: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs[middle]?.from ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function covers(runs: readonly Run[], index: number, offset: number): boolean {
  const run = runs[index];
  return run !== undefined && offset < run.to;
}
