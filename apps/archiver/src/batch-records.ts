import type { Batch } from '@tailrace/kafka-kit';
import type { LakeRecord } from '@tailrace/lake';

/** The batch's records at and above `from`. They share the batch's buffers: good until its release. */
export function recordsFrom(batch: Batch, from: number): LakeRecord[] {
  const records: LakeRecord[] = [];
  for (let i = 0; i < batch.length; i++) {
    const offset = batch.offset(i);
    if (offset < from) continue;
    records.push({ offset, timestampMs: batch.timestampMs(i), key: batch.key(i), value: batch.value(i), headers: batch.headers(i) });
  }
  return records;
}

/** Bytes of key, value and header values. */
export function rawBytes({ key, value, headers }: LakeRecord): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const [, content] of headers) bytes += content?.length ?? 0;
  return bytes;
}
