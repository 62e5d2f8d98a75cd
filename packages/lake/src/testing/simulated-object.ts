import { addDigest, checksumText } from '@tailrace/kafka-kit/digest';
import type { LookInto } from '../audit-entry.ts';
import { FILE_VERSION, type FileDescription } from '../footer.ts';
import type { DataEntry } from '../ledger-entry.ts';
import { dataEntry } from '../object-builder.ts';
import type { LakeLayout } from '../object-names.ts';
import { StoreError } from '../object-store.ts';
import { REBUILD_VERSION } from '../rebuild.ts';
import type { ChainId, OffsetRange } from '../records.ts';
import type { RowTotals } from '../row-totals.ts';
import type { Row } from './simulated-log.ts';

export const LAKE: LakeLayout = { prefix: 'p', stream: 'service-events' };
const TIME = 1_767_323_045_123;

/** A range with its rows, on its way into the simulated lake. The last offset is a row's. */
export interface Rows extends OffsetRange {
  readonly voids: readonly OffsetRange[];
  readonly rows: readonly Row[];
}

/** What stands in the simulated store under a data key: a description like that of a Parquet file, and the rows as they are. */
interface Body {
  readonly description: FileDescription;
  readonly rows: readonly Row[];
}

function totalsOf(rows: readonly Row[]): RowTotals {
  const [first] = rows;
  const last = rows.at(-1);
  if (first === undefined || last === undefined) throw new RangeError('an object has a row');
  const digestOf = ({ offset, content }: Row): bigint => BigInt(offset * 1000 + content.charCodeAt(content.indexOf(':') - 1));
  return {
    rows: rows.length,
    firstOffset: first.offset,
    lastOffset: last.offset,
    minTimestampMs: TIME + first.offset,
    maxTimestampMs: TIME + last.offset,
    checksum: rows.reduce((sum, row) => addDigest(sum, digestOf(row)), 0n),
  };
}

/** The claim for these rows. */
export function entryOf(chain: ChainId, rows: Rows, attempt: string): DataEntry {
  return dataEntry(LAKE, chain, rows, totalsOf(rows.rows), attempt);
}

/** The object's bytes, and its checksum. */
export function bodyOf(chain: ChainId, { first, next, rows }: Rows): { readonly body: Buffer; readonly checksum: string } {
  const { firstOffset, checksum, ...totals } = totalsOf(rows);
  const description = {
    version: FILE_VERSION,
    rebuild: REBUILD_VERSION,
    columns: [],
    ...chain,
    first,
    next,
    from: firstOffset,
    rows: totals.rows,
    minTimestampMs: totals.minTimestampMs,
    maxTimestampMs: totals.maxTimestampMs,
    checksum: checksumText(checksum),
  };
  const body: Body = { description, rows };
  return { body: Buffer.from(JSON.stringify(body)), checksum: checksumText(checksum) };
}

export function rowsIn(body: Buffer): readonly Row[] {
  return (JSON.parse(body.toString()) as Body).rows;
}

/** What a reader of footers finds in the simulated objects. */
export const lookIntoSimulated: LookInto = async (store, entry) => {
  const body = await store.get(entry.object);
  if (body === undefined) throw new StoreError(`${entry.object} was listed and is not there`);
  const { description, rows } = JSON.parse(body.toString()) as Body;
  const { firstOffset, lastOffset, minTimestampMs, maxTimestampMs } = totalsOf(rows);
  return { description, rows: rows.length, firstOffset, lastOffset, minTimestampMs, maxTimestampMs };
};
