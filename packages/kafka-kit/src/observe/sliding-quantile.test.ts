import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SlidingQuantile } from './sliding-quantile.ts';

it('is the quantile of the naive model, within 1 %', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(0.5, 0.9, 0.99, 1),
      (values, q) => {
        const quantile = new SlidingQuantile(1000);
        for (const value of values) quantile.add(value, 0);
        const naive = [...values].sort((a, b) => a - b)[Math.ceil(q * values.length) - 1] ?? Number.NaN;
        const got = quantile.quantile(q, 0) ?? Number.NaN;
        expect(got).toBeGreaterThanOrEqual(naive * (1 - 1e-9));
        expect(got).toBeLessThanOrEqual(naive * 1.01 * (1 + 1e-9));
      },
    ),
  );
});

it('looks back between one and two halves, and knows nothing behind a longer silence', () => {
  const quantile = new SlidingQuantile(1000);
  expect(quantile.quantile(0.99, 0)).toBeUndefined();
  quantile.add(500, 0);
  quantile.add(1, 1500);
  expect(quantile.quantile(0.99, 2400)).toBeCloseTo(500, -2);
  expect(quantile.quantile(0.99, 2500)).toBe(1);
  quantile.add(500, 2500);
  expect(quantile.quantile(0.99, 9000)).toBeUndefined();
});
