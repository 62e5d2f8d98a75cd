import { meant, type Shape } from '../rules/shapes.ts';

const MOMENT = /^(?:(\d{1,4})d)?(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,9}(?:\.\d{1,3})?)s)?$/;
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000] as const;

const SECOND_MS = 1000;
const LONGEST_MS = 30 * 86_400_000;

/** Milliseconds of `0s`, `90s`, `1m30s` or `2.5s`; undefined for anything else. */
export function parseMoment(text: string): number | undefined {
  const parts = MOMENT.exec(text);
  if (text === '' || parts === null) return undefined;
  const ms = UNITS_MS.reduce((sum, unitMs, i) => sum + Math.round(Number(parts[i + 1] ?? 0) * unitMs), 0);
  return ms <= LONGEST_MS ? ms : undefined;
}

/** As `parseMoment` reads it, in its largest units: `1m30s`. */
export function printMoment(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  let rest = ms;
  let text = '';
  for (const [name, unitMs] of units) {
    const count = Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${name}`;
    rest -= count * unitMs;
  }
  return rest > 0 || text === '' ? `${text}${rest / SECOND_MS}s` : text;
}

const MOMENT_WORDS = 'a time after the start of up to 30 days, like 0s, 90s, 1m30s or 2h';

export const moment: Shape<number> = meant(MOMENT_WORDS, { type: 'string' }, (text) => {
  const value = parseMoment(text);
  return value === undefined ? { problem: `This must be ${MOMENT_WORDS}, and ${JSON.stringify(text.slice(0, 80))} is not.` } : { value };
});

/** Times after the start: `fromMs <= time < untilMs`. */
export interface Bounds {
  readonly fromMs: number;
  readonly untilMs: number;
}

const BOUNDS_WORDS =
  'a time after the start, like 90s (the second that begins then), or two, like 90s..2m (up to the second that begins at the last)';

/** `90s` is the second that begins then; `90s..2m` ends with the second that begins at its end. */
export const bounds: Shape<Bounds> = meant(BOUNDS_WORDS, { type: 'string' }, (text) => {
  const [first = '', last = first, ...more] = text.split('..');
  const [fromMs, lastMs] = [parseMoment(first), parseMoment(last)];
  if (fromMs === undefined || lastMs === undefined || lastMs < fromMs || more.length > 0)
    return { problem: `This must be ${BOUNDS_WORDS}, and ${JSON.stringify(text.slice(0, 80))} is not.` };
  return { value: { fromMs, untilMs: lastMs + SECOND_MS } };
});

export function printBounds({ fromMs, untilMs }: Bounds): string {
  const lastMs = untilMs - SECOND_MS;
  return fromMs === lastMs ? printMoment(fromMs) : `${printMoment(fromMs)}..${printMoment(lastMs)}`;
}
