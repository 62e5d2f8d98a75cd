const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

const DURATION = /^([1-9][0-9]{0,8})(s|m|h|d)$/;

/** Milliseconds of `30s`, `5m`, `1h` or `1d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? [];
  const unitMs = UNITS.find(([name]) => name === unit)?.[1];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}

/** As `parseDuration` reads it: `90s`, `5m`. Whole seconds. */
export function printDuration(ms: number): string {
  const [name, unitMs] = UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? (['s', 1000] as const);
  return `${ms / unitMs}${name}`;
}
