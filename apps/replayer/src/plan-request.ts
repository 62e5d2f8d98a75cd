import { type GroupDeclaration, groups, parseInstant } from '@tailrace/events';
import { TAILRACE } from '@tailrace/kafka-kit';
import { type PlanWindow, spanOf } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
import { bothTimes } from './times.ts';
import { parseConditions } from './wanted.ts';

/** What `plan` is asked for, as it was typed. */
export interface PlanFlags {
  readonly from: string;
  readonly to: string;
  readonly into: string;
  readonly by: PlanWindow['by'];
  readonly skew?: string;
  readonly where?: readonly string[];
  readonly keep?: number;
}

export interface PlanRequest {
  readonly into: string;
  readonly window: PlanWindow;
  readonly where?: readonly string[];
  readonly keepDays?: number;
}

/** A time before it was meant as something else: a number of seconds read as milliseconds. */
const OLDEST_MS = Date.UTC(2001, 0, 1);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_SKEW_MS = 30 * 24 * HOUR_MS;
const UNIT_MS = { s: 1000, m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS } as const;
const DURATION = /^(\d{1,9})([smhd])$/;

/** Checks everything that can be said without a server. `retentionDays`: how far back the indexer takes records. Throws ConfigError: one sentence. */
export function planRequest(flags: PlanFlags, nowMs: number, retentionDays: number): PlanRequest {
  const into = consumerNamed(flags.into);
  const fromMs = timeOf('--from', flags.from);
  const toMs = timeOf('--to', flags.to);
  if (fromMs >= toMs)
    throw new ConfigError([`--from must be earlier than --to: ${bothTimes(fromMs)} is not earlier than ${bothTimes(toMs)}.`]);
  if (toMs > nowMs)
    throw new ConfigError([`--to ${flags.to} lies in the future: it is ${bothTimes(nowMs)} now, and a plan is of what has arrived.`]);
  const window: PlanWindow = { fromMs, toMs, by: flags.by, skewMs: skewOf(flags) };
  const { where, keep: keepDays } = flags;
  parseConditions(where ?? []);
  if (keepDays === undefined) refuseSkipped(window, nowMs, retentionDays);
  return { into, window, ...(where === undefined ? {} : { where }), ...(keepDays === undefined ? {} : { keepDays }) };
}

/** The indexer skips a record whose day of arrival lies further back than it keeps indices. */
function refuseSkipped(window: PlanWindow, nowMs: number, retentionDays: number): void {
  const firstKeptMs = Math.floor(nowMs / DAY_MS - retentionDays) * DAY_MS;
  const { fromMs } = spanOf(window);
  if (fromMs >= firstKeptMs) return;
  throw new ConfigError([
    `The window reaches back to records of ${bothTimes(fromMs)}, and the indexer skips what arrived before ${bothTimes(firstKeptMs)} (INDEX_RETENTION_DAYS is ${retentionDays}): give --keep DAYS, for how many days it is to keep them, or a later --from.`,
  ]);
}

/** The first whole millisecond at or behind an instant: records have no finer times. */
function timeOf(option: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text))
    throw new ConfigError([`${option} ${text}: write a time as in 2026-01-31T12:00:00Z, not in seconds or milliseconds.`]);
  const instant = parseInstant(text);
  if (instant === undefined)
    throw new ConfigError([
      `${option} ${text} is no time with its zone: write it as in 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00.`,
    ]);
  if (instant.epochMs < OLDEST_MS) throw new ConfigError([`${option} ${text} lies before 2001: were seconds taken for milliseconds?`]);
  return instant.nanosOfMs > 0 ? instant.epochMs + 1 : instant.epochMs;
}

function skewOf({ by, skew }: PlanFlags): number {
  if (by === 'broker') {
    if (skew !== undefined)
      throw new ConfigError([`--skew ${skew} is for windows by the event's own time: name --by event with it, or leave it out.`]);
    return 0;
  }
  if (skew === undefined) return HOUR_MS;
  const [, count, unit] = DURATION.exec(skew) ?? [];
  const skewMs = Number(count) * UNIT_MS[(unit ?? 's') as keyof typeof UNIT_MS];
  if (count === undefined || skewMs > MAX_SKEW_MS)
    throw new ConfigError([`--skew ${skew} is no length of time up to 30d: write it as in 90s, 15m, 1h or 2d.`]);
  return skewMs;
}

/** Why a group takes no replay, where it is not simply that nothing of this release does. */
const REFUSED = new Map([
  [
    'archiver',
    `--into archiver: the lake has them; ${TAILRACE} lake query looks at them, and ${TAILRACE} lake audit shows whether any is missing.`,
  ],
  [
    'alert-processor',
    '--into alert-processor: what would have fired is a backtest of a rule, and no replay: nobody is to be woken for it.',
  ],
]);

function consumerNamed(name: string): string {
  const refused = REFUSED.get(name);
  if (refused !== undefined) throw new ConfigError([refused]);
  const all: readonly GroupDeclaration[] = groups;
  const takers = all.filter(({ state, sideTopics }) => state === 'active' && sideTopics.includes('replay'));
  if (takers.some((group) => group.name === name)) return name;
  throw new ConfigError([`--into ${name}: there is no such consumer; name one of ${takers.map((group) => group.name).join(', ')}.`]);
}
