import { expect, it } from 'vitest';
import type { ChainPart, LogSource, PartitionSources } from './replay-sources.ts';
import { replayWindow } from './replay-window.ts';
import { CHAIN } from './testing/index.ts';

const NINE = Date.UTC(2026, 0, 2, 9);
const data = (first: number, next: number): ChainPart => ({
  kind: 'data',
  first,
  next,
  rows: next - first,
  minTimestampMs: NINE + first,
  maxTimestampMs: NINE + next - 1,
});
const log = (logStart: number, logEnd: number): LogSource => ({
  logStart,
  logEnd,
  marks: logStart < logEnd ? [{ offset: logStart, timestampMs: NINE + logStart }] : [],
});
const partition = (number: number, parts: readonly ChainPart[], of: LogSource | null, archived = true): PartitionSources => ({
  ...CHAIN,
  partition: number,
  parts,
  log: of,
  archived,
});

it('replay is true since the latest of all partitions’ beginnings, and a partition without a record has none', () => {
  const all = [
    partition(0, [data(0, 50)], log(20, 70)),
    partition(1, [data(5, 50)].slice(1), log(30, 60), false),
    partition(2, [], log(0, 0)),
  ];
  expect(replayWindow(all)).toMatchObject({
    sinceMs: NINE + 30,
    oldestMs: NINE,
    partitions: [
      { holes: [], sinceMs: NINE },
      // Nothing of this life was archived: what Kafka has deleted was there before any archive.
      { holes: [], gone: [{ kind: 'before-archive', first: 0, next: 30 }], sinceMs: NINE + 30 },
      { holes: [], sinceMs: null },
    ],
  });
});

it.each<[string, PartitionSources, object]>([
  [
    'between the lake’s end and Kafka’s start',
    partition(0, [data(0, 50)], log(60, 70)),
    { holes: [{ first: 50, next: 60 }], sinceMs: NINE + 60 },
  ],
  ['none where they meet', partition(0, [data(0, 50)], log(50, 70)), { holes: [], sinceMs: NINE }],
  ['inside the chain', partition(0, [data(0, 10), data(20, 50)], log(50, 70)), { holes: [{ first: 10, next: 20 }], sinceMs: NINE + 20 }],
  ['none inside the chain where Kafka holds it', partition(0, [data(0, 10), data(20, 50)], log(5, 70)), { holes: [] }],
  ['a partition without a chain among archived ones', partition(0, [], log(7, 9)), { holes: [{ first: 0, next: 7 }], sinceMs: NINE + 7 }],
  ['an earlier life ends with its chain', partition(0, [data(0, 50)], null), { kafka: null, holes: [], sinceMs: NINE }],
  [
    'what is declared is none',
    partition(
      0,
      [{ kind: 'before-archive', first: 0, next: 4 }, data(4, 9), { kind: 'lost', first: 9, next: 12 }, data(12, 50)],
      log(50, 70),
    ),
    {
      holes: [],
      gone: [{ kind: 'before-archive' }, { kind: 'lost', first: 9, next: 12, afterMs: NINE + 8, beforeMs: NINE + 12 }],
      sinceMs: NINE + 4,
    },
  ],
])('a hole: %s', (_, sources, expected) => {
  expect(replayWindow([sources]).partitions[0]).toMatchObject(expected);
});

it('an earlier life of the topic does not shorten what is true of the present one', () => {
  const old = partition(0, [data(0, 50)], null);
  const present = {
    ...partition(0, [data(60, 70)], log(60, 70)),
    incarnation: 'present_',
    parts: [{ ...data(0, 10), minTimestampMs: NINE + 60 } as ChainPart],
  };
  expect(replayWindow([old, { ...present, log: { logStart: 0, logEnd: 10, marks: [] } }])).toMatchObject({
    sinceMs: NINE + 60,
    oldestMs: NINE,
  });
});
