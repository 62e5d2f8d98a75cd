import { setImmediate as nextTurn } from 'node:timers/promises';
import { CANARY_SERVICE, checkEventBytes, keyOf, type Line, serviceEventHeaders, splitNdjson } from '@tailrace/events';
import type { OutgoingRecord } from '@tailrace/kafka-kit';
import { answer, Refusal } from '../answers.ts';
import type { BodyFormat } from './body-format.ts';
import { LF, OPEN_ARRAY, skipSpace } from './bytes.ts';
import { type Extent, extentOfDocument } from './document.ts';
import { placesInJson } from './json-elements.ts';
import { Rejections } from './rejections.ts';

export interface EventLimits {
  readonly topic: string;
  readonly maxEventBytes: number;
  readonly maxEvents: number;
  readonly requireCustomerId: boolean;
}

/** How a body was read: one event per line, the elements of an array, or one event. */
export type Layout = 'lines' | 'array' | 'one';

/** The events of one body: the valid ones as records, each with its line, and the others with why. */
export interface Intake {
  readonly records: readonly OutgoingRecord[];
  /** The line of each record, in step with `records`. */
  readonly lines: readonly number[];
  /** The bytes of the records' keys, values and headers. */
  readonly bytes: number;
  readonly withoutKey: number;
  /** Which of the records are tailrace's own canaries. */
  readonly canaries: readonly number[];
  readonly rejections: Rejections;
  readonly layout: Layout;
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
  const canaries: number[] = [];
  let bytes = 0;
  let withoutKey = 0;
  let sliceEnd = SLICE_BYTES;
  const { places, layout } = placesOf(body, format, limits.maxEvents);
  for (const { line, start, end } of places) {
    if (end > sliceEnd) {
      await nextTurn();
      sliceEnd = end + SLICE_BYTES;
    }
    const value = body.subarray(start, end);
    const checked = checkEventBytes(value, rules);
    if ('problem' in checked) {
      const { problem } = checked;
      // Asked only where the first line is no JSON object, so that bodies of good lines pay nothing for it.
      const isFirst = layout === 'lines' && lines.length + rejections.count === 0;
      if (isFirst && problem.field === null && isOneEventOverLines(body, format)) return readEvents(body, 'json', limits);
      if (value.length > maxEventBytes) rejections.addTooLarge(line, problem.reason);
      else rejections.addInvalid(line, problem);
      continue;
    }
    const key = keyOf(checked.event);
    if (checked.event.service === CANARY_SERVICE) canaries.push(records.length);
    records.push({ topic, key, value, headers: serviceEventHeaders });
    lines.push(line);
    bytes += value.length + (key?.length ?? 0) + HEADER_BYTES;
    if (key === null) withoutKey++;
  }
  return { records, lines, bytes, withoutKey, canaries, rejections, layout };
}

/** Where the events of a body stand, and how it was read. */
function placesOf(body: Buffer, format: BodyFormat, maxEvents: number): { readonly places: readonly Line[]; readonly layout: Layout } {
  const isArray = body[skipSpace(body)] === OPEN_ARRAY;
  if (format === 'json' || (format !== 'ndjson' && isArray)) {
    const found = placesInJson(body, maxEvents);
    if ('places' in found) return { places: some(found.places), layout: isArray ? 'array' : 'one' };
    throw found.fault === 'too-many' ? tooMany(maxEvents) : new Refusal(answer('invalid_json', found.reason));
  }
  const places = hasMoreLinesThan(maxEvents, body) ? undefined : splitNdjson(body);
  // Without a line end the last line was not counted.
  if (places !== undefined && places.length <= maxEvents) return { places: some(places), layout: 'lines' };
  if (isOneEventOverLines(body, format)) return placesOf(body, 'json', maxEvents);
  throw tooMany(maxEvents);
}

/**
 * Whether a body of which no type says how it is read is one event that goes over several lines.
 * @throws Refusal where lines would keep a part of a document: a part that happens to be an event on a line of its own.
 */
function isOneEventOverLines(body: Buffer, format: BodyFormat): boolean {
  const extent = extentOfDocument(body);
  if (extent === 'line') return false;
  if (format !== 'ndjson') {
    if (extent === 'whole') return true;
    throw new Refusal(answer('event_over_lines', EXTENT_HINTS[extent]));
  }
  // The type says lines: only what is certainly none is taken for something else.
  if (extent === 'whole') throw new Refusal(answer('event_over_lines', EXTENT_HINTS.whole));
  return false;
}

const EXTENT_HINTS: Readonly<Record<Exclude<Extent, 'line'>, string>> = {
  whole: 'The content type says NDJSON: post it as application/json, or write each event on one line.',
  'goes-on': 'More stands behind its end: write each event on one line, or all of them in one array.',
  'cut-off': 'It has no end, as if the body was cut off.',
};

function some(places: readonly Line[]): readonly Line[] {
  if (places.length === 0) throw new Refusal(answer('empty_body'));
  return places;
}

/** Counts before anything is built of the lines; a line that is not blank has two bytes, so most bodies need no counting. */
function hasMoreLinesThan(max: number, body: Buffer): boolean {
  if (body.length <= 2 * max) return false;
  let count = 0;
  for (let at = body.indexOf(LF); at !== -1 && count <= max; at = body.indexOf(LF, at + 1)) count++;
  return count > max;
}

function tooMany(maxEvents: number): Refusal {
  return new Refusal(answer('too_many_events', `A post may hold ${maxEvents} (GATEWAY_MAX_EVENTS).`));
}
