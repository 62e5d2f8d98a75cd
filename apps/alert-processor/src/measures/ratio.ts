import type { Accumulator, EventObject, Measure } from '../rules/rule.ts';
import type { Partial } from './partial.ts';

class Ratio implements Accumulator {
  readonly #of: (event: EventObject) => boolean;
  #n = 0;
  #hits = 0;

  constructor(of: (event: EventObject) => boolean) {
    this.#of = of;
  }

  fold(event: EventObject): void {
    this.#n++;
    if (this.#of(event)) this.#hits++;
  }

  partial(): Partial {
    return ['ratio', this.#n, this.#hits];
  }
}

/** The part of the events for which `of` holds, from 0 to 1; nothing where there is no event. */
export function ratioMeasure(of: (event: EventObject) => boolean, text: string): Measure {
  return {
    kind: 'ratio',
    partialKind: 'ratio',
    text,
    open: () => new Ratio(of),
    value: (merged) => (merged[0] === 'ratio' && merged[1] > 0 ? merged[2] / merged[1] : undefined),
  };
}
