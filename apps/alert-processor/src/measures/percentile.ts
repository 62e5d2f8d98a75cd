import type { FieldPath } from '@tailrace/events';
import type { Accumulator, EventObject, Measure } from '../rules/rule.ts';
import { addToBin, binOf, countOf, valueAtRank } from './bins.ts';
import { numberIn } from './number-in.ts';
import type { Partial } from './partial.ts';

class Sketch implements Accumulator {
  readonly #numberOf: (event: EventObject) => number | undefined;
  readonly #positive: number[] = [];
  readonly #negative: number[] = [];
  #n = 0;

  constructor(numberOf: (event: EventObject) => number | undefined) {
    this.#numberOf = numberOf;
  }

  fold(event: EventObject): void {
    const found = this.#numberOf(event);
    if (found === undefined) return;
    this.#n++;
    if (found !== 0) addToBin(found > 0 ? this.#positive : this.#negative, binOf(Math.abs(found)));
  }

  partial(): Partial {
    return ['sketch', this.#n, this.#positive.slice(), this.#negative.slice()];
  }
}

/** The p-th percentile of a field over the events that have a number there, at most 1 % off; nothing where there is none. */
export function percentileMeasure(path: FieldPath, p: number, text: string): Measure {
  const numberOf = numberIn(path);
  return { kind: 'percentile', partialKind: 'sketch', text, open: () => new Sketch(numberOf), value: (merged) => percentileOf(merged, p) };
}

/** Of n numbers in their order, number floor(p / 100 · (n - 1)), counted from 0. */
function percentileOf(merged: Partial, p: number): number | undefined {
  if (merged[0] !== 'sketch' || merged[1] === 0) return undefined;
  const [, n, positive, negative] = merged;
  const rank = Math.floor((p / 100) * (n - 1));
  const below = countOf(negative);
  // The larger its size, the smaller a negative number is.
  if (rank < below) return -valueAtRank(negative, below - 1 - rank);
  const fromTop = n - countOf(positive);
  return rank < fromTop ? 0 : valueAtRank(positive, rank - fromTop);
}
