import { createHash } from 'node:crypto';
import { addDigest, checksumText, DigestSum } from '@tailrace/kafka-kit/digest';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestText, recordDigest } from './record-digest.ts';
import type { LakeRecord } from './records.ts';

const bytes = fc.option(
  fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
  { nil: null },
);
const record: fc.Arbitrary<LakeRecord> = fc.record({
  offset: fc.maxSafeNat(),
  timestampMs: fc.maxSafeInteger(),
  key: bytes,
  value: bytes,
  headers: fc.array(fc.tuple(fc.string({ unit: 'binary', maxLength: 6 }), bytes), { maxLength: 3 }),
});

/** The definition again, slowly. */
function digestByDefinition({ offset, timestampMs, key, value, headers }: LakeRecord): bigint {
  const int64 = (number: number): Buffer => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64BE(BigInt(number));
    return buffer;
  };
  const int32 = (number: number): Buffer => {
    const buffer = Buffer.alloc(4);
    buffer.writeInt32BE(number);
    return buffer;
  };
  const field = (content: Buffer | null): Buffer => (content === null ? int32(-1) : Buffer.concat([int32(content.length), content]));
  const parts = [int64(offset), int64(timestampMs), field(key), field(value), int32(headers.length)];
  for (const [name, content] of headers) parts.push(field(Buffer.from(name)), field(content));
  return createHash('sha256').update(Buffer.concat(parts)).digest().readBigUInt64BE(0);
}

describe('a record’s digest', () => {
  it('is what its definition says', () => {
    fc.assert(
      fc.property(record, (each) => {
        expect(recordDigest(each)).toBe(digestByDefinition(each));
      }),
    );
  });

  it('differs where a record differs', () => {
    const base: LakeRecord = {
      offset: 1,
      timestampMs: 2,
      key: Buffer.from('k'),
      value: Buffer.from('v'),
      headers: [['h', Buffer.from('x')]],
    };
    const others: LakeRecord[] = [
      { ...base, offset: 2 },
      { ...base, timestampMs: 3 },
      { ...base, key: null },
      { ...base, key: Buffer.alloc(0) },
      { ...base, value: null },
      { ...base, value: Buffer.alloc(0) },
      { ...base, key: Buffer.from('kv'), value: Buffer.alloc(0) },
      { ...base, headers: [] },
      { ...base, headers: [['h', null]] },
      { ...base, headers: [['hx', Buffer.alloc(0)]] },
    ];
    expect(new Set([base, ...others].map(recordDigest)).size).toBe(others.length + 1);
  });

  it('holds records larger than its scratch space', () => {
    const large: LakeRecord = { offset: 0, timestampMs: 0, key: null, value: Buffer.alloc(300_000, 7), headers: [] };
    expect(recordDigest(large)).toBe(digestByDefinition(large));
  });
});

describe('a checksum', () => {
  it('adds up in any order and any parts, and stays 64 bits wide', () => {
    const digest = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(fc.array(digest), fc.array(digest), (some, others) => {
        const sum = (all: readonly bigint[]): bigint => all.reduce(addDigest, 0n);
        expect(sum([...some, ...others])).toBe(addDigest(sum(others), sum(some)));
        expect(checksumText(sum([...some, ...others]))).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});

it('a sum in two halves is the sum of the numbers, over every carry', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), (from, digests) => {
      const halves = new DigestSum(from);
      for (const digest of digests) halves.add(checksumText(digest));
      expect(halves.value).toBe(digests.reduce(addDigest, from));
    }),
    {
      examples: [
        [2n ** 64n - 1n, [1n]],
        [2n ** 32n - 1n, [1n]],
      ],
    },
  );
  expect(digestText({ offset: 1, timestampMs: 2, key: null, value: null, headers: [] })).toMatch(/^[0-9a-f]{16}$/);
});
