import { describe, expect, test } from 'vitest';
import { type Sources, takeCensus } from './census.ts';
import { numberIn } from './feed.ts';

const INCARNATION = 'incarnat';
const value = (n: number): Buffer => Buffer.from(`{"service":"s","attributes":{"n":${n}}}`);

interface Row {
  readonly partition: number;
  readonly offset: number;
  readonly n: number;
  /** Defaults to one key for each partition. */
  readonly key?: string;
  readonly value?: Buffer;
}

/** Two partitions with the numbers 1 to 5. */
const RECORDS: readonly Row[] = [
  { partition: 0, offset: 0, n: 1 },
  { partition: 0, offset: 1, n: 3 },
  { partition: 0, offset: 2, n: 4 },
  { partition: 1, offset: 0, n: 2 },
  { partition: 1, offset: 1, n: 5 },
];

const keyed = ({ partition, key, n, value: bytes = value(n) }: Row) => ({ key: Buffer.from(key ?? `k${partition}`), value: bytes });

function sources({ log = RECORDS, index = RECORDS, lake = RECORDS, incarnation = INCARNATION } = {}): Sources {
  return {
    log: async (begin) => {
      const ends = [0, 1].map((partition) => log.filter((row) => row.partition === partition).length);
      const visit = begin({ incarnation: INCARNATION, ends });
      for (const row of log) visit({ partition: row.partition, offset: row.offset, ...keyed(row) });
    },
    index: async (visit) => {
      for (const { partition, offset, n } of index) visit({ incarnation, partition, offset, number: n });
    },
    lake: async (visit) => {
      for (const row of lake) visit({ incarnation, partition: row.partition }, { offset: row.offset, ...keyed(row) });
      return { objects: 2, bytes: 100 };
    },
  };
}

const without = (at: number): Row[] => RECORDS.filter((_, i) => i !== at);
const replaced = (at: number, row: Partial<Row>): Row[] => RECORDS.map((each, i) => (i === at ? { ...each, ...row } : each));
const [first, second, third] = RECORDS as [Row, Row, Row];

describe('the census', () => {
  test('finds nothing where everything is once where it belongs', async () => {
    expect(await takeCensus(sources(), 5)).toEqual({ records: 5, documents: 5, rows: 5, objects: 2, lakeBytes: 100, findings: [] });
  });

  test.for<[finding: string, sources: Sources, written?: number]>([
    ['1 written events without a record in Kafka: 6', sources(), 6],
    ['1 events with more than one record in Kafka: 4', sources({ log: replaced(4, { n: 4 }) })],
    ['1 records in Kafka that the feed did not write: 1/1', sources({ log: replaced(4, { value: Buffer.from('{}') }) })],
    [
      '1 records of a key out of order in Kafka: 0/2',
      sources({ log: replaced(1, { n: 4 }).map((row) => (row === third ? { ...row, n: 3 } : row)) }),
    ],
    ['1 records missing in the index: 0/1', sources({ index: without(1) })],
    ['1 records missing in the index: 1/1', sources({ index: without(4) })],
    ['1 records twice in the index: 0/0', sources({ index: [...RECORDS, first] })],
    ['1 documents of no record: 0/3', sources({ index: [...RECORDS, { partition: 0, offset: 3, n: 6 }] })],
    ['1 documents with another number than their record: 0/1', sources({ index: replaced(1, { n: 4 }) })],
    ['5 documents of no record: 0/0, 0/1, 0/2, 1/0, 1/1', sources({ incarnation: 'another1' })],
    ['1 records missing in the lake: 0/1', sources({ lake: without(1) })],
    ['1 records missing in the lake: 1/1', sources({ lake: without(4) })],
    [
      '1 rows of an offset that was there before, or behind a later one: 0/1',
      sources({ lake: [first, second, second, ...RECORDS.slice(2)] }),
    ],
    [
      '1 rows of an offset that was there before, or behind a later one: 0/1',
      sources({ lake: [first, third, second, ...RECORDS.slice(3)] }),
    ],
    ['1 rows with other bytes than their record: 0/2', sources({ lake: replaced(2, { value: Buffer.from('{"attributes":{"n":4} }') }) })],
    ['1 rows of no record: 1/2', sources({ lake: [...RECORDS, { partition: 1, offset: 2, n: 6 }] })],
  ])('finds %s', async ([finding, wrong, written = 5]) => {
    expect((await takeCensus(wrong, written)).findings).toContain(finding);
  });
});

test('the number of a record is read from its bytes', () => {
  expect(numberIn(value(1_000_000))).toBe(1_000_000);
  expect(numberIn(Buffer.from('{"n":7,"attributes":{"n":12}, "größe":"½"}'))).toBe(12);
  expect(numberIn(Buffer.from('{"attributes":{}}'))).toBe(0);
});
