import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseMoment, printMoment } from './moments.ts';

it.each([
  ['0s', 0],
  ['90s', 90_000],
  ['1m30s', 90_000],
  ['2.5s', 2500],
  ['1d2h3m4s', 93_784_000],
  ['30d', 2_592_000_000],
])('reads %s', (text, ms) => {
  expect(parseMoment(text)).toBe(ms);
});

it.each(['', 's', '5', '-5s', '5s1m', '1.2345s', '31d', '5 s', '1e3s'])('does not read "%s"', (text) => {
  expect(parseMoment(text)).toBeUndefined();
});

it('reads what it prints', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2_592_000_000 }), (ms) => {
      expect(parseMoment(printMoment(ms))).toBe(ms);
    }),
  );
});
