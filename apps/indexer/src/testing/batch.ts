import type { Batch, Coordinates, Headers } from '@tailrace/kafka-kit';

export interface TestRecord {
  readonly value: Buffer | string | null;
  readonly headers?: Headers;
  readonly timestampMs?: number;
  /** Where it was first, when the batch is of a side channel. */
  readonly origin?: Coordinates;
  readonly notes?: Headers;
}

/** A batch of these records at the offsets from `firstOffset` on. */
export function batchOf(
  records: readonly TestRecord[],
  source = { topic: 'service-events', partition: 3, incarnation: 'AbCd-_12' },
  firstOffset = 100,
): Batch {
  const at = (i: number): TestRecord => {
    const record = records[i];
    if (record === undefined) throw new RangeError(`record ${i} of ${records.length}`);
    return record;
  };
  const value = (i: number) => {
    const bytes = at(i).value;
    return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  };
  const timestampMs = (i: number) => at(i).timestampMs ?? Date.now();
  return {
    source,
    length: records.length,
    bytes: records.reduce((sum, _, i) => sum + (value(i)?.length ?? 0), 0),
    closedBy: 'records',
    offset: (i) => firstOffset + i,
    timestampMs,
    key: () => null,
    value,
    headers: (i) => at(i).headers ?? [],
    origin: (i) => at(i).origin ?? { ...source, offset: firstOffset + i, timestampMs: timestampMs(i) },
    notes: (i) => at(i).notes ?? [],
    release: () => {},
  };
}
