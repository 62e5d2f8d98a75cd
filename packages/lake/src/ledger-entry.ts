import type { OffsetRange } from './records.ts';

/** Data entries span at most this many offsets, so the entry that holds X begins at X - 2^21 or later. */
export const MAX_DATA_SPAN = 2 ** 21;

interface EntryBase extends OffsetRange {
  /** Tells two writers of one position apart, and a lost answer from a lost race. */
  readonly attempt: string;
}

/** Claims `[first, next)` for the object at `object`; whichever object is put there first is the truth about the range. */
export interface DataEntry extends EntryBase {
  readonly kind: 'data';
  readonly object: string;
  readonly rows: number;
  /** Broker times in ms since 1970. */
  readonly minTimestampMs: number;
  readonly maxTimestampMs: number;
  /** Offsets inside the range that never held a readable record. */
  readonly voids: readonly OffsetRange[];
  /** Sum of the records' digests (`record-digest.ts`), 16 hexadecimal digits. */
  readonly checksum: string;
}

/**
 * A position of a chain. `genesis`: the archive began on a log that no longer held these offsets. `void`: they never held a
 * readable record. `lost`: they were gone before they were archived.
 */
export type LedgerEntry = DataEntry | (EntryBase & { readonly kind: 'genesis' | 'void' | 'lost' });

/** An object of the ledger says something impossible; nothing is built on it. */
export class LedgerDamage extends Error {
  constructor(key: string, what: string) {
    super(`The ledger object ${key} is damaged: ${what}.`);
    this.name = 'LedgerDamage';
  }
}

export function formatEntry(entry: LedgerEntry): Buffer {
  return Buffer.from(`${JSON.stringify(entry)}\n`);
}

const offset = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const time = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value);
const text = (value: unknown): value is string => typeof value === 'string' && value !== '';

function isRange(value: unknown): value is OffsetRange {
  if (typeof value !== 'object' || value === null) return false;
  const { first, next } = value as Record<string, unknown>;
  return offset(first) && offset(next) && first < next;
}

/** Voids in order, inside the range, apart from each other, and with the rows they fill it. */
function fills(range: OffsetRange, rows: number, voids: readonly OffsetRange[]): boolean {
  let at = range.first;
  let missing = 0;
  for (const hole of voids) {
    if (hole.first < at || hole.next > range.next) return false;
    at = hole.next;
    missing += hole.next - hole.first;
  }
  return rows + missing === range.next - range.first;
}

/** Reads an entry strictly. Throws LedgerDamage. `key` and `first` are what it was found under. */
export function parseEntry(key: string, first: number, body: Buffer): LedgerEntry {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new LedgerDamage(key, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (!isRange(parsed)) throw new LedgerDamage(key, 'it has no range of offsets');
  if (parsed.first !== first) throw new LedgerDamage(key, `it says that it begins at ${parsed.first}`);
  const { kind, attempt, object, rows, minTimestampMs, maxTimestampMs, voids, checksum } = parsed as unknown as Record<string, unknown>;
  if (!text(attempt)) throw new LedgerDamage(key, 'it has no attempt');
  const base = { first, next: parsed.next, attempt };
  if (kind === 'genesis' || kind === 'void' || kind === 'lost') return { kind, ...base };
  if (kind !== 'data') throw new LedgerDamage(key, `its kind is ${JSON.stringify(kind)}`);
  if (!text(object) || !text(checksum)) throw new LedgerDamage(key, 'it names no object or no checksum');
  if (!offset(rows) || rows === 0 || !time(minTimestampMs) || !time(maxTimestampMs) || minTimestampMs > maxTimestampMs)
    throw new LedgerDamage(key, 'its rows or its times make no sense');
  if (!Array.isArray(voids) || !voids.every(isRange) || !fills(base, rows, voids))
    throw new LedgerDamage(key, 'its rows and voids do not fill its range');
  if (base.next - first > MAX_DATA_SPAN) throw new LedgerDamage(key, `it spans more than ${MAX_DATA_SPAN} offsets`);
  return { kind, ...base, object, rows, minTimestampMs, maxTimestampMs, voids, checksum };
}
