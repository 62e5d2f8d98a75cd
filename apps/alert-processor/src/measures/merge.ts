import { mergeBins } from './bins.ts';
import { mergeValues } from './distinct.ts';
import { finiteSum } from './finite.ts';
import type { Partial, PartialKind } from './partial.ts';

/**
 * What all hold together, as if their events had been folded into one; undefined of none. In any order and any grouping the same (of sums, as far as
 * floating point is). Throws where they are of different kinds: they are not of one rule version then.
 */
export function mergeAll(partials: readonly Partial[]): Partial | undefined {
  const [first] = partials;
  if (first === undefined || partials.length === 1) return first;
  switch (first[0]) {
    case 'count':
      return ['count', events(ofKind(partials, 'count'))];
    case 'ratio': {
      const all = ofKind(partials, 'ratio');
      return ['ratio', events(all), all.reduce((hits, partial) => hits + partial[2], 0)];
    }
    case 'sum': {
      const all = ofKind(partials, 'sum');
      return ['sum', events(all), all.reduce((sum, partial) => finiteSum(sum, partial[2]), 0)];
    }
    case 'sketch': {
      const all = ofKind(partials, 'sketch');
      return ['sketch', events(all), mergeBins(all.map((partial) => partial[2])), mergeBins(all.map((partial) => partial[3]))];
    }
    case 'distinct': {
      const all = ofKind(partials, 'distinct');
      const limit = all.reduce((least, partial) => Math.min(least, partial[2]), Number.POSITIVE_INFINITY);
      const values = mergeValues(
        all.map((partial) => partial[3]),
        limit,
      );
      return ['distinct', events(all), limit, values];
    }
  }
}

type OfKind<K extends PartialKind> = Extract<Partial, readonly [K, ...unknown[]]>;

function ofKind<K extends PartialKind>(partials: readonly Partial[], kind: K): readonly OfKind<K>[] {
  const other = partials.find((partial) => partial[0] !== kind);
  if (other !== undefined) throw new Error(`A partial of kind ${kind} can not be merged with one of kind ${other[0]}.`);
  return partials as readonly OfKind<K>[];
}

function events(partials: readonly Partial[]): number {
  let n = 0;
  for (const partial of partials) n += partial[1];
  return n;
}
