import { expect, test } from 'vitest';
import type { StateRecord } from '../decide/alert-state.ts';
import { StateFold } from './state-fold.ts';

const record = (epoch: number, watermarkMs: number): StateRecord => ({ kind: 'partition', partition: 0, watermarkMs, epoch, owner: 'a' });

function folded(...records: readonly (readonly [key: string, value: StateRecord | string | null, partition?: number])[]): StateFold {
  const fold = new StateFold();
  for (const [key, value, partition = 0] of records) {
    const text = value === null || typeof value === 'string' ? value : JSON.stringify(value);
    fold.take({ partition, key: Buffer.from(key), value: text === null ? null : Buffer.from(text) });
  }
  return fold;
}

test('of a key the highest epoch counts, of one epoch the last record', () => {
  expect(folded(['p', record(2, 10)], ['p', record(2, 20)], ['p', record(1, 30)]).partitions).toEqual([record(2, 20)]);
  expect(folded(['p', record(1, 30)], ['p', record(2, 10)]).partitions).toEqual([record(2, 10)]);
});

test('a tombstone deletes its key in its own partition only', () => {
  expect(folded(['p', record(2, 10)], ['p', record(3, 20), 1], ['p', null]).partitions).toEqual([record(3, 20)]);
});

test('what can not be read is counted, and hides nothing', () => {
  const fold = folded(['p', record(2, 10)], ['p', '{'], ['q', '{"kind":"other","epoch":1}'], ['r', 'null'], ['s', '{"kind":"alert"}']);
  expect([fold.partitions.length, fold.unreadable]).toEqual([1, 4]);
});
