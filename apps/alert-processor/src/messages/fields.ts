/** What is wrong with a record of `alert-partials`: nobody but us writes there, so it says that another version does, or another program. */
export class MessageError extends Error {
  override readonly name = 'MessageError';

  constructor(finding: string) {
    super(`a record of alert-partials can not be read: ${finding}`);
  }
}

function refuse(name: string, wanted: string, value: unknown): never {
  throw new MessageError(`${name} must be ${wanted}, not ${String(JSON.stringify(value)).slice(0, 80)}`);
}

export function readList(value: unknown, name: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(name, 'a list', value);
}

export function readText(value: unknown, name: string): string {
  return typeof value === 'string' ? value : refuse(name, 'a text', value);
}

/** `1e400` is JSON, and reads as infinite. */
export function readNumber(value: unknown, name: string): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : refuse(name, 'a number', value);
}

/** What a `Date` holds: of a later time nothing could be told. */
const MAX_TIME_MS = 8.64e15;

export function readTime(value: unknown, name: string): number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= MAX_TIME_MS
    ? value
    : refuse(name, 'a time in ms', value);
}

/** A time that is written as the time since another one. */
export function readTimeSince(sinceMs: number, value: unknown, name: string): number {
  return readTime(sinceMs + readNumber(value, name), name);
}

/** An index, an offset or a number of events. */
export function readWhole(value: unknown, name: string): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : refuse(name, 'a whole number', value);
}
