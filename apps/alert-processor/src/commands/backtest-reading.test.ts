import { HistoryHole } from '@tailrace/kafka-kit';
import type { ChainId, OffsetRange, PlannedPartition, ReplayPart } from '@tailrace/lake';
import { expect, it } from 'vitest';
import type { BacktestPart } from '../simulate/backtest.ts';
import { partsOf } from './backtest-reading.ts';

const CHAIN: ChainId = { topic: 'service-events', incarnation: 'abcdefgh', partition: 0 };
const PLANNED: PlannedPartition = {
  ...CHAIN,
  ranges: [
    { first: 10, next: 20 },
    { first: 30, next: 40 },
  ],
  records: 20,
  lakeBytes: 0,
  clockSteps: [],
  missing: [
    { first: 5, next: 10, kind: 'lost', afterMs: null, beforeMs: null },
    { first: 20, next: 25, kind: 'hole', afterMs: null, beforeMs: null },
    { first: 50, next: 60, kind: 'before-archive', afterMs: null, beforeMs: null },
  ],
};

const record = (offset: number): ReplayPart => ({
  kind: 'records',
  source: 'lake',
  records: [{ offset, timestampMs: offset, key: null, value: null, headers: [] }],
});

/** Gives record by record; what `faultAt` gives for an offset is thrown there. */
function readerWith(faultAt: (offset: number) => Error | undefined) {
  return {
    async *read(_chain: ChainId, { first, next }: OffsetRange) {
      for (let offset = first; offset < next; offset++) {
        const fault = faultAt(offset);
        if (fault !== undefined) throw fault;
        yield record(offset);
      }
    },
  };
}

async function readAll(faultAt: (offset: number) => Error | undefined) {
  const notes: string[] = [];
  const offsets: (number | string)[] = [];
  const ports = {
    note: (text: string) => {
      notes.push(text);
    },
    signal: new AbortController().signal,
  };
  for await (const part of partsOf(PLANNED, readerWith(faultAt), ports)) offsets.push(shown(part));
  return { notes, offsets };
}

function shown(part: BacktestPart): number | string {
  return part.kind === 'records' ? (part.records[0]?.offset ?? -1) : `${part.kind} ${part.from}-${part.to}`;
}

const count = (first: number, next: number) => Array.from({ length: next - first }, (_, i) => first + i);

it('gives what can be read and what is known to be gone, in the order of offsets', async () => {
  const { offsets } = await readAll(() => undefined);
  expect(offsets).toEqual(['lost 5-10', ...count(10, 20), 'hole 20-25', ...count(30, 40), 'before-archive 50-60']);
});

it('tells a hole that shows while reading, and reads on behind it', async () => {
  const { offsets } = await readAll((offset) => (offset === 33 ? new HistoryHole(CHAIN, 33, 36, 'gone') : undefined));
  expect(offsets.slice(12)).toEqual([30, 31, 32, 'hole 33-36', 36, 37, 38, 39, 'before-archive 50-60']);
});

it('goes on where it was behind a fault of the moment: nothing twice, nothing left out', async () => {
  let faults = 2;
  const { offsets, notes } = await readAll((offset) => (offset === 15 && faults-- > 0 ? new Error('Kafka is away.') : undefined));
  expect(offsets.filter((each) => typeof each === 'number')).toEqual([...count(10, 20), ...count(30, 40)]);
  expect(notes).toEqual(['Kafka is away. It is tried again.\n']);
});

it('does not try again where that helps nobody', async () => {
  await expect(readAll((offset) => (offset === 15 ? new TypeError('a bug') : undefined))).rejects.toThrow('a bug');
});
