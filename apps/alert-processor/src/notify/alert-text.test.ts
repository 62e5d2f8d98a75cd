import { expect, test } from 'vitest';
import { details, firstDecidedMs, sinceWords } from './alert-text.ts';
import type { Notification } from './notification.ts';
import { AT_MS, notification } from './testing/notifications.ts';

const since = (told: Notification): string | undefined => details(told).find(([name]) => name === 'Since')?.[1];

test('the window that an alert was decided from is not taken for when it began', () => {
  expect(since(notification())).toBe('2026-01-01T00:00:00.000Z, in the window from 2025-12-31T23:59:00.000Z');
  // What is told later knows only the window.
  const again = notification({ decidedMs: AT_MS + 3_600_000 });
  for (const key of ['again-1', 'resolved'])
    expect(since({ ...again, key: `${again.incident}/${key}` })).toBe('the window from 2025-12-31T23:59:00.000Z');
});

test('what a silence held back was not first decided when it was told', () => {
  const { evidence } = notification();
  const late = notification({ decidedMs: AT_MS + 600_000, evidence: { ...evidence, windowStartMs: AT_MS + 540_000 } });
  expect([firstDecidedMs(late), firstDecidedMs(notification())]).toEqual([undefined, AT_MS]);
});

test('a start that lies ahead, behind an earlier incident, is not told', () => {
  expect(sinceWords(AT_MS, AT_MS + 1)).toBe('2026-01-01T00:00:00.000Z');
  expect(sinceWords(AT_MS, AT_MS)).toBe('2026-01-01T00:00:00.000Z');
});
