import { expect, test } from 'vitest';
import { expiryOf, keepDaysOf } from './kept-days.ts';

test.each([
  ['30', 30],
  ['1', 1],
  ['99999', 99_999],
  ['0', undefined],
  ['-3', undefined],
  ['3.5', undefined],
  ['123456', undefined],
  ['', undefined],
  ['30 days', undefined],
])('a note %j means %s days', (text, days) => {
  expect(keepDaysOf([['replay.keep_days', Buffer.from(text)]])).toBe(days);
});

test('no note, or a null one, keeps nothing', () => {
  expect(keepDaysOf([['replay.plan', Buffer.from('7')]])).toBeUndefined();
  expect(keepDaysOf([['replay.keep_days', null]])).toBeUndefined();
});

test('an expiry is the end of a day, and never earlier than the days that were asked for', () => {
  const noon = Date.UTC(2026, 2, 1, 12);
  expect(new Date(expiryOf(noon, 3)).toISOString()).toBe('2026-03-05T00:00:00.000Z');
  expect(expiryOf(noon, 3) - noon).toBeGreaterThanOrEqual(3 * 86_400_000);
});
