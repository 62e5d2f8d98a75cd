import { type GroupDeclaration, groups } from '@tailrace/events';
import { TAILRACE } from '@tailrace/kafka-kit';
import { bothTimes, type PlanWindow, spanOf, windowTimes } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';
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

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_SKEW_MS = 30 * 24 * HOUR_MS;
const UNIT_MS = { s: 1000, m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS } as const;
const DURATION = /^(\d{1,9})([smhd])$/;

/** Checks everything that can be said without a server. Throws ConfigError: one sentence. */
export function planRequest(flags: PlanFlags, nowMs: number): PlanRequest {
  const into = consumerNamed(flags.into);
  const times = windowTimes(flags.from, flags.to, nowMs);
  if ('problem' in times) throw new ConfigError([times.problem]);
  const window: PlanWindow = { ...times, by: flags.by, skewMs: skewOf(flags) };
  const { where, keep: keepDays } = flags;
  parseConditions(where ?? []);
  return { into, window, ...(where === undefined ? {} : { where }), ...(keepDays === undefined ? {} : { keepDays }) };
}

/**
 * The indexer skips a record whose day of arrival lies further back than `retentionDays`. Throws ConfigError for a window that reaches such days,
 * unless it is to keep them.
 */
export function refuseSkipped({ window, keepDays }: PlanRequest, nowMs: number, retentionDays: number): void {
  if (keepDays !== undefined) return;
  const firstKeptMs = Math.floor(nowMs / DAY_MS - retentionDays) * DAY_MS;
  const { fromMs } = spanOf(window);
  if (fromMs >= firstKeptMs) return;
  throw new ConfigError([
    `The window reaches back to records of ${bothTimes(fromMs)}, and the indexer skips what arrived before ${bothTimes(firstKeptMs)} (INDEX_RETENTION_DAYS is ${retentionDays}): give --keep DAYS, for how many days it is to keep them, or a later --from.`,
  ]);
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
