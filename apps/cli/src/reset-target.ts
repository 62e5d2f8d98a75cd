import { parseInstant } from '@tailrace/events';
import { ConfigError } from '@tailrace/service';

/** Where a group is to go on. */
export type ResetTarget =
  | { readonly kind: 'earliest' }
  | { readonly kind: 'latest' }
  | { readonly kind: 'time'; readonly text: string; readonly epochMs: number }
  | { readonly kind: 'offset'; readonly offset: number };

/** A time before it was meant as something else: a number of seconds read as milliseconds. */
const OLDEST_MS = Date.UTC(2001, 0, 1);

/** Reads `--to`. Throws ConfigError, which says what can be named. */
export function parseResetTarget(text: string, nowMs: number): ResetTarget {
  if (text === 'earliest' || text === 'latest') return { kind: text };
  const offset = /^offset:(\d+)$/.exec(text)?.[1];
  if (offset !== undefined) {
    if (!Number.isSafeInteger(Number(offset))) throw new ConfigError([`--to ${text}: no offset is as large as that.`]);
    return { kind: 'offset', offset: Number(offset) };
  }
  if (/^\d+$/.test(text))
    throw new ConfigError([
      `--to ${text}: write an offset as offset:${text}, and a time as in 2026-01-31T12:00:00Z, not in seconds or milliseconds.`,
    ]);
  const epochMs = parseInstant(text)?.epochMs;
  if (epochMs === undefined)
    throw new ConfigError([
      `--to ${text} is none of earliest, latest, offset:N and a time with its zone (such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00).`,
    ]);
  if (epochMs > nowMs) throw new ConfigError([`--to ${text} lies in the future: name a time until now, or latest for the end of the log.`]);
  if (epochMs < OLDEST_MS)
    throw new ConfigError([
      `--to ${text} lies before 2001: was a number of seconds taken for milliseconds? For the start of the log, name earliest.`,
    ]);
  return { kind: 'time', text, epochMs };
}
