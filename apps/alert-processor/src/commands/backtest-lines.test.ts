import { expect, test } from 'vitest';
import { AT_MS } from '../notify/testing/notifications.ts';
import { backtestLines } from './backtest-lines.ts';

test('a group with controls in it moved the cursor of whoever looked at a backtest', () => {
  const group = JSON.stringify(['shop\u001b[2J\n']);
  const firing = { group, firedMs: AT_MS, overMs: AT_MS + 60_000, evidence: 'count 6 > 5 in 1 min' };
  const counts = { fired: 1, silenced: 0, again: 0, firingAtStart: 0, firingAtEnd: 0, otherGroups: 0, leftOut: 0 };
  const lines = backtestLines({
    fromMs: AT_MS - 60_000,
    toMs: AT_MS + 120_000,
    readFromMs: AT_MS - 120_000,
    reading: { records: { lake: 1, kafka: 2 }, unreadable: [] },
    rules: [
      {
        rule: 'errors',
        ...counts,
        firstMs: AT_MS,
        lastMs: AT_MS,
        longest: firing,
        days: [{ day: '2026-01-01', fired: 1 }],
        groups: [{ group, fired: 1 }],
        alerts: [firing],
      },
    ],
  });
  expect(lines).toContain('  by group: shop\\u{1b}[2J\\u{a} 1');
  expect(lines.filter((line) => /\p{Cc}/u.test(line))).toEqual([]);
});
