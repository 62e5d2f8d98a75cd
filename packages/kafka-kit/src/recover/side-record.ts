/**
 * How a record travels through a side topic (dead letters, retry, replay) and comes back byte for byte: where it stood at first goes
 * into `origin.*` headers, and so does what the client can not carry.
 */
import type { Coordinates, Headers } from '../records.ts';

/** Key, value and headers as the record had them where it stood at first. */
export interface RecordParts {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
}

/** A record as a side topic holds it: the original, where it stood at first, and our own headers besides (`dlq.*`, `replay.*`). */
export interface SideRecord extends RecordParts {
  readonly origin: Coordinates;
  readonly notes: Headers;
}

/** These names are ours on side topics. A producer may use them too: there its headers travel inside `origin.headers`. */
const OUR_NAMES = /^(origin|dlq|replay)\./;

const PLAIN = /^[\x20-\x7e]*$/;

const ORIGIN = {
  topic: 'origin.topic',
  incarnation: 'origin.incarnation',
  partition: 'origin.partition',
  offset: 'origin.offset',
  timestamp: 'origin.timestamp',
  empty: 'origin.empty',
  headers: 'origin.headers',
} as const;

/** The record as it is published to a side topic. */
export function encodeSideRecord({ origin, notes, key, value, headers }: SideRecord): RecordParts {
  // The client sends an empty Buffer as null: a tombstone where an empty value was meant.
  const empty = [...(key?.length === 0 ? ['key'] : []), ...(value?.length === 0 ? ['value'] : [])];
  const apart: (readonly [number, string, string | null])[] = [];
  const carried: Headers[number][] = [];
  for (const [index, each] of headers.entries()) {
    const [name, bytes] = each;
    if (isCarried(name, bytes)) carried.push(each);
    else apart.push([index, name, bytes === null ? null : bytes.toString('base64')]);
  }
  return {
    key: key?.length === 0 ? null : key,
    value: value?.length === 0 ? null : value,
    headers: [
      ...coordinateHeaders('origin', origin),
      ...(empty.length === 0 ? [] : [header(ORIGIN.empty, empty.join(','))]),
      ...(apart.length === 0 ? [] : [header(ORIGIN.headers, Buffer.from(JSON.stringify(apart)).toString('base64'))]),
      ...notes,
      ...carried,
    ],
  };
}

/** The record as it was where it stood at first; undefined for one whose `origin.*` headers are missing or no work of `encodeSideRecord`. */
export function decodeSideRecord({ key, value, headers }: RecordParts): SideRecord | undefined {
  const ours = new Map<string, string>();
  const notes: (readonly [string, Buffer | null])[] = [];
  const carried: (readonly [string, Buffer | null])[] = [];
  for (const each of headers) {
    const [name, bytes] = each;
    if (!OUR_NAMES.test(name)) carried.push(each);
    else if (!name.startsWith('origin.')) notes.push(each);
    else if (!ours.has(name)) ours.set(name, bytes?.toString('utf8') ?? '');
  }
  const origin = readCoordinates('origin', (name) => ours.get(name));
  const apart = readApart(ours.get(ORIGIN.headers));
  if (origin === undefined || apart === undefined) return undefined;
  // In the order of their places: each stands where it stood once all before it are there.
  for (const [index, name, bytes] of apart) carried.splice(index, 0, [name, bytes]);
  const empty = (ours.get(ORIGIN.empty) ?? '').split(',');
  return { origin, notes, key: restored(key, empty.includes('key')), value: restored(value, empty.includes('value')), headers: carried };
}

type Place = Pick<Coordinates, 'topic' | 'incarnation' | 'partition'>;

/** The headers that were made last: one partition's records come one behind the other. */
let lastPlace: (Place & { readonly prefix: string; readonly headers: Headers }) | undefined;

function placeHeaders(prefix: string, { topic, incarnation, partition }: Place): Headers {
  const last = lastPlace;
  if (last?.prefix === prefix && last.partition === partition && last.topic === topic && last.incarnation === incarnation)
    return last.headers;
  const headers = [
    header(`${prefix}.topic`, topic),
    header(`${prefix}.incarnation`, incarnation),
    header(`${prefix}.partition`, String(partition)),
  ];
  lastPlace = { prefix, topic, incarnation, partition, headers };
  return headers;
}

/** Coordinates as five headers under a prefix, as text. */
export function coordinateHeaders(prefix: string, { offset, timestampMs, ...place }: Coordinates): Headers {
  return [...placeHeaders(prefix, place), header(`${prefix}.offset`, String(offset)), header(`${prefix}.timestamp`, String(timestampMs))];
}

/** Coordinates from the headers under a prefix; undefined when one is missing or is no number where there must be one. */
export function readCoordinates(prefix: string, read: (name: string) => string | undefined): Coordinates | undefined {
  const topic = read(`${prefix}.topic`);
  const incarnation = read(`${prefix}.incarnation`);
  const partition = whole(read(`${prefix}.partition`));
  const offset = whole(read(`${prefix}.offset`));
  const timestampMs = time(read(`${prefix}.timestamp`));
  if (!topic || incarnation === undefined || partition === undefined || offset === undefined || timestampMs === undefined) return undefined;
  return { topic, incarnation, partition, offset, timestampMs };
}

export function header(name: string, value: string | Buffer): readonly [string, Buffer] {
  return [name, typeof value === 'string' ? Buffer.from(value) : value];
}

/** The client makes a null value empty, and cuts a name at a NUL; a lone surrogate is no UTF-8. */
function isCarried(name: string, value: Buffer | null): boolean {
  if (value === null || OUR_NAMES.test(name)) return false;
  // Nearly all names: the comparison below costs more than all the rest of a record.
  return PLAIN.test(name) || (!name.includes('\0') && Buffer.from(name).toString('utf8') === name);
}

function restored(bytes: Buffer | null, empty: boolean): Buffer | null {
  return bytes === null && empty ? Buffer.alloc(0) : bytes;
}

/** Any 64 bits, as far as a number holds them: a producer may make them up. -1 is a timestamp that a record has not. */
function time(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d{1,19}$/.test(text) ? Number(text) : undefined;
}

function whole(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

/** What `origin.headers` holds, each with its place in the original list; undefined when it is something else. */
function readApart(base64: string | undefined): readonly (readonly [index: number, name: string, value: Buffer | null])[] | undefined {
  if (base64 === undefined) return [];
  let list: unknown;
  try {
    list = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
  } catch {
    // Safe: text that is no JSON is not ours, which is the answer.
    return undefined;
  }
  if (!Array.isArray(list)) return undefined;
  const apart: (readonly [number, string, Buffer | null])[] = [];
  for (const each of list) {
    const [index, name, value] = Array.isArray(each) ? (each as readonly unknown[]) : [];
    if (!Number.isSafeInteger(index) || typeof name !== 'string' || (value !== null && typeof value !== 'string')) return undefined;
    apart.push([Number(index), name, value === null ? null : Buffer.from(value, 'base64')]);
  }
  return apart;
}
