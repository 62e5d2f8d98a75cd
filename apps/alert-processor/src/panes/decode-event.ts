import { type EventKind, eventKind } from '@tailrace/events';
import { type Batch, isCalendarTime, type Outcome } from '@tailrace/kafka-kit';
import type { EventObject } from '../rules/rule.ts';

const skipped = (reason: string): Outcome => ({ kind: 'skipped', reason });

/** The outcomes of records that are no event of a rule: they count for time and offset only. */
export const SKIPPED = {
  'unknown-type': skipped('unknown-type'),
  'newer-major': skipped('newer-major'),
  empty: skipped('empty'),
  'not-an-object': skipped('not-an-object'),
  /** Of a topic that takes producers' times: taken for the broker's, it would close every pane of its partition for good. */
  'no-broker-time': skipped('no-broker-time'),
} as const;

export type SkipReason = keyof typeof SKIPPED;

const UNREADABLE: Readonly<Record<EventKind, SkipReason | undefined>> = {
  current: undefined,
  'newer-minor': undefined,
  'newer-major': 'newer-major',
  'unknown-type': 'unknown-type',
};

/** Record `i` as rules see it, or why it is no event of theirs. Never throws. */
export function decodeEvent(batch: Pick<Batch, 'headers' | 'timestampMs' | 'value'>, i: number): EventObject | SkipReason {
  if (!isCalendarTime(batch.timestampMs(i))) return 'no-broker-time';
  const why = UNREADABLE[eventKind(batch.headers(i))];
  if (why !== undefined) return why;
  const value = batch.value(i);
  if (value === null) return 'empty';
  try {
    const parsed: unknown = JSON.parse(value.toString('utf8'));
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as EventObject) : 'not-an-object';
  } catch {
    // Told as what it is: no JSON is no JSON object.
    return 'not-an-object';
  }
}
