import { setImmediate as nextTurn } from 'node:timers/promises';
import { checkEventBytes, keyOf, type Line, serviceEventHeaders, splitNdjson } from '@tailrace/events';
import type { OutgoingRecord } from '@tailrace/kafka-kit';
import { answer, Refusal } from '../answers.ts';
import type { BodyFormat } from './body-format.ts';
import { placesInJson } from './json-elements.ts';
import { Rejections } from './rejections.ts';

export interface EventLimits {
  readonly topic: string;
  readonly maxEventBytes: number;
  readonly maxEvents: number;
  readonly requireCustomerId: boolean;
}

/** The events of one body: the valid ones as records, each with its line, and the others with why. */
export interface Intake {
  readonly records: readonly OutgoingRecord[];
  /** The line of each record, in step with `records`. */
  readonly lines: readonly number[];
  /** The bytes of the records' keys, values and headers. */
  readonly bytes: number;
  readonly withoutKey: number;
  readonly rejections: Rejections;
}

/** Events are checked in slices of this many bytes, so that a large body (5 us an event) does not hold up the other posts. */
const SLICE_BYTES = 128 * 1024;

const HEADER_BYTES = serviceEventHeaders.reduce((sum, [name, value]) => sum + name.length + (value?.length ?? 0), 0);

/**
 * Finds and checks the events of a body. A record's value is the event's own bytes, never written anew.
 * @throws Refusal when the body as a whole is at fault: nothing in it (400), not JSON (400), too many events (413).
 */
export async function readEvents(body: Buffer, format: BodyFormat, limits: EventLimits): Promise<Intake> {
  const { topic, maxEventBytes, requireCustomerId } = limits;
  const rules = { maxBytes: maxEventBytes, requireCustomerId };
  const rejections = new Rejections();
  const records: OutgoingRecord[] = [];
  const lines: number[] = [];
  let bytes = 0;
  let withoutKey = 0;
  let sliceEnd = SLICE_BYTES;
  for (const { line, start, end } of placesOf(body, format, limits.maxEvents)) {
    if (end > sliceEnd) {
      await nextTurn();
      sliceEnd = end + SLICE_BYTES;
    }
    const value = body.subarray(start, end);
    const checked = checkEventBytes(value, rules);
    if ('problem' in checked) {
      if (value.length > maxEventBytes) rejections.addTooLarge(line, checked.problem.reason);
      else rejections.addInvalid(line, checked.problem);
      continue;
    }
    const key = keyOf(checked.event);
    records.push({ topic, key, value, headers: serviceEventHeaders });
    lines.push(line);
    bytes += value.length + (key?.length ?? 0) + HEADER_BYTES;
    if (key === null) withoutKey++;
  }
  return { records, lines, bytes, withoutKey, rejections };
}

function placesOf(body: Buffer, format: BodyFormat, maxEvents: number): readonly Line[] {
  if (format === 'json') {
    const found = placesInJson(body, maxEvents);
    if ('places' in found) return some(found.places);
    throw found.fault === 'too-many' ? tooMany(maxEvents) : new Refusal(answer('invalid_json'));
  }
  if (hasMoreLinesThan(maxEvents, body)) throw tooMany(maxEvents);
  const places = splitNdjson(body);
  // Without a line end the last line was not counted.
  if (places.length > maxEvents) throw tooMany(maxEvents);
  return some(places);
}

function some(places: readonly Line[]): readonly Line[] {
  if (places.length === 0) throw new Refusal(answer('empty_body'));
  return places;
}

const LF = 10;

/** Counts before anything is built of the lines; a line that is not blank has two bytes, so most bodies need no counting. */
function hasMoreLinesThan(max: number, body: Buffer): boolean {
  if (body.length <= 2 * max) return false;
  let count = 0;
  for (let at = body.indexOf(LF); at !== -1 && count <= max; at = body.indexOf(LF, at + 1)) count++;
  return count > max;
}

function tooMany(maxEvents: number): Refusal {
  return new Refusal(answer('too_many_events', `There may be ${maxEvents}.`));
}
