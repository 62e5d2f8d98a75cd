import { type FieldPath, fieldValue } from '@tailrace/events';
import type { Accumulator, EventObject, Measure } from '../rules/rule.ts';
import { finiteSum } from './finite.ts';
import type { Partial } from './partial.ts';

class Sum implements Accumulator {
  readonly #path: FieldPath;
  #n = 0;
  #sum = 0;

  constructor(path: FieldPath) {
    this.#path = path;
  }

  fold(event: EventObject): void {
    const found = fieldValue(event, this.#path);
    // JSON has no Infinity, but JSON.parse makes one of 1e400.
    if (typeof found !== 'number' || !Number.isFinite(found)) return;
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
  return { kind, partialKind: 'sum', text, open: () => new Sum(path), value };
}
