import { type EventFilter, filterMatches, parseFilter, parseInstant } from '@tailrace/events';
import type { HistoryRecord } from '@tailrace/kafka-kit';
import { isWanted, type ReplayPlan } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';

/** Reads conditions as they were typed. Throws ConfigError: one sentence. */
export function parseConditions(texts: readonly string[]): readonly EventFilter[] {
  return texts.map((text) => {
    const parsed = parseFilter(text);
    if ('problem' in parsed) throw new ConfigError([`--where ${text}: ${parsed.problem}`]);
    return parsed.filter;
  });
}

/** Which records of a plan's ranges are to be sent: those of its window for which all its conditions hold. */
export function wantedBy({ window, where = [] }: ReplayPlan): (record: HistoryRecord) => boolean {
  const filters = parseConditions(where);
  const timeOf = window.by === 'broker' ? ({ timestampMs }: HistoryRecord) => timestampMs : eventTimeMs;
  return (record) => {
    if (!isWanted(window, timeOf(record))) return false;
    return filters.every((filter) => record.value !== null && filterMatches(filter, record.value));
  };
}

/** The event's own time; of one that has none, when it arrived: no record is left out because it can not say. */
function eventTimeMs({ value, timestampMs }: HistoryRecord): number {
  const text = value === null ? undefined : timestampIn(value);
  return (typeof text === 'string' ? parseInstant(text)?.epochMs : undefined) ?? timestampMs;
}

function timestampIn(value: Buffer): unknown {
  try {
    const event: unknown = JSON.parse(value.toString('utf8'));
    return typeof event === 'object' && event !== null && 'timestamp' in event ? event.timestamp : undefined;
  } catch {
    // Safe: what is no JSON says no time, which is the answer.
    return undefined;
  }
}
