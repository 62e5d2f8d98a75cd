import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instantMs, isInstant, parseInstant } from './instant.ts';

const pad = (n: number, width = 2) => String(n).padStart(width, '0');

describe('parseInstant', () => {
  it('reads zones, fractions and lower case letters', () => {
    expect(parseInstant('2026-01-31T23:59:59.123456789Z')).toEqual({
      epochMs: Date.parse('2026-01-31T23:59:59.123Z'),
      nanosOfMs: 456_789,
      epochUs: 1_769_903_999_123_456n,
    });
    expect(parseInstant('1996-12-19T16:39:57-08:00')?.epochMs).toBe(Date.parse('1996-12-20T00:39:57Z'));
    expect(parseInstant('1985-04-12t23:20:50.52z')?.epochMs).toBe(Date.parse('1985-04-12T23:20:50.520Z'));
    expect(parseInstant('2026-01-01T00:00:00-00:00')?.epochMs).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  it('rounds down before 1970 and knows the years below 100', () => {
    expect(parseInstant('1969-12-31T23:59:59.9999Z')).toEqual({ epochMs: -1, nanosOfMs: 900_000, epochUs: -100n });
    expect(parseInstant('0001-01-01T00:00:00Z')?.epochMs).toBe(Date.parse('0001-01-01T00:00:00Z'));
  });

  it('takes a leap second at the end of a month in UTC, and only there', () => {
    expect(parseInstant('2016-12-31T23:59:60Z')?.epochMs).toBe(Date.parse('2017-01-01T00:00:00Z'));
    expect(parseInstant('1990-12-31T15:59:60.5-08:00')?.epochMs).toBe(Date.parse('1991-01-01T00:00:00.500Z'));
    expect(isInstant('2016-12-30T23:59:60Z')).toBe(false);
    expect(isInstant('2016-12-31T22:59:60Z')).toBe(false);
    expect(isInstant('2016-12-31T23:59:60+01:00')).toBe(false);
  });

  it.each([
    ['a day that the month does not have', '2026-02-30T00:00:00Z'],
    ['29 February in a year without it', '1900-02-29T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['day 0', '2026-01-00T00:00:00Z'],
    ['hour 24', '2026-01-01T24:00:00Z'],
    ['minute 60', '2026-01-01T00:60:00Z'],
    ['second 61', '2026-01-01T00:00:61Z'],
    ['no zone', '2026-01-01T00:00:00'],
    ['no time', '2026-01-01'],
    ['a blank for the T', '2026-01-01 00:00:00Z'],
    ['a fraction without digits', '2026-01-01T00:00:00.Z'],
    ['ten digits of a fraction', '2026-01-01T00:00:00.1234567890Z'],
    ['a comma', '2026-01-01T00:00:00,5Z'],
    ['a zone without a colon', '2026-01-01T00:00:00+0100'],
    ['zone hour 24', '2026-01-01T00:00:00+24:00'],
    ['zone minute 60', '2026-01-01T00:00:00+01:60'],
    ['something behind the zone', '2026-01-01T00:00:00Z '],
    ['something before', ' 2026-01-01T00:00:00Z'],
    ['a year of five digits', '12026-01-01T00:00:00Z'],
    ['other digits', '２０２６-01-01T00:00:00Z'],
    ['nothing', ''],
  ])('refuses %s', (_, text) => {
    expect(parseInstant(text)).toBeUndefined();
    expect(isInstant(text)).toBe(false);
  });

  it('agrees with the calendar on every day from year 0 to 9999', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9999 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 31 }),
        (year, month, day) => {
          const text = `${pad(year, 4)}-${pad(month)}-${pad(day)}T12:34:56.789Z`;
          const date = new Date(text);
          // Date carries 30 February over to March, so a real day is one that comes back as it went in.
          const real = date.toISOString() === text;
          expect(isInstant(text)).toBe(real);
          expect(parseInstant(text)?.epochMs).toBe(real ? date.getTime() : undefined);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('says the same as isInstant about any text near an instant', () => {
    const letters = fc.constantFrom(...'0123456789-:.TZtz+ ');
    const mutated = fc
      .tuple(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }), fc.nat(30), letters)
      .map(([date, at, letter]) => {
        const text = date.toISOString();
        return text.slice(0, at) + letter + text.slice(at + 1);
      });
    fc.assert(
      fc.property(mutated, (text) => {
        expect(isInstant(text)).toBe(parseInstant(text) !== undefined);
        expect(instantMs(text)).toBe(parseInstant(text)?.epochMs);
      }),
      { numRuns: 2000 },
    );
  });

  it.each(['', '.7', '.78', '.789', '.7891', '.789999999'])('reads the ms of a fraction "%s" without an object, too', (fraction) => {
    for (const text of [`2026-01-01T00:00:00${fraction}Z`, `1969-12-31T23:59:59${fraction}+02:00`]) {
      expect(instantMs(text)).toBe(parseInstant(text)?.epochMs);
    }
  });
});
