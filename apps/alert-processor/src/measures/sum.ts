import type { FieldPath } from '@tailrace/events';
import type { Accumulator, EventObject, Measure } from '../rules/rule.ts';
import { finiteSum } from './finite.ts';
import { numberIn } from './number-in.ts';
import type { Partial } from './partial.ts';

class Sum implements Accumulator {
  readonly #numberOf: (event: EventObject) => number | undefined;
  #n = 0;
  #sum = 0;

  constructor(numberOf: (event: EventObject) => number | undefined) {
    this.#numberOf = numberOf;
  }

  fold(event: EventObject): void {
    const found = this.#numberOf(event);
    if (found === undefined) return;
    this.#n++;
    this.#sum = finiteSum(this.#sum, found);
  }

  partial(): Partial {
    return ['sum', this.#n, this.#sum];
  }
}

/** Of the events that have a number in the field: their sum, or its quotient by their number (nothing where there is none). */
export function sumMeasure(kind: 'sum' | 'mean', path: FieldPath, text: string): Measure {
  const value = (merged: Partial): number | undefined => {
    if (merged[0] !== 'sum') return undefined;
    const [, n, sum] = merged;
    if (kind === 'sum') return sum;
    return n > 0 ? sum / n : undefined;
  };
  const numberOf = numberIn(path);
  return { kind, partialKind: 'sum', text, open: () => new Sum(numberOf), value };
}
