import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RawRecord } from '../records.ts';
import { heldBytes, RecordColumns } from './record-columns.ts';

const bytes = fc.option(
  fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 0, max: 40 }) }, fc.integer({ min: 0, max: 300_000 })).map((length) => {
    const filled = Buffer.alloc(length);
    for (let i = 0; i < length; i += 1) filled[i] = (i * 31 + length) % 256;
    return filled;
  }),
);
const headers = fc.array(fc.tuple(fc.string(), fc.option(fc.uint8Array({ maxLength: 8 }).map((array) => Buffer.from(array)))), {
  maxLength: 3,
});
const records = fc.array(fc.record({ key: bytes, value: bytes, headers, skip: fc.nat(3), timestampMs: fc.integer({ min: -1 }) }), {
  minLength: 1,
  maxLength: 40,
});

it('every record comes back as it was, also after the client has taken its buffers back', () => {
  fc.assert(
    fc.property(records, fc.array(fc.nat(), { maxLength: 10 }), (drawn, picks) => {
      let offset = 0;
      const originals: RawRecord[] = drawn.map(({ skip, ...parts }) => {
        offset += 1 + skip;
        return { topic: 't', partition: 0, offset, ...parts };
      });
      const columns = new RecordColumns();
      for (const record of originals) {
        const lent = { ...record, key: record.key && Buffer.from(record.key), value: record.value && Buffer.from(record.value) };
        columns.append(lent, heldBytes(lent));
        lent.key?.fill(0);
        lent.value?.fill(0);
      }
      expectRecords(columns, originals);
      const indices = picks.map((pick) => pick % originals.length).sort((a, b) => a - b);
      expectRecords(
        columns.pick(indices),
        indices.flatMap((i) => originals[i] ?? []),
      );
    }),
    { numRuns: 200 },
  );
});

it('a few picked records keep no more memory than they are counted with, and a large one wastes none', () => {
  const columns = new RecordColumns();
  const sizes = [...Array.from({ length: 1000 }, () => 300), 20, 131_073, 20, 66_000, 66_000, 20];
  for (const [offset, size] of sizes.entries()) {
    const record = { offset, timestampMs: 1, key: null, value: Buffer.alloc(size), headers: [] };
    columns.append(record, heldBytes(record));
  }
  const chunksOf = (of: RecordColumns) => new Set(Array.from({ length: of.length }, (_, i) => of.value(i)?.buffer));
  const allocated = (of: RecordColumns) => [...chunksOf(of)].reduce((sum, buffer) => sum + (buffer?.byteLength ?? 0), 0);
  expect(allocated(columns.pick([0, 500]))).toBeLessThanOrEqual(8192);
  // Only the last chunk of small records may be empty to a great part.
  expect(allocated(columns)).toBeLessThan(columns.heldBytes + 131_072);
  expect(columns.value(1001)?.buffer.byteLength).toBe(131_073);
});

it('a record that is not there is refused', () => {
  const columns = new RecordColumns();
  columns.append({ offset: 7, timestampMs: 1, key: null, value: null, headers: [] }, 100);
  for (const i of [-1, 1, 0.5]) {
    for (const read of ['offset', 'timestampMs', 'key', 'value', 'headers'] as const) {
      expect(() => columns[read](i)).toThrow(`record ${i} of a batch of 1`);
    }
  }
});

function expectRecords(columns: RecordColumns, records: readonly RawRecord[]): void {
  expect(columns.length).toBe(records.length);
  expect(columns.heldBytes).toBe(records.reduce((sum, record) => sum + heldBytes(record), 0));
  for (const [i, record] of records.entries()) {
    expect([columns.offset(i), columns.timestampMs(i), columns.headers(i)]).toEqual([record.offset, record.timestampMs, record.headers]);
    expect([columns.key(i), columns.value(i)].map((part) => part?.toString('hex'))).toEqual(
      [record.key, record.value].map((part) => part?.toString('hex')),
    );
  }
}
