import { formatRecordId } from '@tailrace/events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BulkBody } from './bulk-body.ts';
import { writeDocument } from './document.ts';
import { writeAliasOf } from './index-names.ts';
import { batchOf } from './testing/batch.ts';

const T = '"timestamp":"2026-01-31T23:59:59Z"';

/** A bulk over all records of a batch. */
function bulkOf(batch: ReturnType<typeof batchOf>, index = (record: number) => `e-${record}`) {
  const bulk = new BulkBody(16);
  const bad: [number, string][] = [];
  for (let record = 0; record < batch.length; record++) {
    const found = bulk.add(record, index(record), batch.origin(record), batch.value(record), writeDocument);
    if (found !== undefined) bad.push([record, found.reason]);
  }
  return { bulk, bad, text: bulk.bytes(0, bulk.length).toString() };
}

describe('BulkBody', () => {
  it('leaves nothing of a record behind at which building threw', () => {
    const { bulk } = bulkOf(batchOf([{ value: '{"a":1}' }]));
    const before = bulk.bytes(0, bulk.length).toString();
    const { source } = batchOf([]);
    const origin = { ...source, offset: 101, timestampMs: 1 };
    const broken = () => {
      throw new TypeError('a fault of ours');
    };
    expect(() => bulk.add(1, 'e', origin, Buffer.from('{}'), broken)).toThrow('a fault of ours');
    expect(bulk.length).toBe(1);
    bulk.add(2, 'e', { ...origin, offset: 102 }, Buffer.from('{}'), writeDocument);
    expect(bulk.bytes(0, 1).toString()).toBe(before);
    expect(bulk.bytes(1, 2).toString()).toMatch(/^\{"index":.*-3-102"\}\}\n\{.*\}\n$/);
  });

  it('puts each record under its id, behind its coordinates, and leaves bad ones out', () => {
    const { bulk, bad, text } = bulkOf(
      batchOf([
        { value: `{${T},"service":"a"}`, timestampMs: 1_769_903_999_000 },
        { value: '{"a":1}\n{"index":{}}' },
        { value: `{${T},"service":"ü"}`, timestampMs: 1_769_904_000_000 },
        { value: `{${T},"service":"tailrace.canary","customer_id":"c"}` },
      ]),
    );
    expect(text).toBe(
      `{"index":{"_index":"e-0-write","_id":"service-events~AbCd-_12-3-100"}}
{"topic":"service-events","incarnation":"AbCd-_12","partition":3,"offset":100,"kafka_timestamp":1769903999000,${T},"service":"a"}
{"index":{"_index":"e-2-write","_id":"service-events~AbCd-_12-3-102"}}
{"topic":"service-events","incarnation":"AbCd-_12","partition":3,"offset":102,"kafka_timestamp":1769904000000,${T},"service":"ü"}
`,
    );
    expect(bad).toEqual([
      [1, 'not-json'],
      [3, 'canary'],
    ]);
    expect(
      [0, 1].map((item) => [
        bulk.record(item),
        bulk.index(item),
        bulk
          .bytes(item, item + 1)
          .toString()
          .split('\n').length,
      ]),
    ).toEqual([
      [0, 'e-0', 3],
      [2, 'e-2', 3],
    ]);
    expect([...bulk.distinctIndices()]).toEqual(['e-0', 'e-2']);
  });

  it('writes every head right, whatever changed since the last one', () => {
    const origins = fc.record({
      topic: fc.constantFrom('a', 'service-events'),
      incarnation: fc.constantFrom('AAAAAAAA', '-_-_-_-_'),
      partition: fc.constantFrom(0, 1, 10),
      offset: fc.oneof(fc.nat(12), fc.constantFrom(99, 100, 999_999_999_999, Number.MAX_SAFE_INTEGER)),
      timestampMs: fc.constantFrom(999, 1_769_903_999_000, 1_769_903_999_001),
    });
    const value = fc.constantFrom(`{${T}}`, 'bad', `{${T},"x":1}`, '5');
    fc.assert(
      fc.property(fc.array(fc.tuple(origins, value, fc.constantFrom('i', 'j')), { maxLength: 12 }), (records) => {
        const batch = batchOf(records.map(([origin, text]) => ({ value: text, origin })));
        const { text } = bulkOf(batch, (record) => records[record]?.[2] ?? '');
        const lines = text.split('\n').slice(0, -1);
        const good = records.filter(([, json]) => json.startsWith('{'));
        expect(lines.map((line) => JSON.parse(line))).toEqual(
          good.flatMap(([origin, json, index]) => {
            const { timestampMs, ...place } = origin;
            const { x, ...known } = JSON.parse(json);
            const moved = x === undefined ? {} : { attributes: { x } };
            return [
              { index: { _index: writeAliasOf(index), _id: formatRecordId(origin) } },
              { ...place, kafka_timestamp: timestampMs, ...known, ...moved },
            ];
          }),
        );
      }),
      { numRuns: 500 },
    );
  });

  it('grows when the documents take more than was thought', () => {
    const value = `{${T},"service":"a","x":1}`;
    const long = { value: `{"timestamp":"${'ü'.repeat(2000)}","service":"a"}` };
    const lines = bulkOf(batchOf([...Array.from({ length: 50 }, () => long), { value }]))
      .text.trimEnd()
      .split('\n');
    expect(lines).toHaveLength(102);
    expect(JSON.parse(lines[1] ?? '').timestamp_raw).toBe('ü'.repeat(2000));
    expect(JSON.parse(lines[101] ?? '').attributes).toEqual({ x: 1 });
  });
});
