import { isUtf8 } from 'node:buffer';
import {
  CANARY_REASON,
  CANARY_SERVICE,
  isInstant,
  type Member,
  objectMembers,
  parseInstant,
  serviceEventFields,
  validateEvent,
  valueStartOf,
} from '@tailrace/events';
import { isCalendarTime, isoTime, reasonsOf } from '@tailrace/kafka-kit';
import type { ByteWriter } from './byte-writer.ts';

/** Why a record's value can not become a document: a short fixed word, and a sentence for people. */
export interface BadValue {
  readonly reason: 'no-value' | 'not-utf8' | 'not-json' | 'not-an-object' | 'invalid-field' | 'bad-time' | 'unbuildable';
  readonly detail: string;
}

/** Of an event that is no document although nothing is wrong with it. */
export const CANARY = { kind: 'skipped', reason: CANARY_REASON } as const;

/** What a record is dead for whose time belongs to no day: a producer may have given it any 64 bits. */
export function badTime(timestampMs: number): BadValue {
  return { reason: 'bad-time', detail: `the record’s time, ${isoTime(timestampMs)}, is outside of the years 1 to 9999` };
}

/**
 * What a record is dead for at which building threw: it would throw the same way for ever, and stop its partition.
 * @throws `fault` itself when memory ran out, which is a fault of the moment.
 */
export function unbuildable(fault: unknown): BadValue {
  if (fault instanceof Error && /^(Array buffer allocation failed|Failed to allocate memory)/.test(fault.message)) throw fault;
  return { reason: 'unbuildable', detail: reasonsOf(fault) };
}

type Parsed = Readonly<Record<string, unknown>>;

const knownNames: ReadonlySet<string> = new Set(serviceEventFields.map((field) => field.name));
const OPENING_BRACE = 0x7b;
const COMMA = 0x2c;

const UPPER_T = 0x54;
const UPPER_Z = 0x5a;
const DIGIT_6 = 0x36;

/** The zones beside Z that OpenSearch knows. */
const ZONE = /[+-]((0\d|1[0-7]):\d\d|18:00)$/;

/** Whether OpenSearch's `strict_date_optional_time` reads an instant as it stands: it knows no lower case, no second 60 and no zone beyond 18 hours. */
function isIndexable(timestamp: unknown): boolean {
  if (typeof timestamp !== 'string' || !isInstant(timestamp)) return false;
  if (timestamp.charCodeAt(10) !== UPPER_T || timestamp.charCodeAt(17) === DIGIT_6) return false;
  return timestamp.charCodeAt(timestamp.length - 1) === UPPER_Z || ZONE.test(timestamp);
}

/**
 * How deep an event may be nested to be sent as it is. OpenSearch 2 overflows its stack on deeper ones: the bulk is never answered,
 * and a server that takes a stack overflow for fatal ends. (3 refuses what is deeper than 1000.)
 */
const MAX_DEPTH = 100;

/** Whether a value has more than so many levels of objects and arrays. Ends at that depth, whatever lies below. */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(item, levels - 1));
  for (const name in value) if (isDeeperThan((value as Parsed)[name], levels - 1)) return true;
  return false;
}

/**
 * How an event can be sent. `as-is`: byte for byte, since all its fields are the table's, so none collides with ours or surprises
 * OpenSearch. `too-deep`: not as JSON.
 */
function shapeOf(event: Parsed): 'as-is' | 'rearranged' | 'too-deep' {
  let shape: 'as-is' | 'rearranged' = isIndexable(event.timestamp) ? 'as-is' : 'rearranged';
  for (const name in event) {
    if (!knownNames.has(name)) shape = 'rearranged';
    const value = event[name];
    if (typeof value === 'object' && isDeeperThan(value, MAX_DEPTH - 1)) return 'too-deep';
  }
  return shape;
}

const NO_VALUE: BadValue = { reason: 'no-value', detail: 'the record has no value' };
const NOT_UTF8: BadValue = { reason: 'not-utf8', detail: 'the value is not valid UTF-8' };
const NOT_JSON: BadValue = { reason: 'not-json', detail: 'the value is not valid JSON' };
const NOT_AN_OBJECT: BadValue = { reason: 'not-an-object', detail: 'the value is not a JSON object' };

/** A value that is one JSON object, decoded once. */
class Value {
  constructor(
    readonly bytes: Buffer,
    readonly text: string,
    readonly event: Parsed,
  ) {}
}

function read(bytes: Buffer | null): Value | BadValue {
  if (bytes === null) return NO_VALUE;
  const text = bytes.toString('utf8');
  // Decoding puts U+FFFD in place of each bad byte, so text without one came from valid bytes.
  if (text.includes('\ufffd') && !isUtf8(bytes)) return NOT_UTF8;
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    // JSON.parse throws only for text that is not JSON.
    return NOT_JSON;
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return NOT_AN_OBJECT;
  return new Value(bytes, text, event as Parsed);
}

/**
 * Appends a record's value as the rest of a document whose first members are already written: `,"member":...}`. The value's own
 * bytes are used wherever they can be. Gives what is wrong with a value that can not be one, or `CANARY`; what was written is useless then.
 */
export function writeDocument(value: Buffer | null, out: ByteWriter): BadValue | typeof CANARY | undefined {
  const got = read(value);
  if (!(got instanceof Value)) return got;
  const { bytes, text, event } = got;
  if (event.service === CANARY_SERVICE) return CANARY;
  const start = out.length;
  const shape = shapeOf(event);
  if (shape === 'too-deep') return writeTypedFields(got, `nested deeper than ${MAX_DEPTH} levels`, out);
  if (shape === 'as-is') {
    out.copy(bytes);
    // The value's own opening brace becomes the comma behind our members. White space before it stays, as JSON allows.
    out.overwriteByte(start + (bytes[0] === OPENING_BRACE ? 0 : bytes.indexOf(OPENING_BRACE)), COMMA);
  } else {
    const bad = writeRearranged(got, out);
    if (bad !== undefined) return bad;
    out.ascii('}');
  }
  if (text.includes('\n') || text.includes('\r')) out.blankLineEnds(start);
  return undefined;
}

/**
 * The value's own members in another place: fields outside the table go under `attributes`, where any name is harmless, and a
 * timestamp that OpenSearch can not read is left out. Of a name that occurs twice the last member counts.
 */
function writeRearranged({ bytes, text, event }: Value, out: ByteWriter): BadValue | undefined {
  const members = lastOfEachName(objectMembers(bytes, event), event);
  const keepsTime = isIndexable(event.timestamp);
  const hasUnknown = members.some(({ name }) => !knownNames.has(name));
  const { attributes } = event;
  if (hasUnknown && attributes !== undefined && (typeof attributes !== 'object' || Array.isArray(attributes))) {
    return { reason: 'invalid-field', detail: 'attributes must be an object' };
  }
  writeRuns(
    members,
    bytes,
    out,
    (name) => knownNames.has(name) && (name !== 'timestamp' || keepsTime) && !(hasUnknown && name === 'attributes'),
  );
  if (hasUnknown) writeAttributes(members, bytes, text, (attributes ?? {}) as Parsed, out);
  if (!keepsTime) writeTimestamp(event.timestamp, memberNamed(members, 'timestamp'), bytes, out);
  return undefined;
}

function memberNamed(members: readonly Member[], name: string): Member | undefined {
  return members.findLast((member) => member.name === name);
}

/** `attributes` with the members that are not in the table. As in the lake the event's own attributes win over fields of their names. */
function writeAttributes(members: readonly Member[], bytes: Buffer, text: string, own: Parsed, out: ByteWriter): void {
  out.ascii(',"attributes":');
  const start = out.length;
  const member = memberNamed(members, 'attributes');
  if (member !== undefined && Object.keys(own).length > 0) {
    out.byte(COMMA);
    out.copyRange(bytes, valueStartOf(bytes, member) + 1, member.end - 1);
  }
  writeRuns(members, bytes, out, (name) => !knownNames.has(name) && !Object.hasOwn(own, name));
  out.overwriteByte(start, OPENING_BRACE);
  out.ascii('}');
  // What lost is still there in the text.
  if (members.some(({ name }) => !knownNames.has(name) && Object.hasOwn(own, name))) out.text(`,"event_raw":${JSON.stringify(text)}`);
}

/** The members without those that a later one of the same name replaces. */
function lastOfEachName(members: readonly Member[], event: Parsed): readonly Member[] {
  if (members.length === Object.keys(event).length) return members;
  const last = new Map(members.map((member) => [member.name, member]));
  return members.filter((member) => last.get(member.name) === member);
}

/** Appends the members that are wanted, each with a comma before it; those that stand side by side are copied as one piece. */
function writeRuns(members: readonly Member[], bytes: Buffer, out: ByteWriter, wanted: (name: string) => boolean): void {
  let start = -1;
  let end = -1;
  const copy = () => {
    if (start === -1) return;
    out.byte(COMMA);
    out.copyRange(bytes, start, end);
    start = -1;
  };
  for (const member of members) {
    if (!wanted(member.name)) copy();
    else if (start === -1) ({ start, end } = member);
    else end = member.end;
  }
  copy();
}

/** An instant that OpenSearch can not read as it stands is written in a form that it can; what is no instant is left out. The text is kept beside it. */
function writeTimestamp(timestamp: unknown, member: Member | undefined, bytes: Buffer, out: ByteWriter): void {
  if (isIndexable(timestamp) || member === undefined || timestamp === null) return;
  const instant = typeof timestamp === 'string' ? parseInstant(timestamp) : undefined;
  // A zone can carry an instant out of the years that have four digits.
  if (instant !== undefined && isCalendarTime(instant.epochMs)) out.ascii(`,"timestamp":"${isoTime(instant.epochMs)}"`);
  const raw = typeof timestamp === 'string' ? timestamp : bytes.toString('utf8', valueStartOf(bytes, member), member.end);
  out.text(`,"timestamp_raw":${JSON.stringify(raw)}`);
}

/**
 * Appends the document of a value that OpenSearch refused although the event keeps its contract (a term that is too long under
 * `attributes`, deep nesting, a name that occurs twice ...): the typed fields, so that it is found, and the whole event as text.
 * An event that breaks its contract is bad data, and the sentence says why.
 */
export function writeFallback(value: Buffer | null, refusal: string, out: ByteWriter): BadValue | undefined {
  const got = read(value);
  return got instanceof Value ? writeTypedFields(got, refusal, out) : got;
}

function writeTypedFields({ bytes, text, event }: Value, refusal: string, out: ByteWriter): BadValue | undefined {
  const problem = validateEvent(event).find(({ field }) => field !== 'timestamp');
  if (problem !== undefined) return { reason: 'invalid-field', detail: `${problem.field ?? 'the event'} ${problem.reason}` };
  for (const { name, kind } of serviceEventFields) {
    const field = event[name];
    if (field === undefined || field === null || kind === 'object' || (kind === 'instant' && !isIndexable(field))) continue;
    out.text(`,"${name}":${JSON.stringify(field)}`);
  }
  writeTimestamp(event.timestamp, memberNamed(objectMembers(bytes, event), 'timestamp'), bytes, out);
  out.text(`,"event_raw":${JSON.stringify(text)},"raw_reason":${JSON.stringify(refusal)}}`);
  return undefined;
}
