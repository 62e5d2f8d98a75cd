import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isBrokerTime, timeText } from './broker-time.ts';
import { arrivalHour, dataKey, parseDataKey } from './object-names.ts';
import { CHAIN } from './testing/index.ts';

const LAKE = { prefix: 'lake', stream: 'service-events' };
const anyTime = fc.oneof(
  fc.constantFrom(9e15, 2 ** 63 - 1, -(2 ** 63), 8.64e15, 253_402_300_800_000, 253_402_300_799_999, -62_135_596_800_001, -1, 0, Number.NaN),
  // Kafka's times are whole numbers of 64 bits: there is no -0, and no fraction.
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(Number),
  fc.maxSafeInteger(),
);

it('a time is either one that names an object which is found again, or is told as a number: nothing throws in between', () => {
  fc.assert(
    fc.property(anyTime, (timestampMs) => {
      const text = timeText(timestampMs);
      const hour = arrivalHour(timestampMs);
      if (!isBrokerTime(timestampMs)) {
        expect(text).toContain('outside of the years');
        expect(hour).toBeUndefined();
        expect(() => dataKey(LAKE, CHAIN, 7, timestampMs)).toThrow('years 1 to 9999');
        return;
      }
      expect(Date.parse(text)).toBe(timestampMs);
      expect(parseDataKey(LAKE, dataKey(LAKE, CHAIN, 7, timestampMs))).toMatchObject({ ...hour, first: 7 });
    }),
  );
});

it('the years 1 and 9999 are in, the milliseconds beside them are not', () => {
  const [first, last] = [Date.parse('0001-01-01T00:00:00.000Z'), Date.parse('9999-12-31T23:59:59.999Z')];
  expect([first - 1, first, last, last + 1].map(isBrokerTime)).toEqual([false, true, true, false]);
});
