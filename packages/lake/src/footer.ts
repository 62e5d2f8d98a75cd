import type { AsyncBuffer, FileMetaData } from 'hyparquet';
import { parquetMetadataAsync } from 'hyparquet';
import type { FileColumn } from './columns.ts';
import { FileDamage } from './file-damage.ts';
import type { ChainId, OffsetRange } from './records.ts';
import type { RowTotals } from './row-totals.ts';

/** Under which a file's own description stands among the footer's key-value pairs. */
export const DESCRIPTION_KEY = 'tailrace';
export const FILE_VERSION = 1;
/** What is read first from a file's end: a footer of ours takes less than this up to some 40 row groups. */
const FIRST_FETCH_BYTES = 128 * 1024;

/**
 * What a lake file says about itself. `first` and `next` are what its ledger entry claims; its rows begin at `from`, which is above
 * `first` only where the log no longer held the beginning when the object was made.
 */
export interface FileDescription extends ChainId, OffsetRange {
  readonly version: number;
  readonly rebuild: number;
  readonly columns: readonly FileColumn[];
  readonly from: number;
  readonly rows: number;
  readonly minTimestampMs: number;
  readonly maxTimestampMs: number;
  readonly checksum: string;
}

/** What a second reader, which shares no code with the writer, finds in a file's footer. */
export interface Footer {
  readonly description: FileDescription;
  readonly rows: number;
  readonly firstOffset: number;
  readonly lastOffset: number;
  readonly minTimestampMs: number;
  readonly maxTimestampMs: number;
}

interface Bounds {
  readonly min: unknown;
  readonly max: unknown;
}

function bounds(file: string, metadata: FileMetaData, column: string): readonly Bounds[] {
  return metadata.row_groups.map((group, i) => {
    const found = group.columns.find(({ meta_data }) => meta_data?.path_in_schema.join('.') === column);
    const { min_value: min, max_value: max } = found?.meta_data?.statistics ?? {};
    if (min === undefined || max === undefined) throw new FileDamage(file, `row group ${i} has no bounds for ${column}`);
    return { min, max };
  });
}

/** The least and the greatest of all row groups, checked to rise from group to group where the rows must. */
function range(file: string, all: readonly Bounds[], column: string, rising: boolean): { readonly min: number; readonly max: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const each of all) {
    const low = Number(each.min);
    const high = Number(each.max);
    if (rising && low <= max) throw new FileDamage(file, `its rows are not in the order of ${column}`);
    min = Math.min(min, low);
    max = Math.max(max, high);
  }
  return { min, max };
}

const DESCRIBED_NUMBERS = ['version', 'rebuild', 'partition', 'first', 'next', 'from', 'rows', 'minTimestampMs', 'maxTimestampMs'] as const;
const DESCRIBED_TEXTS = ['topic', 'incarnation', 'checksum'] as const;

function isDescription(value: unknown): value is FileDescription {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const isColumn = (column: unknown): boolean =>
    typeof column === 'object' && column !== null && 'name' in column && typeof column.name === 'string' && 'kind' in column;
  return (
    DESCRIBED_NUMBERS.every((name) => Number.isSafeInteger(fields[name])) &&
    DESCRIBED_TEXTS.every((name) => typeof fields[name] === 'string') &&
    Array.isArray(fields.columns) &&
    fields.columns.every(isColumn)
  );
}

function describe(file: string, metadata: FileMetaData): FileDescription {
  const text = metadata.key_value_metadata?.find(({ key }) => key === DESCRIPTION_KEY)?.value;
  if (text === undefined) throw new FileDamage(file, 'it does not describe itself');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new FileDamage(file, `its description is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (!isDescription(parsed)) throw new FileDamage(file, 'its description is incomplete');
  return parsed;
}

/** The magic at both ends, and the footer's length: a file of fewer bytes is none. */
const LEAST_BYTES = 12;

/** Reads the footer. `file` is its name in messages. Throws FileDamage, or what the buffer throws. */
export async function readFooter(file: string, buffer: AsyncBuffer): Promise<Footer> {
  // Such ends have no range that a store could be asked for.
  if (buffer.byteLength < LEAST_BYTES) throw new FileDamage(file, `it has ${buffer.byteLength} bytes, fewer than any Parquet file`);
  let faultOfBuffer: unknown;
  const watched: AsyncBuffer = {
    byteLength: buffer.byteLength,
    slice: async (start, end) => {
      try {
        return await buffer.slice(start, end);
      } catch (error) {
        faultOfBuffer = error;
        throw error;
      }
    },
  };
  let metadata: FileMetaData;
  try {
    metadata = await parquetMetadataAsync(watched, { initialFetchSize: FIRST_FETCH_BYTES });
  } catch (error) {
    // Whoever could not deliver the bytes has not proven that they are bad.
    if (faultOfBuffer !== undefined) throw faultOfBuffer;
    throw new FileDamage(file, error instanceof Error ? error.message : String(error));
  }
  const offsets = range(file, bounds(file, metadata, 'offset'), 'offset', true);
  const times = range(file, bounds(file, metadata, 'kafka_timestamp'), 'kafka_timestamp', false);
  return {
    description: describe(file, metadata),
    rows: Number(metadata.num_rows),
    firstOffset: offsets.min,
    lastOffset: offsets.max,
    minTimestampMs: times.min,
    maxTimestampMs: times.max,
  };
}

/** Throws FileDamage unless the footer says what was meant to be written. */
export function verifyFooter(file: string, footer: Footer, expected: RowTotals): void {
  const { rows, firstOffset, lastOffset, minTimestampMs, maxTimestampMs } = expected;
  for (const [name, want] of Object.entries({ rows, firstOffset, lastOffset, minTimestampMs, maxTimestampMs })) {
    const got = footer[name as 'rows'];
    if (got !== want) throw new FileDamage(file, `${name} is ${got} in its footer, and should be ${want}`);
  }
}
