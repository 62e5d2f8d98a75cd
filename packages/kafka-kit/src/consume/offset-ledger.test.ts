import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OffsetLedger } from './offset-ledger.ts';

/** The same by its definition: a list of all offsets that were tracked, and which of them are settled. */
class NaiveLedger {
  readonly #tracked = new Map<number, boolean>();
  readonly #startAt: number;

  constructor(startAt: number) {
    this.#startAt = startAt;
  }

  track(offset: number): void {
    this.#tracked.set(offset, false);
  }

  settle(offset: number): void {
    if (this.#tracked.get(offset) !== false) throw new Error('no');
    this.#tracked.set(offset, true);
  }

  waiting(): number[] {
    return [...this.#tracked].flatMap(([offset, settled]) => (settled ? [] : [offset]));
  }

  get nextToRead(): number {
    const all = [...this.#tracked].sort(([a], [b]) => a - b);
    let next = this.#startAt;
    for (const [offset, settled] of all) {
      if (!settled) break;
      next = offset + 1;
    }
    return next;
  }
}

const steps = fc.array(
  fc.oneof(
    // Tracks some offsets, behind a void of `skip`.
    fc.record({ kind: fc.constant('track' as const), count: fc.integer({ min: 1, max: 6 }), skip: fc.constantFrom(0, 0, 0, 1, 7) }),
    // Settles one that waits.
    fc.record({ kind: fc.constant('settle' as const), which: fc.nat() }),
    // Settles any offsets, waiting or not.
    fc.record({ kind: fc.constant('nonsense' as const), offset: fc.integer({ min: -2, max: 120 }), count: fc.integer({ min: 1, max: 8 }) }),
  ),
  { maxLength: 80 },
);

it('I1 equals the naive model: what may be committed is the first offset that is not settled', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 }), steps, (startAt, todo) => {
      const ledger = new OffsetLedger(startAt);
      const model = new NaiveLedger(startAt);
      let next = startAt;
      for (const step of todo) {
        if (step.kind === 'track') {
          next += step.skip;
          for (let i = 0; i < step.count; i += 1) {
            ledger.track(next);
            model.track(next);
            next += 1;
          }
        } else {
          const waiting = model.waiting();
          const from = step.kind === 'nonsense' ? step.offset : waiting[step.which % Math.max(1, waiting.length)];
          if (from === undefined) continue;
          const to = from + (step.kind === 'nonsense' ? step.count : 1);
          const run = Array.from({ length: to - from }, (_, i) => from + i);
          if (run.every((offset) => waiting.includes(offset))) {
            ledger.settle(from, to);
            for (const offset of run) model.settle(offset);
          } else expect(() => ledger.settle(from, to)).toThrow(/without being tracked, or twice/);
        }
        expect([ledger.nextToRead, ledger.unsettled]).toEqual([model.nextToRead, model.waiting().length]);
      }
    }),
    { numRuns: 1000 },
  );
});

it('an offset that does not grow is refused', () => {
  const ledger = new OffsetLedger(5);
  expect(() => ledger.track(4)).toThrow(/offset 4 was tracked after 4/);
  ledger.track(5);
  expect(() => ledger.track(5)).toThrow(/offset 5 was tracked after 5/);
  ledger.settle(5);
  expect(() => ledger.track(5)).toThrow(/offset 5 was tracked after 5/);
  expect(() => ledger.settle(5)).toThrow(/twice/);
});

it('a million records settled out of order take no memory of their own', () => {
  const ledger = new OffsetLedger(0);
  const count = 1_000_000;
  for (let offset = 0; offset < count; offset += 1) ledger.track(offset);
  const before = process.memoryUsage().heapUsed;
  for (let offset = count - 1; offset > 0; offset -= 1) ledger.settle(offset);
  expect(ledger.nextToRead).toBe(0);
  ledger.settle(0);
  expect([ledger.nextToRead, ledger.unsettled]).toEqual([count, 0]);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(8_000_000);
});

it('I1 a gap is passed where its word was taken: nothing behind it is committed before, and the end of it is without a record behind', () => {
  const ledger = new OffsetLedger(10);
  ledger.track(10);
  ledger.track(11);
  ledger.trackGap(12, 30);
  ledger.track(30);
  ledger.settle(30);
  ledger.settle(10);
  expect([ledger.nextToRead, ledger.unsettled]).toEqual([11, 1]);
  ledger.passGap(12, 30);
  expect(ledger.nextToRead).toBe(11);
  ledger.settle(11);
  expect([ledger.nextToRead, ledger.unsettled]).toEqual([31, 0]);
  ledger.trackGap(31, 40);
  expect(ledger.nextToRead).toBe(31);
  ledger.passGap(31, 40);
  expect(ledger.nextToRead).toBe(40);
  expect(() => ledger.passGap(31, 40)).toThrow(/twice/);
  expect(() => ledger.passGap(40, 50)).toThrow(/without being tracked/);
  // The end of a topic's old life: no offsets.
  ledger.trackGap(40, 40);
  ledger.passGap(40, 40);
  expect(ledger.nextToRead).toBe(40);
});
