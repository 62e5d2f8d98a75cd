import { expect, it } from 'vitest';
import { FetchPositions } from './fetch-positions.ts';

const tp = { topic: 'events', partition: 3 };
const report = (next: number): string =>
  JSON.stringify({ topics: { events: { partitions: { '-1': { next_offset: 9 }, '3': { next_offset: next } } } } });

it('tells a position from the second report after an assign on: the first may be of before', () => {
  const positions = new FetchPositions();
  positions.report(report(5));
  expect(positions.of(tp)).toBeUndefined();
  positions.report(report(7));
  expect(positions.of(tp)).toBe(7);
  positions.forget(tp);
  positions.report(report(7));
  expect(positions.of(tp)).toBeUndefined();
});

it('logical offsets, other partitions and reports without topics tell nothing', () => {
  const positions = new FetchPositions();
  for (let i = 0; i < 3; i += 1) {
    positions.report(report(-1001));
    positions.report('{}');
  }
  expect([positions.of(tp), positions.of({ topic: 'events', partition: -1 })]).toEqual([undefined, undefined]);
});
