import { expect, it } from 'vitest';
import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import type { RawRecord } from '../records.ts';
import { readRangesWith } from './read-ranges.ts';

const tp = { topic: 't', partition: 0 };

/** A client that has fetched everything up to `fetched`, and gives it out ten records at a time; one poll in three gives nothing all the same. */
function clientWith(offsets: readonly number[], fetched: number): BrokerConsumer {
  const waiting = offsets.map((offset): RawRecord => ({ ...tp, offset, timestampMs: 1, key: null, value: null, headers: [] }));
  let polls = 0;
  const used: Partial<BrokerConsumer> = {
    connect: async () => {},
    assign: () => {},
    unassign: () => {},
    poll: async () => (++polls % 3 === 0 ? [] : waiting.splice(0, 10)),
    fetchPosition: () => fetched,
    close: async () => {},
  };
  return used as BrokerConsumer;
}

async function offsetsRead(consumer: BrokerConsumer, to: number): Promise<readonly number[]> {
  const found: number[] = [];
  for await (const records of readRangesWith(consumer, [{ ...tp, from: 0, to }])) found.push(...records.map(({ offset }) => offset));
  return found;
}

const upTo = (end: number): number[] => Array.from({ length: end }, (_, offset) => offset);

it('a reader that is slower than its client loses nothing of what waits inside the client', async () => {
  expect(await offsetsRead(clientWith(upTo(120), 120), 100)).toEqual(upTo(100));
});

it('a range that ends in offsets without a record ends all the same', async () => {
  expect(await offsetsRead(clientWith(upTo(93), 100), 100)).toEqual(upTo(93));
});
