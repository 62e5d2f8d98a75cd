import type { Accumulator, Measure } from '../rules/rule.ts';
import type { Partial } from './partial.ts';

class Count implements Accumulator {
  #n = 0;

  fold(): void {
    this.#n++;
  }

  partial(): Partial {
    return ['count', this.#n];
  }
}

/** Events of the window. Of `rate`, each of the two windows that are compared is counted so; of `absence` it is 0 where it fires. */
export function countMeasure(kind: 'count' | 'absence' | 'rate', text: string): Measure {
  return { kind, partialKind: 'count', text, open: () => new Count(), value: (merged) => merged[1] };
}
