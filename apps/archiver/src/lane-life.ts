/**
 * Up to where what a lane took in is known to be of its own topic. A topic can be deleted and made anew under its name at any time, and
 * the new one's records come from offset 0 on like the old one's: only a look-up of the topic's id that began after a record was
 * delivered says whose it is.
 */
export class LaneLife {
  #proven = 0;
  #cutAt: number | undefined;
  #doubt: () => void = () => {};
  /** Resolves as soon as a look-up gave another id: soon somebody says where the lane's records end. */
  readonly doubted: Promise<void>;

  constructor() {
    this.doubted = new Promise((resolve) => {
      this.#doubt = resolve;
    });
  }

  /** Once the topic is another: everything at or above is not known to be of the old one. */
  get cutAt(): number | undefined {
    return this.#cutAt;
  }

  /** A look-up that began after everything below `next` was delivered gave the lane's id. False where that came too late. */
  prove(next: number): boolean {
    if (this.#cutAt !== undefined) return next <= this.#cutAt;
    this.#proven = Math.max(this.#proven, next);
    return true;
  }

  /** A look-up gave another id than the lane's. */
  doubt(): void {
    this.#doubt();
  }

  /** The topic is another one now. `provenEnd`: what others have proven. The first word stands; returns where it cuts. */
  end(provenEnd: number): number {
    this.#cutAt ??= Math.max(provenEnd, this.#proven);
    return this.#cutAt;
  }
}
