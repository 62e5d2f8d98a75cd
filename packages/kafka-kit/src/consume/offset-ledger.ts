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
    this.#extend(offset, offset + 1);
    this.#unsettled += 1;
  }

  /** Takes offsets `[from, to)` that hold nothing for us, in their place: nothing behind them is committed before `passGap`. */
  trackGap(from: number, to: number): void {
    if (from < to) this.#extend(from, to);
  }

  /** Whoever must know of the gap knows: as good as settled. */
  passGap(from: number, to: number): void {
    if (from < to) this.#settleRun(from, to);
  }

  /** Takes the records at `[from, to)`. Throws where one is not waiting: settling twice would hide a record that was never settled (I3). */
  settle(from: number, to = from + 1): void {
    this.#settleRun(from, to);
    this.#unsettled -= to - from;
  }

  #extend(from: number, to: number): void {
    const last = this.#tracked.at(-1);
    const next = last?.to ?? this.#nextToRead;
    if (from < next) throw new Error(`offset ${from} was tracked after ${next - 1}`);
    if (last?.to === from) last.to = to;
    else this.#tracked.push({ from, to });
  }

  #settleRun(from: number, to: number): void {
    const below = lastAtOrBelow(this.#settled, from);
    const left = this.#settled[below];
    const right = this.#settled[below + 1];
    const tracked = this.#tracked[lastAtOrBelow(this.#tracked, from)];
    const overlaps = from < this.#nextToRead || (left !== undefined && from < left.to) || (right !== undefined && right.from < to);
    if (tracked === undefined || to > tracked.to || overlaps)
      throw new Error(`offsets ${from} to ${to - 1} were settled without being tracked, or twice`);
    const joinsLeft = left?.to === from;
    const joinsRight = right?.from === to;
    if (left !== undefined && joinsLeft && right !== undefined && joinsRight) {
      left.to = right.to;
      this.#settled.splice(below + 1, 1);
    } else if (left !== undefined && joinsLeft) left.to = to;
    else if (right !== undefined && joinsRight) right.from = from;
    else this.#settled.splice(below + 1, 0, { from, to });
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
