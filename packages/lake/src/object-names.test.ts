import { isCalendarTime, isoTime } from '@tailrace/kafka-kit/time';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  arrivalHour,
  beforeEntry,
  chainPrefix,
  dataKey,
  entryKey,
  type LakeLayout,
  lostKey,
  parseDataKey,
  parseLedgerKey,
  scratchPrefix,
} from './object-names.ts';
import type { ChainId } from './records.ts';

const topicCharacters = 'abcXYZ019._-';
const base64url = 'abcXYZ019-_';
const letters = (characters: string, min: number, max: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...characters), minLength: min, maxLength: max });
const chain: fc.Arbitrary<ChainId> = fc.record({
  topic: letters(topicCharacters, 1, 40),
  incarnation: letters(base64url, 8, 8),
  partition: fc.nat(100_000),
});
const lake: fc.Arbitrary<LakeLayout> = fc.record({
  prefix: fc.oneof(fc.constant(''), letters(topicCharacters, 1, 10), fc.constant('a/b/c')),
  stream: letters(topicCharacters, 1, 20),
});
const offset = fc.maxSafeNat();
const time = fc.integer({ min: Date.UTC(2001, 0, 1), max: Date.UTC(9999, 11, 31) });

const LAKE: LakeLayout = { prefix: 'logs', stream: 'service-events' };
const CHAIN: ChainId = { topic: 'service-events', incarnation: 'aB-_9xYz', partition: 3 };

describe('names of objects', () => {
  it('are those of the design', () => {
    expect(dataKey(LAKE, CHAIN, 8_123_456_789, Date.UTC(2026, 1, 3, 4, 59, 59, 999))).toBe(
      'logs/service-events/dt=2026-02-03/hour=04/service-events~aB-_9xYz+3+00000000008123456789.parquet',
    );
    expect(entryKey(LAKE, CHAIN, 0)).toBe('logs/_ledger/service-events~aB-_9xYz/3/00000000000000000000.json');
    expect(lostKey(LAKE, CHAIN, 12)).toBe('logs/_ledger/service-events~aB-_9xYz/3/00000000000000000012.lost.json');
    expect(entryKey({ ...LAKE, prefix: '' }, CHAIN, 0)).toBe('_ledger/service-events~aB-_9xYz/3/00000000000000000000.json');
  });

  it('say what they were made from', () => {
    fc.assert(
      fc.property(lake, chain, offset, time, (where, who, first, timestampMs) => {
        expect(parseDataKey(where, dataKey(where, who, first, timestampMs))).toEqual({ ...who, first, ...arrivalHour(timestampMs) });
        expect(parseLedgerKey(where, entryKey(where, who, first))).toEqual({ ...who, first, kind: 'entry' });
        expect(parseLedgerKey(where, lostKey(where, who, first))).toEqual({ ...who, first, kind: 'lost' });
      }),
    );
  });

  it('sort as their offsets do, an entry before the note beside it, and a listing after `beforeEntry` begins with the entry', () => {
    fc.assert(
      fc.property(lake, chain, fc.uniqueArray(offset, { minLength: 2 }), (where, who, offsets) => {
        const rising = [...offsets].sort((a, b) => a - b);
        const names = rising.flatMap((first) => [beforeEntry(where, who, first), entryKey(where, who, first), lostKey(where, who, first)]);
        expect([...names].sort()).toEqual(names);
      }),
    );
  });

  it('never mix up two chains', () => {
    fc.assert(
      fc.property(lake, chain, chain, (where, one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(chainPrefix(where, one).startsWith(chainPrefix(where, other))).toBe(false);
      }),
    );
  });

  it('are not found in an upload that still goes on, nor in other objects', () => {
    const key = dataKey(LAKE, CHAIN, 0, 0);
    for (const other of [`${key}-4b2f0c1e-uuid`, `${key}.tmp`, key.slice(0, -1), `x/${key}`, scratchPrefix(LAKE), entryKey(LAKE, CHAIN, 0)])
      expect(parseDataKey(LAKE, other)).toBeUndefined();
    expect(parseLedgerKey(LAKE, `${entryKey(LAKE, CHAIN, 0)}-4b2f0c1e`)).toBeUndefined();
    expect(parseLedgerKey(LAKE, key)).toBeUndefined();
  });
});

const anyTime = fc.oneof(
  fc.constantFrom(9e15, 2 ** 63 - 1, -(2 ** 63), 8.64e15, 253_402_300_800_000, 253_402_300_799_999, -62_135_596_800_001, -1, 0, Number.NaN),
  // Kafka's times are whole numbers of 64 bits: there is no -0, and no fraction.
  fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map(Number),
  fc.maxSafeInteger(),
);

it('a time is either one that names an object which is found again, or is told as a number: nothing throws in between', () => {
  fc.assert(
    fc.property(anyTime, (timestampMs) => {
      const text = isoTime(timestampMs);
      const hour = arrivalHour(timestampMs);
      if (!isCalendarTime(timestampMs)) {
        expect(text).toMatch(/^\S+ ms since 1970$/);
        expect(hour).toBeUndefined();
        expect(() => dataKey(LAKE, CHAIN, 7, timestampMs)).toThrow('years 1 to 9999');
        return;
      }
      expect(Date.parse(text)).toBe(timestampMs);
      expect(parseDataKey(LAKE, dataKey(LAKE, CHAIN, 7, timestampMs))).toMatchObject({ ...hour, first: 7 });
    }),
  );
});
