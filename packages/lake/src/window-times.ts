import { parseInstant } from '@tailrace/events';
import type { TimeSpan } from './replay-plan.ts';
import { bothTimes } from './times.ts';

/** A time before it was meant as something else: a number of seconds read as milliseconds. */
const OLDEST_MS = Date.UTC(2001, 0, 1);

/** A window of time that somebody asked for: what is wrong with it, in one sentence, or its times. */
export type WindowTimes = TimeSpan | { readonly problem: string };

/** Reads `--from` and `--to`: times with a zone, in their order, and not in the future. */
export function windowTimes(from: string, to: string, nowMs: number): WindowTimes {
  const [fromMs, toMs] = [timeOf('--from', from), timeOf('--to', to)];
  if (typeof fromMs === 'string') return { problem: fromMs };
  if (typeof toMs === 'string') return { problem: toMs };
  if (fromMs >= toMs) return { problem: `--from must be earlier than --to: ${bothTimes(fromMs)} is not earlier than ${bothTimes(toMs)}.` };
  if (toMs > nowMs)
    return { problem: `--to ${to} lies in the future: it is ${bothTimes(nowMs)} now, and only what has arrived can be read.` };
  return { fromMs, toMs };
}

/** The first whole millisecond at or behind an instant: records have no finer times. Or what is wrong. */
function timeOf(option: string, text: string): number | string {
  if (/^\d+(\.\d+)?$/.test(text)) return `${option} ${text}: write a time as in 2026-01-31T12:00:00Z, not in seconds or milliseconds.`;
  const instant = parseInstant(text);
  if (instant === undefined)
    return `${option} ${text} is no time with its zone: write it as in 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00.`;
  if (instant.epochMs < OLDEST_MS) return `${option} ${text} lies before 2001: were seconds taken for milliseconds?`;
  return instant.nanosOfMs > 0 ? instant.epochMs + 1 : instant.epochMs;
}
