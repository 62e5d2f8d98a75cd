/** The header names and values that say what a record's value is. */
export const EVENT_TYPE_HEADER = 'event.type';
export const EVENT_VERSION_HEADER = 'event.version';
export const SERVICE_EVENT_TYPE = 'service-event';
/** The version of the field table, major.minor. A minor one only adds optional fields; a breaking change is a new event type. */
export const SERVICE_EVENT_VERSION = '1.0';

const [MAJOR, MINOR] = SERVICE_EVENT_VERSION.split('.').map(Number) as [number, number];

type HeaderList = readonly (readonly [name: string, value: Buffer | null])[];

/** The headers of every service event that we write. */
export const serviceEventHeaders: HeaderList = [
  [EVENT_TYPE_HEADER, Buffer.from(SERVICE_EVENT_TYPE)],
  [EVENT_VERSION_HEADER, Buffer.from(SERVICE_EVENT_VERSION)],
];

/**
 * What a consumer may expect of a record's value.
 * `current`: as the field table says. `newer-minor`: so too, with fields that it does not know yet.
 * `newer-major` and `unknown-type`: nothing; the consumer meets it with a named outcome.
 */
export type EventKind = 'current' | 'newer-minor' | 'newer-major' | 'unknown-type';

const TYPE_BYTES = Buffer.from(SERVICE_EVENT_TYPE);
const VERSION_BYTES = Buffer.from(SERVICE_EVENT_VERSION);

/** Whether a header's value is exactly these bytes. A loop: for so few of them a call into native code takes longer. */
function isSame(value: Buffer | null | undefined, bytes: Buffer): boolean {
  if (value?.length !== bytes.length) return false;
  for (let i = 0; i < bytes.length; i++) if (value[i] !== bytes[i]) return false;
  return true;
}

/** The last value under a name, as Java's `lastHeader`: Kafka allows repeated names. Undefined when there is none. */
function lastHeader(headers: HeaderList, name: string): Buffer | null | undefined {
  for (let i = headers.length - 1; i >= 0; i--) {
    const header = headers[i];
    if (header?.[0] === name) return header[1];
  }
  return undefined;
}

/**
 * Classifies a record by its headers. Records without them come from producers that know only the value (kcat, a console), so
 * they count as current. A version that is not `major.minor`, or a major one that never was, is an unknown type.
 */
export function eventKind(headers: HeaderList): EventKind {
  const type = lastHeader(headers, EVENT_TYPE_HEADER);
  if (type !== undefined && !isSame(type, TYPE_BYTES)) return 'unknown-type';
  const version = lastHeader(headers, EVENT_VERSION_HEADER);
  if (version === undefined || isSame(version, VERSION_BYTES)) return 'current';
  const [, majorText, minorText] = /^(\d{1,9})\.(\d{1,9})$/.exec(version?.toString('utf8') ?? '') ?? [];
  if (majorText === undefined || Number(majorText) < MAJOR) return 'unknown-type';
  if (Number(majorText) > MAJOR) return 'newer-major';
  return Number(minorText) > MINOR ? 'newer-minor' : 'current';
}
