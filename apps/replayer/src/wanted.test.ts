import type { ReplayPlan } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { wantedBy } from './wanted.ts';

const plan = (by: 'broker' | 'event', where?: readonly string[]): ReplayPlan => ({
  attempt: 'a',
  madeAtMs: 0,
  stream: 's',
  into: 'indexer',
  window: { fromMs: 1000, toMs: 2000, by, skewMs: 0 },
  ...(where === undefined ? {} : { where }),
  partitions: [],
});
const record = (timestampMs: number, value: string | null) => ({
  offset: 1,
  timestampMs,
  key: null,
  value: value === null ? null : Buffer.from(value),
  headers: [],
});
const at = (ms: number): string => JSON.stringify({ timestamp: new Date(ms).toISOString(), service: 'a' });

it('by the time of arrival: the first instant is in the window, the last one is not', () => {
  const isWanted = wantedBy(plan('broker'));
  expect([999, 1000, 1999, 2000].map((ms) => isWanted(record(ms, at(1500))))).toEqual([false, true, true, false]);
});

it('by the event’s own time, and by its arrival where it names none', () => {
  const isWanted = wantedBy(plan('event'));
  expect([999, 1000, 1999, 2000].map((ms) => isWanted(record(0, at(ms))))).toEqual([false, true, true, false]);
  for (const value of [null, 'no JSON', '7', '{}', '{"timestamp":"2026-02-30T00:00:00Z"}', '{"timestamp":7}'])
    expect([isWanted(record(1500, value)), isWanted(record(2500, value))]).toEqual([true, false]);
  // Finer than a millisecond: still before the end.
  expect(isWanted(record(0, '{"timestamp":"1970-01-01T00:00:01.999999999Z"}'))).toBe(true);
});

it('all conditions must hold, and a record without a value meets none', () => {
  const isWanted = wantedBy(plan('broker', ['service = a', 'status_code >= 500']));
  expect(isWanted(record(1500, '{"service":"a","status_code":503}'))).toBe(true);
  expect(isWanted(record(1500, '{"service":"a","status_code":200}'))).toBe(false);
  expect(isWanted(record(1500, '{"service":"b","status_code":503}'))).toBe(false);
  expect(isWanted(record(1500, null))).toBe(false);
});
