import type { AlertTotals } from './alert-totals.ts';
import { type PostCounts, pause } from './poster.ts';
import type { ProgressReader } from './progress.ts';
import type { SinkCounts } from './sink-counts.ts';

/** The last line of `--once`. `indexed` and `archived` are counted in the sinks, `alerts` where they are told. */
export interface OnceResult {
  readonly posted: number;
  readonly accepted: number;
  readonly rejected: number;
  readonly indexed: number;
  readonly archived: number;
  /** How many alerts began by what was posted; null where ALERT_NOTIFIERS names whom to tell. */
  readonly alerts: number | null;
}

/** What is waited for, and counted. */
export interface Counting {
  readonly sinks: Pick<SinkCounts, 'indexed' | 'archived'>;
  readonly alerts: Pick<AlertTotals, 'decided' | 'fired'>;
}

const LOOK_MS = 500;
/** Without any progress for so long it will not come any more. */
const STALLED_MS = 90_000;

/**
 * Waits until the groups have settled what an earlier start left in the log, which would be counted as posted by this one. Resolves with
 * false when they have not within a minute and a half: others may post to the same servers.
 */
export async function waitForBacklog(reader: Pick<ProgressReader, 'read'>, signal: AbortSignal, limitMs = STALLED_MS): Promise<boolean> {
  const begunMs = performance.now();
  while (!signal.aborted && performance.now() - begunMs < limitMs) {
    const { lag } = await reader.read(LOOK_MS);
    if ([...lag.values()].every(({ value, silentSeconds }) => value === 0 && silentSeconds === 0)) return true;
    await pause(LOOK_MS, signal);
  }
  return false;
}

/**
 * Waits until everything accepted has reached both sinks (what they held `before` does not count) and was decided upon for alerts, or until nothing
 * moves any more.
 */
export async function waitForSinks(
  posted: PostCounts,
  before: SinkTotals,
  { sinks, alerts }: Counting,
  signal: AbortSignal,
): Promise<OnceResult> {
  let last = { indexed: -1, archived: -1 };
  let movedMs = Date.now();
  for (;;) {
    const [now, decided] = await Promise.all([readSinks(sinks, last), alerts.decided()]);
    const indexed = now.indexed - before.indexed;
    const archived = now.archived - before.archived;
    const result = { posted: posted.posted, accepted: posted.accepted, rejected: posted.rejected, indexed, archived, alerts: alerts.fired };
    if (indexed >= posted.accepted && archived >= posted.accepted && decided) return result;
    if (now.indexed !== last.indexed || now.archived !== last.archived) movedMs = Date.now();
    if (signal.aborted || Date.now() - movedMs > STALLED_MS) return result;
    last = now;
    await pause(LOOK_MS, signal);
  }
}

export interface SinkTotals {
  readonly indexed: number;
  readonly archived: number;
}

/** Counts both sinks. One that does not answer now counts as it was: the caller looks again. */
async function readSinks(counts: Counting['sinks'], last: SinkTotals): Promise<SinkTotals> {
  const [indexed, archived] = await Promise.allSettled([counts.indexed(true), counts.archived()]);
  return {
    indexed: indexed.status === 'fulfilled' ? indexed.value : last.indexed,
    archived: archived.status === 'fulfilled' ? archived.value : last.archived,
  };
}
