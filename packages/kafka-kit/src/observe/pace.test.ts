import { expect, it } from 'vitest';
import { Pace, SLOW_LOOP_RESPONSE } from './pace.ts';

const LIMIT_MS = 300_000;

function paced() {
  const lines: string[] = [];
  let nowMs = 0;
  const write = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const pace = new Pace(LIMIT_MS, { warn: write('warn'), info: write('info') }, { nowMs: () => nowMs });
  return {
    pace,
    lines,
    /** A poll that comes so long after the one before. */
    poll(sinceLastPollMs: number): void {
      nowMs += sinceLastPollMs;
      pace.see({ kind: 'polled', records: 1, sinceLastPollMs });
    },
    drain(why: 'revoke' | 'stop', tookMs: number): void {
      nowMs += tookMs;
      pace.see({ kind: 'drained', why, tookMs, abandonedRecords: 0, stuck: [] });
    },
  };
}

it('a loop that polls well within the limit is told nowhere', () => {
  const { pace, lines, poll } = paced();
  expect(pace.pollP99Ms()).toBeUndefined();
  for (let i = 0; i < 10; i += 1) poll(90_000);
  expect(pace.health().state).toBe('ok');
  expect(lines).toEqual([]);
});

it('polls that take more than a third of max.poll.interval.ms are told once, with the response, and once more when they are mended', () => {
  const { pace, lines, poll } = paced();
  for (let i = 0; i < 5; i += 1) poll(150_000);
  const sentence = `The time between two polls (p99) is 150 s, above a third of max.poll.interval.ms (300 s). ${SLOW_LOOP_RESPONSE}`;
  expect(lines).toEqual([`warn: ${sentence}`]);
  expect(pace.health()).toEqual({ state: 'degraded', sentence });
  for (let i = 0; i < 13_000; i += 1) poll(50);
  expect(lines.slice(1)).toEqual(['info: polls and drains are within what the group allows again']);
  expect(pace.health().state).toBe('ok');
});

it('one long interval among many short ones is no finding: the 99th percentile counts', () => {
  const { lines, poll } = paced();
  for (let i = 0; i < 1000; i += 1) poll(50);
  poll(200_000);
  expect(lines).toEqual([]);
});

it('drains before a rebalance count against the rebalance timeout, those of a stop do not', () => {
  const { pace, lines, drain, poll } = paced();
  drain('stop', 400_000);
  poll(2000);
  expect([pace.drainP99Ms(), pace.health().state]).toEqual([undefined, 'ok']);
  drain('revoke', 400_000);
  expect(lines).toEqual([
    `warn: The time to drain before a rebalance (p99) is 400 s, above the rebalance timeout (300 s). ${SLOW_LOOP_RESPONSE}`,
  ]);
});
