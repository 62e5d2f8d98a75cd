import { DDSketch } from '@datadog/sketches-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addToBin, MAX_BINS, mergeBins, RELATIVE_ACCURACY } from './bins.ts';
import { mergeAll } from './merge.ts';
import type { Bins, Partial } from './partial.ts';
import { percentileMeasure } from './percentile.ts';

const PATH = { known: 'latency_ms' };
const measure = (p: number) => percentileMeasure(PATH, p, '');

function sketchOf(values: readonly unknown[]): Partial {
  const pane = measure(95).open();
  for (const latency_ms of values) pane.fold({ latency_ms });
  return pane.partial();
}

function merge(...partials: readonly Partial[]): Partial {
  const merged = mergeAll(partials);
  if (merged === undefined) throw new Error('nothing was merged');
  return merged;
}

function exact(values: readonly number[], p: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((p / 100) * (values.length - 1))] ?? Number.NaN;
}

/** As far apart as the bins allow, and no further. */
const within = (found: number | undefined, wanted: number) =>
  Math.abs((found ?? Number.NaN) - wanted) <= Math.abs(wanted) * (RELATIVE_ACCURACY + 1e-9);

describe('a percentile', () => {
  it('is at most 1 % off, of any numbers and however they were split', () => {
    const numbers = fc.array(
      fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true, min: 1e-300, max: 1e300 }),
        fc.double({ min: -1e6, max: -1e-6, noNaN: true }),
        fc.constant(0),
      ),
      { minLength: 1, maxLength: 300 },
    );
    fc.assert(
      fc.property(numbers, numbers, fc.double({ min: 0.1, max: 99.99, noNaN: true }), (a, b, p) => {
        const merged = merge(sketchOf(a), sketchOf(b));
        expect(within(measure(p).value(merged), exact([...a, ...b], p))).toBe(true);
      }),
    );
  });

  it('is the library’s, where the library is right: numbers above 0', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 1.5, max: 60_000, noNaN: true }), { minLength: 1 }), (values) => {
        const theirs = new DDSketch({ relativeAccuracy: RELATIVE_ACCURACY });
        for (const value of values) theirs.accept(value);
        const ours = measure(95).value(sketchOf(values));
        // A number on the border of two bins may be put into either.
        expect(Math.abs((ours ?? 0) / theirs.getValueAtQuantile(0.95) - 1)).toBeLessThan(0.0203);
      }),
    );
  });

  it('of nothing is none, and what is no number of JSON is nothing', () => {
    const nothing = sketchOf([undefined, null, '5', true, Number.NaN, Number.POSITIVE_INFINITY, [1], {}]);
    expect(nothing).toEqual(['sketch', 0, [], []]);
    expect(measure(95).value(nothing)).toBeUndefined();
  });

  it('takes the smallest and the largest numbers that there are', () => {
    const extremes = [5e-324, Number.MAX_VALUE, -5e-324, -Number.MAX_VALUE, -0];
    const sketch = sketchOf(extremes);
    expect(JSON.parse(JSON.stringify(sketch))).toEqual(sketch);
    expect(within(measure(99.99).value(merge(sketch, sketch)), Number.MAX_VALUE)).toBe(true);
    expect(within(measure(0.1).value(sketch), -Number.MAX_VALUE)).toBe(true);
    expect(measure(50).value(sketch)).toBe(0);
  });
});

describe('bins', () => {
  it('are counted one by one as they are merged', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -3000, max: 3000 }), { size: 'max', maxLength: 5000 }), (indices) => {
        const counted: number[] = [];
        for (const index of indices) addToBin(counted, index);
        expect(counted).toEqual(indices.reduce<Bins>((merged, index) => mergeBins([merged, [index, 1]]), []));
        expect(counted.length).toBeLessThanOrEqual(2 * MAX_BINS);
      }),
      { numRuns: 20 },
    );
  });

  const bins = fc
    .uniqueArray(fc.tuple(fc.integer({ min: -30_000, max: 30_000 }), fc.integer({ min: 1, max: 9 })), {
      selector: ([bin]) => bin,
      minLength: 900,
      maxLength: 1500,
    })
    .map((pairs) => pairs.sort(([a], [b]) => a - b).flat());

  it('are never more than the bound, and merged in any order the same: the lowest are put together', () => {
    fc.assert(
      fc.property(bins, bins, bins, (a, b, c) => {
        const left = mergeBins([mergeBins([a, b]), c]);
        expect(left).toEqual(mergeBins([a, mergeBins([c, b])]));
        expect(left).toEqual(mergeBins([c, a, b]));
        expect(left.length).toBeLessThanOrEqual(2 * MAX_BINS);
        const counts = (each: readonly number[]) => each.reduce((sum, value, i) => sum + (i % 2 === 1 ? value : 0), 0);
        expect(counts(left)).toBe(counts(a) + counts(b) + counts(c));
        expect(left.at(-2)).toBe(Math.max(a.at(-2) ?? 0, b.at(-2) ?? 0, c.at(-2) ?? 0));
      }),
      { numRuns: 20 },
    );
  });
});

/** The record of docs/decisions/0023 as a test: each asserts a FAULT. Where one fails, the fault is mended: look at the decision again. */
describe('the faults of @datadog/sketches-js 2.1.1', () => {
  it('a merge loses the numbers below 0', () => {
    const [a, b] = [new DDSketch(), new DDSketch()];
    a.accept(-1);
    b.accept(-100);
    a.merge(b);
    expect(a.count).toBe(2);
    expect(a.negativeStore.count).toBe(1);
  });

  it('a merge with numbers up to bin 0 (0.98 to 1) spoils the counts', () => {
    const [a, b] = [new DDSketch(), new DDSketch()];
    a.accept(0.01);
    b.accept(0.5);
    b.accept(1);
    a.merge(b);
    expect(a.store.bins.some(Number.isNaN)).toBe(true);
    expect(a.getValueAtQuantile(1)).toBeLessThan(0.51);
  });

  it('one number takes a kilobyte, ours a few bytes', () => {
    const one = new DDSketch();
    one.accept(120);
    // The protobuf form has 8 bytes for each bin.
    expect(one.store.bins.length * 8).toBeGreaterThan(1000);
    expect(JSON.stringify(sketchOf([120])).length).toBeLessThan(30);
  });

  it('two numbers far apart take half a megabyte', () => {
    const wide = new DDSketch();
    wide.accept(1e-300);
    wide.accept(1e300);
    expect(wide.store.bins.length * 8).toBeGreaterThan(500_000);
  });
});
