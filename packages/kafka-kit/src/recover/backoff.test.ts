import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs, DEFAULT_BACKOFF } from './backoff.ts';

it('grows by the factor up to the limit, and jitter only shortens', () => {
  const backoff = { firstMs: 100, factor: 2, maxMs: 1000, jitter: 0.5 };
  expect([0, 1, 2, 3, 4, 5000].map((attempt) => backoffMs(backoff, attempt, () => 0))).toEqual([100, 200, 400, 800, 1000, 1000]);
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (attempt, random) => {
      const ms = backoffMs(DEFAULT_BACKOFF, attempt, () => random);
      expect(ms).toBeGreaterThanOrEqual(DEFAULT_BACKOFF.firstMs * (1 - DEFAULT_BACKOFF.jitter));
      expect(ms).toBeLessThanOrEqual(DEFAULT_BACKOFF.maxMs);
    }),
  );
});
