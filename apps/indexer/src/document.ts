import { isUtf8 } from 'node:buffer';
import { isInstant, type Member, objectMembers, parseInstant, serviceEventFields, validateEvent } from '@tailrace/events';
import type { ByteWriter } from './byte-writer.ts';

/** Why a record's value can not become a document: a short fixed word, and a sentence for people. */
export interface BadValue {
  readonly reason: 'no-value' | 'not-utf8' | 'not-json' | 'not-an-object' | 'invalid-field';
  readonly detail: string;
}

type Parsed = Readonly<Record<string, unknown>>;

const knownNames: ReadonlySet<string> = new Set(serviceEventFields.map((field) => field.name));
const OPENING_BRACE = 0x7b;
const COMMA = 0x2c;

/** The zones that OpenSearch knows. */
const ZONE = /(Z|[+-](0\d|1[0-7]):\d\d|[+-]18:00)$/;

/** Whether OpenSearch's `strict_date_optional_time` reads an instant as it stands: it knows no lower case, no second 60 and no zone beyond 18 hours. */
function isIndexable(timestamp: unknown): boolean {
  if (typeof timestamp !== 'string' || !isInstant(timestamp)) return false;
  return timestamp[10] === 'T' && timestamp[17] !== '6' && (timestamp.endsWith('Z') || ZONE.test(timestamp));
}

/** Whether the event can be indexed byte for byte: all its fields are the table's, so none collides with ours or surprises OpenSearch. */
function isPlain(event: Parsed): boolean {
  for (const name in event) if (!knownNames.has(name)) return false;
  return isIndexable(event.timestamp);
}

type Read = { readonly event: Parsed; readonly text: string } | { readonly bad: BadValue };

function read(value: Buffer | null): Read {
  if (value === null) return { bad: { reason: 'no-value', detail: 'the record has no value' } };
  const text = value.toString('utf8');
  // Decoding puts U+FFFD in place of each bad byte, so text without one came from valid bytes.
  if (text.includes('\ufffd') && !isUtf8(value)) return { bad: { reason: 'not-utf8', detail: 'the value is not valid UTF-8' } };
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // JSON.parse throws only for text that is not JSON.
    return { bad: { reason: 'not-json', detail: 'the value is not valid JSON' } };
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    return { bad: { reason: 'not-an-object', detail: 'the value is not a JSON object' } };
  }
  return { event: event as Parsed, text };
}

/**
 * Appends a record's value as the rest of a document whose first members are already written: `,"member":...}`. The value's own
 * bytes are used wherever they can be. Gives what is wrong with a value that can not be one; what was written is useless then.
 */
export function writeDocument(value: Buffer | null, out: ByteWriter): BadValue | undefined {
  const got = read(value);
  if ('bad' in got) return got.bad;
  const bytes = value as Buffer;
  const start = out.length;
  if (isPlain(got.event)) {
    out.copy(bytes);
    // The value's own opening brace becomes the comma behind our members. White space before it stays, as JSON allows.
    out.overwriteByte(start + (bytes[0] === OPENING_BRACE ? 0 : bytes.indexOf(OPENING_BRACE)), COMMA);
  } else {
    const bad = writeRearranged(bytes, got.event, got.text, out);
    if (bad !== undefined) return bad;
    out.ascii('}');
  }
  if (got.text.includes('\n') || got.text.includes('\r')) out.blankLineEnds(start);
  return undefined;
}

/**
 * The value's own members in another place: fields outside the table go under `attributes`, where any name is harmless, and a
 * timestamp that OpenSearch can not read is left out. Of a name that occurs twice the last member counts.
 */
function writeRearranged(bytes: Buffer, event: Parsed, text: string, out: ByteWriter): BadValue | undefined {
  const members = new Map<string, Member>();
  for (const member of objectMembers(bytes)) members.set(member.name, member);
  const own = members.get('attributes');
  const unknown = [...members.values()].filter((member) => !knownNames.has(member.name));
  for (const member of members.values()) {
    const moved = unknown.length > 0 && member === own;
    if (!knownNames.has(member.name) || moved || (member.name === 'timestamp' && !isIndexable(event.timestamp))) continue;
    out.ascii(',');
    out.copy(bytes.subarray(member.start, member.end));
  }
  if (unknown.length > 0) {
    const attributes = ownAttributes(bytes, own, event.attributes);
    if (attributes === undefined) return { reason: 'invalid-field', detail: 'attributes must be an object' };
    const taken = new Set(attributes.map((part) => part.name));
    const merged = [...attributes, ...unknown.filter((member) => !taken.has(member.name)).map((member) => ({ ...member, bytes }))];
    merged.forEach((part, i) => {
      out.ascii(i === 0 ? ',"attributes":{' : ',');
      out.copy(part.bytes.subarray(part.start, part.end));
    });
    out.ascii('}');
    // As in the lake the event's own attribute wins; the field of the same name is still there in the text.
    if (unknown.some((member) => taken.has(member.name))) out.text(`,"event_raw":${JSON.stringify(text)}`);
  }
  writeTimestamp(event.timestamp, members.get('timestamp'), bytes, out);
  return undefined;
}

/** The members of the event's own `attributes`, none where it has none; undefined where it is not an object. */
function ownAttributes(bytes: Buffer, own: Member | undefined, value: unknown): (Member & { readonly bytes: Buffer })[] | undefined {
  if (own === undefined || value === null) return [];
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const json = bytes.subarray(own.valueStart, own.end);
  return objectMembers(json).map((member) => ({ ...member, bytes: json }));
}

/** An instant that OpenSearch can not read as it stands is written in a form that it can; what is no instant is left out. The text is kept beside it. */
function writeTimestamp(timestamp: unknown, member: Member | undefined, bytes: Buffer, out: ByteWriter): void {
  if (isIndexable(timestamp) || member === undefined || timestamp === null) return;
  const instant = typeof timestamp === 'string' ? parseInstant(timestamp) : undefined;
  const iso = instant === undefined ? '' : new Date(instant.epochMs).toISOString();
  // A zone can carry an instant out of the years 0 to 9999, and then its text has a sign.
  if (/^\d{4}-/.test(iso)) out.ascii(`,"timestamp":"${iso}"`);
  const raw = typeof timestamp === 'string' ? timestamp : bytes.toString('utf8', member.valueStart, member.end);
  out.text(`,"timestamp_raw":${JSON.stringify(raw)}`);
}

/**
 * Appends the document of a value that OpenSearch refused although the event keeps its contract (a term that is too long under
 * `attributes`, deep nesting, a name that occurs twice ...): the typed fields, so that it is found, and the whole event as text.
 * An event that breaks its contract is bad data, and the sentence says why.
 */
export function writeFallback(value: Buffer | null, refusal: string, out: ByteWriter): BadValue | undefined {
  const got = read(value);
  if ('bad' in got) return got.bad;
  const { event, text } = got;
  const problem = validateEvent(event).find(({ field }) => field !== 'timestamp');
  if (problem !== undefined) return { reason: 'invalid-field', detail: `${problem.field ?? 'the event'} ${problem.reason}` };
  for (const { name, kind } of serviceEventFields) {
    const field = event[name];
    if (field === undefined || field === null || kind === 'object' || (kind === 'instant' && !isIndexable(field))) continue;
    out.text(`,"${name}":${JSON.stringify(field)}`);
  }
  const bytes = value as Buffer;
  const timestamp = objectMembers(bytes).findLast((member) => member.name === 'timestamp');
  writeTimestamp(event.timestamp, timestamp, bytes, out);
  out.text(`,"event_raw":${JSON.stringify(text)},"raw_reason":${JSON.stringify(refusal)}}`);
  return undefined;
}
