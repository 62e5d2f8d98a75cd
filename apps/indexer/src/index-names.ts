import { randomUUID } from 'node:crypto';
import { isoTime } from '@tailrace/kafka-kit';

const DAY_MS = 86_400_000;

/** The first millisecond of the UTC day that holds a time. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS) * DAY_MS;
}

/** `<name>-YYYY.MM.DD` for a day in UTC of the years 1 to 9999. */
export function indexOfDay(name: string, dayMs: number): string {
  return `${name}-${isoTime(dayMs).slice(0, 10).replaceAll('-', '.')}`;
}

/** The earliest day that is indexed: a record of an older one is beyond retention. */
export function firstDayKept(nowMs: number, retentionDays: number): number {
  return dayOf(nowMs) - retentionDays * DAY_MS;
}

/**
 * The alias that a daily index is written through. It stands only on an index that was found to be ours, and bulks ask for an
 * alias (`require_alias`): OpenSearch itself refuses what would go into an index that somebody else has made under the name.
 */
export function writeAliasOf(index: string): string {
  return `${index}-write`;
}

/**
 * A hidden alias that nobody else knows. It is set before a look, and exchanged for the write alias behind it, in one step that fails
 * where it is not there: so the index that gets the write alias is the one that the look has shown, and none that took its place.
 */
export function newCandidateAlias(index: string): string {
  return `${writeAliasOf(index)}-${randomUUID()}`;
}

export function isCandidateAlias(alias: string, index: string): boolean {
  return alias.startsWith(`${writeAliasOf(index)}-`);
}
