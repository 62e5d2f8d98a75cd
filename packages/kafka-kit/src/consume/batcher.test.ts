import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RawRecord } from '../records.ts';
import { Batcher } from './batcher.ts';
import type { CloseReason } from './contract.ts';
import { heldBytes, type RecordColumns } from './record-columns.ts';

const limits = fc.record({
  maxRecords: fc.integer({ min: 1, max: 6 }),
  maxBytes: fc.integer({ min: 1, max: 2000 }),
  maxAgeMs: fc.integer({ min: 1, max: 50 }),
});
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('append' as const), size: fc.integer({ min: 0, max: 1500 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 0, max: 60 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const) }) },
  ),
  { maxLength: 60 },
);

it('runs are the records in order, within every limit, and each closes for its own reason', () => {
  fc.assert(
    fc.property(limits, steps, (limit, todo) => {
      const runs: { records: readonly RawRecord[]; why: CloseReason; openedMs: number; atMs: number }[] = [];
      let nowMs = 0;
      let openedMs = 0;
      const batcher = new Batcher(limit, (columns, why) => void runs.push({ records: recordsOf(columns), why, openedMs, atMs: nowMs }));
      const appended: RawRecord[] = [];
      for (const step of todo) {
        if (step.kind === 'append') {
          const before = runs.length;
          const empty = batcher.length === 0;
          const record = recordAt(appended.length, step.size);
          if (empty) openedMs = nowMs;
          batcher.append(record, nowMs);
          if (!empty && runs.length > before) openedMs = nowMs;
          appended.push(record);
        } else if (step.kind === 'time') {
          nowMs += step.ms;
          batcher.closeIfDue(nowMs);
          // Nothing stays open beyond its age, also when nothing new arrives.
          if (batcher.length > 0) expect(nowMs - openedMs).toBeLessThan(limit.maxAgeMs);
        } else batcher.close('drain');
        expect(batcher.firstTimestampMs).toBe(appended[appended.length - batcher.length]?.timestampMs);
      }
      batcher.close('drain');
      batcher.close('drain');
      expect(batcher.length).toBe(0);
      expect(runs.flatMap(({ records }) => records)).toEqual(appended);
      for (const { records, why, openedMs, atMs } of runs) {
        const bytes = records.reduce((sum, record) => sum + heldBytes(record), 0);
        expect(records.length).toBeGreaterThan(0);
        expect(records.length).toBeLessThanOrEqual(limit.maxRecords);
        // A record larger than the limit is a run of its own.
        if (records.length > 1) expect(bytes).toBeLessThanOrEqual(limit.maxBytes);
        if (why === 'records') expect(records.length).toBe(limit.maxRecords);
        if (why === 'age') expect(atMs - openedMs).toBeGreaterThanOrEqual(limit.maxAgeMs);
        const next = appended[(records.at(-1)?.offset ?? 0) + 1];
        if (why === 'bytes') expect(bytes + (next === undefined ? 0 : heldBytes(next))).toBeGreaterThan(limit.maxBytes);
      }
    }),
    { numRuns: 500 },
  );
});

function recordAt(offset: number, size: number): RawRecord {
  return { topic: 't', partition: 0, offset, timestampMs: offset, key: null, value: Buffer.alloc(size), headers: [] };
}

function recordsOf(columns: RecordColumns): RawRecord[] {
  return Array.from({ length: columns.length }, (_, i) => ({
    ...recordAt(columns.offset(i), 0),
    timestampMs: columns.timestampMs(i),
    key: columns.key(i),
    value: columns.value(i),
    headers: columns.headers(i),
  }));
}
