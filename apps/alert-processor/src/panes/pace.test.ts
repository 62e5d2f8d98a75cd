import { expect, it } from 'vitest';
import { tickLengthMs } from './pace.ts';

it('a tick is as long as it is set, longer under load, and never longer than a second for it', () => {
  expect([0, 7500, 15_000, 30_000, 1_000_000].map((cells) => tickLengthMs(250, cells))).toEqual([250, 250, 500, 1000, 1000]);
  expect(tickLengthMs(2000, 1_000_000)).toBe(2000);
});
