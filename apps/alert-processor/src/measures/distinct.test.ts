import { describe, expect, it } from 'vitest';
import { distinctMeasure, MAX_DISTINCT_LIMIT } from './distinct.ts';
import { mergeAll } from './merge.ts';
import type { Partial } from './partial.ts';

function distinctOf(values: readonly unknown[], limit = 1000): Partial {
  const pane = distinctMeasure({ attribute: 'key' }, limit, '').open();
  for (const key of values) pane.fold({ attributes: { key } });
  return pane.partial();
}

const value = (partial: Partial) => distinctMeasure({ attribute: 'key' }, 1000, '').value(partial);

describe('different values', () => {
  it('are counted exactly up to the limit, and then said to be more', () => {
    expect(distinctOf(['a', 'b', 'a', 'c'], 3)).toEqual(['distinct', 4, 3, ['a', 'b', 'c']]);
    expect(value(distinctOf(['a', 'b', 'a', 'c'], 3))).toBe(3);
    expect(distinctOf(['a', 'b', 'a', 'c', 'd'], 3)).toEqual(['distinct', 5, 3, null]);
    expect(value(distinctOf(['a', 'b', 'a', 'c', 'd'], 3))).toBe(4);
    expect(mergeAll([distinctOf(['a', 'b'], 3), distinctOf(['c', 'd'], 3)])).toEqual(['distinct', 4, 3, null]);
  });

  it('are known by their text; what is absent, null, a list or an object is none', () => {
    expect(distinctOf([5, '5', true, 'true', null, undefined, [], {}, Number.POSITIVE_INFINITY])).toEqual([
      'distinct',
      4,
      1000,
      ['5', 'true'],
    ]);
  });

  it('are bounded in length, long ones and strange ones by their hash, and no text is taken for a hash', () => {
    const long = 'x'.repeat(100_000);
    const partial = distinctOf([long, `${long}y`, '#abc', 'é', '\u0000', '"\\', '']);
    expect(value(partial)).toBe(7);
    expect(partial[0] === 'distinct' && partial[3]?.every((each) => each.length <= 24)).toBe(true);
  });

  it('at the largest limit fit into one record', () => {
    const worst = Array.from({ length: MAX_DISTINCT_LIMIT }, (_, i) => `"\\"\\"\\"\\"\\"\\"\\"\\"\\${i}`);
    const partial = distinctOf(worst, MAX_DISTINCT_LIMIT);
    expect(value(partial)).toBe(MAX_DISTINCT_LIMIT);
    expect(Buffer.byteLength(JSON.stringify(partial))).toBeLessThan(512 * 1024);
  });
});
