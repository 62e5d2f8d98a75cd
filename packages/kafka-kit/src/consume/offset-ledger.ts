/**
 * What of a lane was delivered and settled, and so what may be committed: the first offset that is not settled.
 * Offsets are tracked in growing order, settled in any. Dies with its lane.
 */
export class OffsetLedger {
  #offsets: number[] = [];
  #settled: boolean[] = [];
  #head = 0;
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
    const last = this.#offsets.at(-1);
    if (last === undefined ? offset < this.#nextToRead : offset <= last) {
      throw new Error(`offset ${offset} was tracked after ${last ?? this.#nextToRead - 1}`);
    }
    this.#offsets.push(offset);
    this.#settled.push(false);
    this.#unsettled += 1;
  }

  /** Throws on an offset that is not waiting: settling twice would hide a record that was never settled (I3). */
  settle(offset: number): void {
    const index = this.#indexOf(offset);
    if (index === undefined || this.#settled[index]) throw new Error(`offset ${offset} was settled without being tracked, or twice`);
    this.#settled[index] = true;
    this.#unsettled -= 1;
    this.#advance();
  }

  #advance(): void {
    while (this.#settled[this.#head]) {
      const offset = this.#offsets[this.#head];
      if (offset === undefined) break;
      this.#nextToRead = offset + 1;
      this.#head += 1;
    }
    // Settled entries are dropped in bulk: shifting one by one would cost a copy per record.
    if (this.#head > 4096 && this.#head * 2 > this.#offsets.length) {
      this.#offsets = this.#offsets.slice(this.#head);
      this.#settled = this.#settled.slice(this.#head);
      this.#head = 0;
    }
  }

  #indexOf(offset: number): number | undefined {
    const first = this.#offsets[this.#head];
    if (first === undefined) return undefined;
    // Without voids an offset's place follows from its distance; behind a void it stands earlier.
    const guess = Math.min(this.#head + offset - first, this.#offsets.length - 1);
    if (this.#offsets[guess] === offset) return guess;
    let low = this.#head;
    let high = guess;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.#offsets[middle] ?? Number.POSITIVE_INFINITY;
      if (found === offset) return middle;
      if (found < offset) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }
}
