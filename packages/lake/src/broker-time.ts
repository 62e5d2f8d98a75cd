/** The broker times that a lake can name: the years 1 to 9999, whose day has ten characters in `dt=`, and which Parquet's microseconds hold. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Whether a record of this broker time (ms since 1970) can be archived. A topic that lets its producers set the time lets in any 64 bits. */
export function isBrokerTime(timestampMs: number): boolean {
  return Number.isInteger(timestampMs) && timestampMs >= EARLIEST_MS && timestampMs <= LATEST_MS;
}

/** The instant for people and SQL; of a number that is no time within the years 1 to 9999, the number itself. Never throws. */
export function timeText(timestampMs: number): string {
  return isBrokerTime(timestampMs) ? new Date(timestampMs).toISOString() : `${timestampMs} ms since 1970 (outside of the years 1 to 9999)`;
}
