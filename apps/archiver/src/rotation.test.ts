import { MAX_DATA_SPAN } from '@tailrace/lake';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causeBefore, type NextRecord, ROTATION, type RotationLimits, segments } from './rotation.ts';

const NINE = Date.UTC(2026, 0, 2, 9);
const HOUR_MS = 3_600_000;
const look = (record: NextRecord): NextRecord => record;
const hourOf = ({ timestampMs }: NextRecord): number => Math.floor(timestampMs / HOUR_MS);

const limits: fc.Arbitrary<RotationLimits> = fc.record({
  maxRows: fc.integer({ min: 1, max: 10 }),
  maxRawBytes: fc.integer({ min: 1, max: 200 }),
  maxRecordTimeMs: fc.integer({ min: 1, max: HOUR_MS }),
});
/** Times that mostly rise, and now and then step back, as after a change of the leader. */
const records: fc.Arbitrary<NextRecord[]> = fc
  .array(fc.tuple(fc.integer({ min: -200_000, max: 600_000 }), fc.nat(100)), { maxLength: 40 })
  .map((steps) => {
    let timestampMs = NINE;
    return steps.map(([step, rawBytes], offset) => {
      timestampMs += step;
      return { offset, timestampMs, rawBytes };
    });
  });

describe('the rotation', () => {
  it('cuts records into runs that lose nothing, keep the order, and keep within every limit', () => {
    fc.assert(
      fc.property(limits, records, (within, all) => {
        const runs = segments(undefined, all, look, within);
        expect(runs.flatMap((run) => run.records)).toEqual(all);
        for (const [i, run] of runs.entries()) {
          expect([run.begins, run.closes === undefined]).toEqual([true, i === 0]);
          expect(new Set(run.records.map(hourOf)).size).toBe(1);
          expect(run.records.length).toBeLessThanOrEqual(within.maxRows);
          const bytes = run.records.reduce((sum, { rawBytes }) => sum + rawBytes, 0);
          // A record that is too large by itself is an object of its own.
          if (run.records.length > 1) expect(bytes).toBeLessThanOrEqual(within.maxRawBytes);
          const first = run.records[0]?.timestampMs ?? 0;
          expect(Math.max(...run.records.map(({ timestampMs }) => timestampMs - first))).toBeLessThan(within.maxRecordTimeMs);
        }
      }),
    );
  });

  it('does not depend on how the records came: in one batch or in many, the objects are the same', () => {
    fc.assert(
      fc.property(limits, records, fc.integer({ min: 1, max: 7 }), (within, all, size) => {
        const atOnce = segments(undefined, all, look, within).map((run) => run.records.length);
        const objects: NextRecord[][] = [];
        for (let i = 0; i < all.length; i += size) {
          const [first] = objects.at(-1) ?? [];
          const open = objects.at(-1) ?? [];
          const facts =
            first === undefined
              ? undefined
              : {
                  first: first.offset,
                  firstTimestampMs: first.timestampMs,
                  rows: open.length,
                  rawBytes: open.reduce((sum, { rawBytes }) => sum + rawBytes, 0),
                };
          for (const { begins, records: run } of segments(facts, all.slice(i, i + size), look, within)) {
            if (begins) objects.push([...run]);
            else objects.at(-1)?.push(...run);
          }
        }
        expect(objects.map((object) => object.length)).toEqual(atOnce);
      }),
    );
  });

  it('closes before the span of one entry is exceeded, and for each other reason by its name', () => {
    const open = { first: 0, firstTimestampMs: NINE, rows: 1, rawBytes: 1 };
    const next = { offset: 1, timestampMs: NINE, rawBytes: 1 };
    expect(causeBefore(open, next, ROTATION)).toBeUndefined();
    expect(causeBefore(open, { ...next, offset: MAX_DATA_SPAN - 1 }, ROTATION)).toBeUndefined();
    expect(causeBefore(open, { ...next, offset: MAX_DATA_SPAN }, ROTATION)).toBe('span');
    expect(causeBefore({ ...open, rows: 1_000_000 }, next, ROTATION)).toBe('rows');
    expect(causeBefore({ ...open, rawBytes: 350_000_000 }, next, ROTATION)).toBe('bytes');
    expect(causeBefore(open, { ...next, timestampMs: NINE + 600_000 }, ROTATION)).toBe('record-time');
    expect(causeBefore(open, { ...next, timestampMs: NINE - 1 }, ROTATION)).toBe('hour');
  });
});
