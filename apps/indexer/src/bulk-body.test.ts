import { describe, expect, it } from 'vitest';
import { buildBulk } from './bulk-body.ts';
import { writeDocument } from './document.ts';
import { batchOf } from './testing/batch.ts';

const T = '"timestamp":"2026-01-31T23:59:59Z"';

describe('buildBulk', () => {
  it('puts each record under its id, behind its coordinates, and leaves bad ones out', () => {
    const batch = batchOf([
      { value: `{${T},"service":"a"}`, timestampMs: 1_769_903_999_000 },
      { value: '{"a":1}\n{"index":{}}' },
      { value: `{${T},"service":"ü"}`, timestampMs: 1_769_904_000_000 },
    ]);
    const bad: [number, string][] = [];
    const targets = [0, 1, 2].map((record) => ({ record, index: `e-${record}`, origin: batch.origin(record) }));
    const bulk = buildBulk(
      batch,
      targets,
      () => writeDocument,
      (record, { reason }) => bad.push([record, reason]),
    );
    expect(bulk.bytes.toString()).toBe(
      `{"index":{"_index":"e-0","_id":"service-events~AbCd-_12-3-100"}}
{"topic":"service-events","incarnation":"AbCd-_12","partition":3,"offset":100,"kafka_timestamp":1769903999000,${T},"service":"a"}
{"index":{"_index":"e-2","_id":"service-events~AbCd-_12-3-102"}}
{"topic":"service-events","incarnation":"AbCd-_12","partition":3,"offset":102,"kafka_timestamp":1769904000000,${T},"service":"ü"}
`,
    );
    expect(bad).toEqual([[1, 'not-json']]);
    expect(bulk.items.map(({ record, start, end }) => [record, bulk.bytes.toString('utf8', start, end).split('\n').length])).toEqual([
      [0, 3],
      [2, 3],
    ]);
  });

  it('grows when the documents take more than was thought', () => {
    const value = `{${T},"service":"a","x":1}`;
    const batch = batchOf(
      Array.from({ length: 50 }, () => ({ value: `{"timestamp":"${'ü'.repeat(2000)}","service":"a"}` })).concat({ value }),
    );
    const targets = Array.from({ length: 51 }, (_, record) => ({ record, index: 'e', origin: batch.origin(record) }));
    const bulk = buildBulk(
      batch,
      targets,
      () => writeDocument,
      () => {},
    );
    const lines = bulk.bytes.toString().trimEnd().split('\n');
    expect(lines).toHaveLength(102);
    expect(JSON.parse(lines[1] ?? '').timestamp_raw).toBe('ü'.repeat(2000));
    expect(JSON.parse(lines[101] ?? '').attributes).toEqual({ x: 1 });
  });
});
