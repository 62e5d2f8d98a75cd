import { mergeBins } from './bins.ts';
import { mergeValues } from './distinct.ts';
import { finiteSum } from './finite.ts';
import type { Partial } from './partial.ts';

/**
 * What both hold together, as if their events had been folded into one. In any order and any grouping the same (of sums, as far as floating point is).
 * Throws where the two are of different kinds: they are not of one rule version then.
 */
export function mergePartials(a: Partial, b: Partial): Partial {
  switch (a[0]) {
    case 'count':
      if (b[0] === 'count') return ['count', a[1] + b[1]];
      break;
    case 'ratio':
      if (b[0] === 'ratio') return ['ratio', a[1] + b[1], a[2] + b[2]];
      break;
    case 'sum':
      if (b[0] === 'sum') return ['sum', a[1] + b[1], finiteSum(a[2], b[2])];
      break;
    case 'sketch':
      if (b[0] === 'sketch') return ['sketch', a[1] + b[1], mergeBins(a[2], b[2]), mergeBins(a[3], b[3])];
      break;
    case 'distinct': {
      if (b[0] !== 'distinct') break;
      const limit = Math.min(a[2], b[2]);
      return ['distinct', a[1] + b[1], limit, mergeValues(a[3], b[3], limit)];
    }
  }
  throw new Error(`A partial of kind ${a[0]} can not be merged with one of kind ${b[0]}.`);
}
