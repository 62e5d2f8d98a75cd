import { formatRecordId } from '@tailrace/events';
import type { Batch, Coordinates } from '@tailrace/kafka-kit';
import { ByteWriter } from './byte-writer.ts';
import type { BadValue } from './document.ts';

/** One record in a bulk's body: its place in the batch, and its bytes `[start, end)` with action and document. */
export interface BulkItem {
  readonly record: number;
  readonly index: string;
  readonly start: number;
  readonly end: number;
}

export interface BulkBody {
  readonly bytes: Buffer;
  readonly items: readonly BulkItem[];
}

/** What action and coordinates of a record take, roughly: the writer grows when it is more. */
const EXTRA_BYTES = 320;

type WriteValue = (value: Buffer | null, out: ByteWriter) => BadValue | undefined;

/**
 * The ready body of a bulk over some records of a batch. Each item is an `index` action under the record's id and the record's
 * coordinates in front of what `writeValue` appends. `onBad` is told of each record whose value can not be a document.
 */
export function buildBulk(
  batch: Batch,
  records: readonly { readonly record: number; readonly index: string; readonly origin: Coordinates }[],
  writeValue: (record: number) => WriteValue,
  onBad: (record: number, bad: BadValue) => void,
): BulkBody {
  const out = new ByteWriter(batch.bytes + EXTRA_BYTES * records.length);
  const items: BulkItem[] = [];
  for (const { record, index, origin } of records) {
    const start = out.length;
    // Topic names, index names and ids are plain ASCII without anything that JSON escapes.
    out.ascii(
      `{"index":{"_index":"${index}","_id":"${formatRecordId(origin)}"}}\n{"topic":"${origin.topic}","incarnation":"${origin.incarnation}","partition":${origin.partition},"offset":${origin.offset},"kafka_timestamp":${origin.timestampMs}`,
    );
    const bad = writeValue(record)(batch.value(record), out);
    if (bad === undefined) {
      out.endLine();
      items.push({ record, index, start, end: out.length });
    } else {
      out.rewind(start);
      onBad(record, bad);
    }
  }
  return { bytes: out.bytes, items };
}
