/** A point in time, to the nanosecond. */
export interface Instant {
  /** Milliseconds since 1970 in UTC, rounded down. */
  readonly epochMs: number;
  /** What `epochMs` leaves out: 0 to 999,999 nanoseconds. */
  readonly nanosOfMs: number;
  /** Microseconds since 1970 in UTC, rounded down: the resolution of the lake's column. */
  readonly epochUs: bigint;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Two decimal digits at `at`, or a number above 99 when they are not two digits. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  // NaN (behind the end) fails both comparisons, so it falls through to the refusal.
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : 100;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days since 1970-01-01 in the proleptic Gregorian calendar. Date.UTC would take the years 0 to 99 for 1900 to 1999. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  // Years begin in March here, so that the leap day is a year's last one (H. Hinnant, "chrono-compatible low-level date algorithms").
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468;
}

/** Where the fraction of a second ends: `from` when there is none, -1 when it has no digits or more than nine. */
function endOfFraction(text: string, from: number): number {
  if (text.charCodeAt(from) !== 46 /* . */) return from;
  let end = from + 1;
  while (text.charCodeAt(end) >= 48 && text.charCodeAt(end) <= 57) end++;
  return end === from + 1 || end > from + 10 ? -1 : end;
}

/** The zone at `at` in minutes east of UTC, or undefined when the text does not end with a zone there. */
function zoneMinutes(text: string, at: number): number | undefined {
  const first = text.charCodeAt(at);
  if (first === 90 /* Z */ || first === 122 /* z */) return text.length === at + 1 ? 0 : undefined;
  if ((first !== 43 && first !== 45) || text.length !== at + 6 || text.charCodeAt(at + 3) !== 58) return undefined;
  const hours = twoDigits(text, at + 1);
  const minutes = twoDigits(text, at + 4);
  if (hours > 23 || minutes > 59) return undefined;
  return first === 43 ? hours * 60 + minutes : -(hours * 60 + minutes);
}

/** Whether the text begins with a day that the calendar has. */
function hasRealDate(text: string): boolean {
  const century = twoDigits(text, 0);
  const year = century * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (century > 99 || twoDigits(text, 2) > 99 || text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return false;
  // Every month has 28 days: most texts need no look at the calendar.
  return month >= 1 && month <= 12 && day >= 1 && (day <= 28 || day <= daysInMonth(year, month));
}

/** Whether a time of day follows on the date. The second 60 may be real: that depends on the zone. */
function hasRealTime(text: string): boolean {
  const separator = text.charCodeAt(10);
  if ((separator !== 84 /* T */ && separator !== 116) /* t */ || text.charCodeAt(13) !== 58 || text.charCodeAt(16) !== 58) return false;
  return twoDigits(text, 11) <= 23 && twoDigits(text, 14) <= 59 && twoDigits(text, 17) <= 60;
}

/** Milliseconds since 1970 of the whole second that a text with a real date and time names, `zone` minutes east of UTC. */
function wholeSecondMs(text: string, zone: number): number {
  const days = daysSinceEpoch(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8));
  return days * DAY_MS + (twoDigits(text, 11) * 60 + twoDigits(text, 14) - zone) * MINUTE_MS + twoDigits(text, 17) * 1000;
}

/**
 * The zone in minutes of a text that is a real instant, else undefined. The second 60 exists only as the last one of a month in
 * UTC; as in POSIX it is the same instant as the second after it.
 */
function zoneOfInstant(text: string, fractionEnd: number): number | undefined {
  if (fractionEnd === -1 || !hasRealDate(text) || !hasRealTime(text)) return undefined;
  const zone = zoneMinutes(text, fractionEnd);
  if (zone === undefined || text.charCodeAt(17) !== 54 /* 6 */) return zone;
  const ms = wholeSecondMs(text, zone);
  return ms % DAY_MS === 0 && new Date(ms).getUTCDate() === 1 ? zone : undefined;
}

/** Whether the text is an RFC 3339 date-time that names a real instant, with at most nine digits behind the second. */
export function isInstant(text: string): boolean {
  return zoneOfInstant(text, endOfFraction(text, 19)) !== undefined;
}

/** Milliseconds since 1970 in UTC, rounded down, of what `parseInstant` reads; makes no object, for those that look at every event. */
export function instantMs(text: string): number | undefined {
  const fractionEnd = endOfFraction(text, 19);
  const zone = zoneOfInstant(text, fractionEnd);
  if (zone === undefined) return undefined;
  let ms = 0;
  for (let i = 20; i < 23; i++) ms = ms * 10 + (i < fractionEnd ? text.charCodeAt(i) - 48 : 0);
  return wholeSecondMs(text, zone) + ms;
}

/** Reads an RFC 3339 date-time (a zone is required). Undefined when it names no real instant: 2026-02-30, 24:00:00, no zone. */
export function parseInstant(text: string): Instant | undefined {
  const fractionEnd = endOfFraction(text, 19);
  const zone = zoneOfInstant(text, fractionEnd);
  if (zone === undefined) return undefined;
  const nanos = fractionEnd === 19 ? 0 : Number(text.slice(20, fractionEnd).padEnd(9, '0'));
  const nanosOfMs = nanos % 1_000_000;
  const epochMs = wholeSecondMs(text, zone) + (nanos - nanosOfMs) / 1_000_000;
  return { epochMs, nanosOfMs, epochUs: BigInt(epochMs) * 1000n + BigInt(Math.floor(nanosOfMs / 1000)) };
}
