import type { Headers } from '@tailrace/kafka-kit';
import { dayOf } from './index-names.ts';

const DAY_MS = 86_400_000;
const NOTE = 'replay.keep_days';
const DAYS = /^[1-9]\d{0,4}$/;

/** For how many days a replayed record's index is to stand, by the note of a plan that was made with `--keep`; undefined without one. */
export function keepDaysOf(notes: Headers): number | undefined {
  const text = notes.find(([name]) => name === NOTE)?.[1]?.toString('latin1');
  return text !== undefined && DAYS.test(text) ? Number(text) : undefined;
}

/** When an index may go that is kept for so many days from now: at the end of a day (UTC), so that it is written down once a day at most. */
export function expiryOf(nowMs: number, days: number): number {
  return dayOf(nowMs) + (days + 1) * DAY_MS;
}
