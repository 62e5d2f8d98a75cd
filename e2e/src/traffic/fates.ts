/**
 * What a post was answered. `unknown` and `lost` both leave open whether it was kept: the gateway said so, or the answer never came.
 * `unfit` is an answer that a valid post must not get.
 */
export type Answered = 'accepted' | 'not kept' | 'unknown' | 'lost' | 'unfit';

interface Fate {
  accepted: boolean;
  /** Posts of this number of which nobody knows whether they were kept. */
  open: number;
  tries: number;
}

export interface FateCounts {
  readonly posted: number;
  readonly accepted: number;
  /** Every try was answered with "not kept". */
  readonly notKept: number;
  /** No try was accepted, and of at least one nothing is known. */
  readonly unknown: number;
  /** Accepted, after a try of which nothing is known: these may be two records. */
  readonly maybeTwice: number;
}

/** For each number, what all its posts were answered. */
export class Fates {
  readonly #fates = new Map<number, Fate>();

  tell(numbers: readonly number[], answered: Answered): void {
    for (const number of numbers) {
      const fate = this.#fates.get(number) ?? { accepted: false, open: 0, tries: 0 };
      fate.tries++;
      if (answered === 'accepted') fate.accepted = true;
      else if (answered !== 'not kept') fate.open++;
      this.#fates.set(number, fate);
    }
  }

  get numbers(): Iterable<number> {
    return this.#fates.keys();
  }

  /** How many records of a number the log may hold. */
  allowed(number: number): { readonly least: number; readonly most: number } {
    const { accepted, open } = this.#fates.get(number) ?? { accepted: false, open: 0 };
    return { least: accepted ? 1 : 0, most: (accepted ? 1 : 0) + open };
  }

  counts(): FateCounts {
    const all = [...this.#fates.values()];
    const count = (is: (fate: Fate) => boolean): number => all.filter(is).length;
    return {
      posted: all.length,
      accepted: count(({ accepted }) => accepted),
      notKept: count(({ accepted, open }) => !accepted && open === 0),
      unknown: count(({ accepted, open }) => !accepted && open > 0),
      maybeTwice: count(({ accepted, open }) => accepted && open > 0),
    };
  }
}
