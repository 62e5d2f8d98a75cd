/** Bytes that posts hold in this process, from their arrival to their answer, with a bound. */
export class ByteBudget {
  readonly maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  hasRoomFor(bytes: number): boolean {
    return this.#usedBytes + bytes <= this.maxBytes;
  }

  /** A share that grows with one post and is given back whole. */
  open(): Share {
    let heldBytes = 0;
    return {
      take: (bytes) => {
        if (!this.hasRoomFor(bytes)) return false;
        this.#usedBytes += bytes;
        heldBytes += bytes;
        return true;
      },
      giveBack: () => {
        this.#usedBytes -= heldBytes;
        heldBytes = 0;
      },
    };
  }
}

export interface Share {
  /** False, and nothing is taken, when the budget has no room. */
  take(bytes: number): boolean;
  giveBack(): void;
}
