import { isoTime } from '@tailrace/kafka-kit/time';

const MINUTE_MS = 60_000;
const UNITS = [
  ['d', 1440 * MINUTE_MS],
  ['h', 60 * MINUTE_MS],
  ['min', MINUTE_MS],
  ['s', 1000],
] as const;

const two = (value: number): string => String(value).padStart(2, '0');

/** A time in UTC, and by this machine's own zone: who asks for a window often means the latter. */
export function bothTimes(ms: number): string {
  const date = new Date(ms);
  const east = -date.getTimezoneOffset();
  const zone = `${east < 0 ? '-' : '+'}${two(Math.floor(Math.abs(east) / 60))}:${two(Math.abs(east) % 60)}`;
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${isoTime(ms)} (local ${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ${zone})`;
}

/** How long, in the two largest units that it has: `2 d 3 h`, `40 min`. */
export function span(ms: number): string {
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  const large = UNITS[at];
  if (large === undefined) return `${Math.max(0, Math.round(ms))} ms`;
  const count = Math.floor(ms / large[1]);
  const small = UNITS[at + 1];
  const rest = small === undefined ? 0 : Math.floor((ms - count * large[1]) / small[1]);
  return rest === 0 || small === undefined ? `${count} ${large[0]}` : `${count} ${large[0]} ${rest} ${small[0]}`;
}
