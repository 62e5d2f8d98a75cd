import { expect, it } from 'vitest';
import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import type { RawRecord } from '../records.ts';
import { readRangesWith } from './read-ranges.ts';

const END = 10;

/** A client that has read to the log's end, and still has records that it has not delivered: those at `offsets`, two a poll. */
function clientAhead(offsets: readonly number[]): BrokerConsumer {
  const waiting = offsets.map(
    (offset): RawRecord => ({ topic: 't', partition: 0, offset, timestampMs: 0, key: null, value: Buffer.from('v'), headers: [] }),
  );
  return {
    connect: async () => {},
    assign: () => {},
    unassign: () => {},
    poll: async () => waiting.splice(0, 2),
    fetchPosition: () => END,
    close: async () => {},
  } as Partial<BrokerConsumer> as BrokerConsumer;
}

async function readAll(offsets: readonly number[]): Promise<number[]> {
  const seen: number[] = [];
  for await (const records of readRangesWith(clientAhead(offsets), [{ topic: 't', partition: 0, from: 0, to: END }]))
    seen.push(...records.map(({ offset }) => offset));
  return seen;
}

it('a range is read to its end however far the client has read ahead of what it has delivered', async () => {
  const all = Array.from({ length: END }, (_, offset) => offset);
  expect(await readAll(all)).toEqual(all);
});

it('a range that ends in offsets without a record ends when the client has read past them', async () => {
  expect(await readAll([0, 1, 2])).toEqual([0, 1, 2]);
  expect(await readAll([])).toEqual([]);
});
