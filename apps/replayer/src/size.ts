import { InvalidArgumentError } from 'commander';

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: 1024 ** 3,
};

/** Bytes, as in `500KiB` or `5MiB`. Throws for anything else. */
export function parseBytes(text: string): number {
  const [, count, unit = ''] = /^(\d{1,15})([A-Za-z]{0,3})$/.exec(text) ?? [];
  const bytes = Number(count) * (UNITS[unit.toUpperCase()] ?? Number.NaN);
  if (!Number.isSafeInteger(bytes) || bytes < 1) throw new InvalidArgumentError('Give a size, like 500KiB or 5MiB.');
  return bytes;
}

/** In the largest binary unit that it fills. */
export function bytesText(bytes: number): string {
  const unit = ['GiB', 'MiB', 'KiB'].find((each) => bytes >= (UNITS[each.toUpperCase()] ?? 1));
  return unit === undefined ? `${Math.round(bytes)} B` : `${(bytes / (UNITS[unit.toUpperCase()] ?? 1)).toFixed(1)} ${unit}`;
}
