import fc from 'fast-check';
import { expect, it } from 'vitest';
import { classify, classifyJump } from './position.ts';

const offset = fc.integer({ min: 0, max: 40 });
const incarnation = fc.constantFrom('aaaaaaaa', 'bbbbbbbb');

/** A log as the set of offsets that can be asked for: what it holds, and the next one to come. */
const log = fc
  .tuple(offset, fc.integer({ min: 0, max: 20 }), incarnation)
  .map(([logStart, records, life]) => ({ logStart, logEnd: logStart + records, incarnation: life }));

function readable({ logStart, logEnd }: { logStart: number; logEnd: number }): Set<number> {
  return new Set(Array.from({ length: logEnd - logStart + 1 }, (_, i) => logStart + i));
}

it('I9 a position is of exactly one class: in another life, in the log, below it or above it', () => {
  fc.assert(
    fc.property(log, offset, fc.option(incarnation, { nil: undefined }), (facts, position, life) => {
      const gap = classify(facts, { position, incarnation: life });
      const there = readable(facts);
      if (life !== undefined && life !== facts.incarnation) expect(gap).toEqual({ kind: 'recreated', from: position, to: position });
      else if (there.has(position)) expect(gap).toBeUndefined();
      else {
        // Every offset of the range is out of reach, and what stands beside it is not: the range is exact.
        expect(gap?.kind).toBe(position < Math.min(...there) ? 'expired' : 'truncated');
        const { from, to } = gap as { from: number; to: number };
        expect(from).toBeLessThan(to);
        if (gap?.kind === 'expired') {
          expect([from, there.has(to - 1), there.has(to)]).toEqual([position, false, true]);
        } else expect([to, there.has(from), there.has(from + 1)]).toEqual([position, true, false]);
      }
    }),
    { numRuns: 2000 },
  );
});

it('I9 a jump is a gap where the expected offset is gone, a void where only what lies between is, and else the client’s own fault', () => {
  fc.assert(
    fc.property(log, offset, incarnation, offset, (facts, position, life, delivered) => {
      const expected = { position, incarnation: life };
      const gap = classify(facts, expected);
      const jump = classifyJump(facts, expected, delivered);
      if (gap !== undefined) expect(jump).toEqual({ kind: 'gap', gap });
      else if (delivered > position) expect(jump).toEqual({ kind: 'void', gap: { kind: 'void', from: position, to: delivered } });
      else expect(jump).toEqual({ kind: 'stray' });
    }),
    { numRuns: 2000 },
  );
});
