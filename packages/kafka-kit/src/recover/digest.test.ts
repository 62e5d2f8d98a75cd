import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replayDigest } from './digest.ts';

const bytes = fc.option(
  fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array)),
  { nil: null },
);

/** The definition again, slowly. */
function byDefinition(offset: number, key: Buffer | null, value: Buffer | null): string {
  const int = (write: (buffer: Buffer) => void, size: number): Buffer => {
    const buffer = Buffer.alloc(size);
    write(buffer);
    return buffer;
  };
  const field = (content: Buffer | null): Buffer =>
    content === null
      ? int((buffer) => buffer.writeInt32BE(-1), 4)
      : Buffer.concat([int((buffer) => buffer.writeInt32BE(content.length), 4), content]);
  const all = Buffer.concat([int((buffer) => buffer.writeBigInt64BE(BigInt(offset)), 8), field(key), field(value)]);
  return createHash('sha256').update(all).digest('hex').slice(0, 16);
}

describe('a replay’s digest', () => {
  it('is what its definition says', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), bytes, bytes, (offset, key, value) => {
        expect(replayDigest(offset, key, value)).toBe(byDefinition(offset, key, value));
      }),
    );
  });
});
