/** The years that are written with four digits, and that every server behind us can read. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Whether whole milliseconds since 1970 lie in the years 1 to 9999. A producer may give a record any 64 bits as its time. */
export function isCalendarTime(ms: number): boolean {
  return Number.isInteger(ms) && ms >= FIRST_MS && ms <= LAST_MS;
}

/** A time in ISO 8601 (UTC); one outside of the years 1 to 9999, at which `toISOString` may throw, as its milliseconds. */
export function isoTime(ms: number): string {
  return isCalendarTime(ms) ? new Date(ms).toISOString() : `${ms} ms since 1970`;
}
