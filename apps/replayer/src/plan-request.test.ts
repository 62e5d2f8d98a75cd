import { ConfigError } from '@tailrace/service';
import { describe, expect, it } from 'vitest';
import { type PlanFlags, planRequest } from './plan-request.ts';

const NOW = Date.UTC(2026, 2, 3, 15);
const good: PlanFlags = { from: '2026-03-03T14:00:00+01:00', to: '2026-03-03T13:40:00Z', into: 'indexer', by: 'broker' };

function refusal(flags: Partial<PlanFlags>): string {
  try {
    planRequest({ ...good, ...flags }, NOW, 14);
  } catch (fault) {
    if (fault instanceof ConfigError) return fault.lines.join('\n');
    throw fault;
  }
  return 'taken';
}

it('a window is taken with any zone, by the broker’s time', () => {
  expect(planRequest(good, NOW, 14)).toEqual({
    into: 'indexer',
    window: { fromMs: Date.UTC(2026, 2, 3, 13), toMs: Date.UTC(2026, 2, 3, 13, 40), by: 'broker', skewMs: 0 },
  });
});

it('an end between two milliseconds leaves nothing of the first one out, and takes nothing of the second one in', () => {
  const { window } = planRequest({ ...good, from: '2026-03-03T13:00:00.0001Z', to: '2026-03-03T13:00:00.001000001Z' }, NOW, 14);
  expect([window.fromMs, window.toMs].map((ms) => ms - Date.UTC(2026, 2, 3, 13))).toEqual([1, 2]);
});

it.each([
  [undefined, 3_600_000],
  ['90s', 90_000],
  ['15m', 900_000],
  ['2h', 7_200_000],
  ['30d', 2_592_000_000],
])('--by event with --skew %s', (skew, skewMs) => {
  expect(planRequest({ ...good, by: 'event', ...(skew === undefined ? {} : { skew }) }, NOW, 60).window).toMatchObject({
    by: 'event',
    skewMs,
  });
});

it('what the indexer would skip for its age is taken with --keep, which is frozen with the conditions', () => {
  const flags = { ...good, from: '2025-01-01T00:00:00Z', keep: 30, where: ['service = checkout', 'status_code >= 500'] };
  expect(planRequest(flags, NOW, 14)).toMatchObject({ keepDays: 30, where: ['service = checkout', 'status_code >= 500'] });
  expect(planRequest({ ...good, from: '2026-02-17T00:00:00Z' }, NOW, 14)).not.toHaveProperty('keepDays');
});

describe('wrong use is one sentence', () => {
  it.each<[Partial<PlanFlags>, RegExp]>([
    [{ from: '2026-03-03T13:00:00' }, /^--from \S+ is no time with its zone: write it as in /],
    [{ from: 'yesterday' }, /^--from yesterday is no time with its zone/],
    [{ to: '2026-02-30T00:00:00Z' }, /^--to 2026-02-30T00:00:00Z is no time with its zone/],
    [{ from: '1772542800' }, /^--from 1772542800: write a time as in \S+, not in seconds or milliseconds\.$/],
    [{ from: '1970-01-21T12:22:22Z' }, /lies before 2001: were seconds taken for milliseconds\?$/],
    [{ from: '2026-03-03T13:40:00Z' }, /^--from must be earlier than --to: 2026-03-03T13:40:00\.000Z \(local .*\) is not earlier than /],
    [{ to: '2026-03-03T15:00:00.001Z' }, /^--to \S+ lies in the future: it is 2026-03-03T15:00:00\.000Z \(local .*\) now/],
    [{ into: 'archiver' }, /^--into archiver: the lake has them/],
    [{ into: 'alert-processor' }, /what would have fired is a backtest/],
    [{ into: 'indexr' }, /^--into indexr: there is no such consumer; name one of indexer\.$/],
    [{ into: 'constructor' }, /there is no such consumer/],
    [{ skew: '1h' }, /^--skew 1h is for windows by the event's own time: name --by event/],
    [{ by: 'event', skew: '1 hour' }, /^--skew 1 hour is no length of time up to 30d/],
    [{ by: 'event', skew: '31d' }, /^--skew 31d is no length of time up to 30d/],
    [{ where: ['service = "a"', 'colour = red'] }, /^--where colour = red: /],
    [
      { from: '2026-02-16T23:59:59Z' },
      /^The window reaches back to records of 2026-02-16T23:59:59\.000Z .* skips what arrived before 2026-02-17T00:00:00\.000Z .*--keep DAYS/,
    ],
    [{ from: '2026-02-17T00:30:00Z', by: 'event' }, /^The window reaches back to records of 2026-02-16T23:30:00\.000Z .*--keep DAYS/],
  ])('%j', (flags, sentence) => {
    expect(refusal(flags)).toMatch(sentence);
    expect(refusal(flags)).not.toContain('\n');
  });
});
