import { expect, it } from 'vitest';
import { bothTimes, span } from './times.ts';

it('a time is written in UTC and by the zone of this machine, and both are the same instant', () => {
  const ms = Date.UTC(2026, 2, 1, 9, 5, 7, 45);
  const [, utc, day, time, zone] = /^(\S+Z) \(local (\S+) (\S+) ([+-]\d\d:\d\d)\)$/.exec(bothTimes(ms)) ?? [];
  expect(utc).toBe('2026-03-01T09:05:07.045Z');
  expect(Date.parse(`${day}T${time}.045${zone}`)).toBe(ms);
});

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [59_999, '59 s'],
  [2_400_000, '40 min'],
  [2_461_000, '41 min 1 s'],
  [3_600_000, '1 h'],
  [183_600_000, '2 d 3 h'],
])('%d ms are %s', (ms, text) => {
  expect(span(ms)).toBe(text);
});
