import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isCalendarTime, isoTime } from './iso-time.ts';

it('any number that a record has as its time can be written', () => {
  const times = fc.oneof(fc.double(), fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(Number));
  fc.assert(
    fc.property(times, (ms) => {
      expect(isoTime(ms)).toMatch(isCalendarTime(ms) ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ : /^\S+ ms since 1970$/);
    }),
  );
});

it('the years 1 to 9999 are written as such, and no others', () => {
  expect(isoTime(-1)).toBe('1969-12-31T23:59:59.999Z');
  expect(isoTime(-62_135_596_800_000)).toBe('0001-01-01T00:00:00.000Z');
  expect(isoTime(-62_135_596_800_001)).toBe('-62135596800001 ms since 1970');
  expect(isoTime(253_402_300_799_999)).toBe('9999-12-31T23:59:59.999Z');
  expect([253_402_300_800_000, 9e15, 2 ** 63, Number.NaN].map(isCalendarTime)).toEqual([false, false, false, false]);
});
