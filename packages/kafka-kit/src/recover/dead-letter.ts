import type { OutgoingRecord } from '../publish/contract.ts';
import type { Coordinates, RawRecord } from '../records.ts';
import { isoTime } from '../time/iso-time.ts';
import { coordinateHeaders, decodeSideRecord, encodeSideRecord, header, type RecordParts, readCoordinates } from './side-record.ts';

/** A record that a group could not take, with its original bytes and what is known of why. */
export interface DeadLetter extends RecordParts {
  readonly group: string;
  /** A short fixed word. */
  readonly reason: string;
  readonly detail: string;
  /** Where the record stood at first, whatever side topics it went through since. */
  readonly origin: Coordinates;
  /** Where it came from last: the same, or its place in a side topic. */
  readonly via: Coordinates;
  /** How many times the sink was given it since it was read. */
  readonly attempts: number;
  /** How many times it was brought back from the dead letters. */
  readonly replays: number;
  readonly failedAtMs: number;
}

const MAX_REASON_BYTES = 128;
export const MAX_DETAIL_BYTES = 1024;

/** The dead letter as it is published: in the origin's partition, so that a partition's dead letters are found by its number. */
export function deadLetterRecord(letter: DeadLetter, topic: string): OutgoingRecord {
  const { origin, via, key, value, headers } = letter;
  const notes = [
    header('dlq.reason', cut(letter.reason, MAX_REASON_BYTES)),
    header('dlq.detail', cut(letter.detail, MAX_DETAIL_BYTES)),
    ...coordinateHeaders('dlq.source', origin),
    ...coordinateHeaders('dlq.via', via),
    header('dlq.group', letter.group),
    header('dlq.attempts', String(letter.attempts)),
    header('dlq.replays', String(letter.replays)),
    header('dlq.failed_at', isoTime(letter.failedAtMs)),
  ];
  return { topic, partition: origin.partition, ...encodeSideRecord({ origin, notes, key, value, headers }) };
}

/** A record of a dead-letter topic; undefined for one that somebody else put there. */
export function readDeadLetter(record: Pick<RawRecord, 'key' | 'value' | 'headers'>): DeadLetter | undefined {
  const side = decodeSideRecord(record);
  if (side === undefined) return undefined;
  const read = (name: string): string | undefined => noteOf(side.notes, name);
  const origin = readCoordinates('dlq.source', read);
  const via = readCoordinates('dlq.via', read);
  const reason = read('dlq.reason');
  const failedAtMs = Date.parse(read('dlq.failed_at') ?? '');
  if (origin === undefined || via === undefined || reason === undefined || Number.isNaN(failedAtMs)) return undefined;
  return {
    key: side.key,
    value: side.value,
    headers: side.headers,
    origin,
    via,
    reason,
    detail: read('dlq.detail') ?? '',
    group: read('dlq.group') ?? '',
    attempts: count(read('dlq.attempts')),
    replays: count(read('dlq.replays')),
    failedAtMs,
  };
}

/** How many times a record of a side topic was brought back from the dead letters. */
export function replaysOf(notes: DeadLetter['headers']): number {
  return count(noteOf(notes, 'dlq.replays'));
}

function noteOf(notes: DeadLetter['headers'], name: string): string | undefined {
  return notes.find(([each]) => each === name)?.[1]?.toString('utf8');
}

function count(text: string | undefined): number {
  return /^\d{1,9}$/.test(text ?? '') ? Number(text) : 0;
}

/** At most so many bytes of UTF-8, never half of a character. */
function cut(text: string, maxBytes: number): Buffer {
  const bytes = Buffer.from(text);
  let end = Math.min(bytes.length, maxBytes);
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}
