import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventObject, Measure } from '../rules/rule.ts';
import { countMeasure } from './count.ts';
import { distinctMeasure } from './distinct.ts';
import { mergeAll } from './merge.ts';
import type { Partial } from './partial.ts';
import { percentileMeasure } from './percentile.ts';
import { ratioMeasure } from './ratio.ts';
import { sumMeasure } from './sum.ts';

function foldOf(measure: Measure, events: readonly EventObject[]): Partial {
  const pane = measure.open();
  for (const event of events) pane.fold(event);
  return pane.partial();
}

/** Different values are a set: their order says nothing. */
function ordered(partial: Partial): Partial {
  return partial[0] === 'distinct' ? ['distinct', partial[1], partial[2], partial[3]?.toSorted() ?? null] : partial;
}

function merged(partials: readonly Partial[]): Partial {
  const all = mergeAll(partials);
  if (all === undefined) throw new Error('nothing was merged');
  return ordered(all);
}

/** Whole numbers, so that sums are exact in any order. */
const events = fc.array(
  fc.record({ bytes: fc.oneof(fc.integer(), fc.constant(null), fc.string()), status_code: fc.constantFrom(200, 500, 'x') }),
);

describe.each([
  ['count', countMeasure('count', 'count')],
  ['ratio', ratioMeasure((event) => event.status_code === 500, 'ratio')],
  ['sum', sumMeasure('sum', { known: 'bytes' }, 'sum')],
  ['mean', sumMeasure('mean', { known: 'bytes' }, 'mean')],
  ['percentile', percentileMeasure({ known: 'latency_ms' }, 95, 'p95')],
  ['distinct below its limit', distinctMeasure({ known: 'host' }, 1000, 'distinct')],
  ['distinct around its limit', distinctMeasure({ known: 'host' }, 5, 'distinct')],
])('%s', (_name, measure) => {
  it('of parts that are merged in any way is that of the whole', () => {
    fc.assert(
      fc.property(events, events, events, (a, b, c) => {
        const parts = [a, b, c].map((part) => foldOf(measure, part));
        const [pa, pb, pc] = parts as [Partial, Partial, Partial];
        const whole = foldOf(measure, [...a, ...b, ...c]);
        expect(merged([pa, pb, pc])).toEqual(ordered(whole));
        expect(merged([merged([pa, pb]), pc])).toEqual(ordered(whole));
        expect(merged([pc, merged([pb, pa])])).toEqual(ordered(whole));
        expect(JSON.parse(JSON.stringify(whole))).toEqual(whole);
      }),
    );
  });
});

describe('values', () => {
  it('a mean and a ratio of nothing are none, a sum and a count of nothing are 0', () => {
    const path = { known: 'latency_ms' };
    expect(sumMeasure('mean', path, '').value(['sum', 0, 0])).toBeUndefined();
    expect(ratioMeasure(() => true, '').value(['ratio', 0, 0])).toBeUndefined();
    expect(sumMeasure('sum', path, '').value(['sum', 0, 0])).toBe(0);
    expect(countMeasure('count', '').value(['count', 0])).toBe(0);
    expect(sumMeasure('mean', path, '').value(['sum', 4, 10])).toBe(2.5);
    expect(ratioMeasure(() => true, '').value(['ratio', 4, 1])).toBe(0.25);
  });

  it('a sum beyond the largest number stays one that JSON has', () => {
    const huge = foldOf(sumMeasure('sum', { known: 'bytes' }, ''), [{ bytes: 1.7e308 }, { bytes: 1.7e308 }]);
    expect(huge).toEqual(['sum', 2, Number.MAX_VALUE]);
    expect(mergeAll([huge, huge])).toEqual(['sum', 4, Number.MAX_VALUE]);
    expect(foldOf(sumMeasure('sum', { known: 'bytes' }, ''), [{ bytes: Number.POSITIVE_INFINITY }])).toEqual(['sum', 0, 0]);
  });

  it('nothing merged is nothing', () => {
    expect(mergeAll([])).toBeUndefined();
  });

  it('partials of different kinds are not merged', () => {
    expect(() =>
      mergeAll([
        ['count', 1],
        ['ratio', 1, 1],
      ]),
    ).toThrow('A partial of kind count can not be merged with one of kind ratio.');
  });
});
