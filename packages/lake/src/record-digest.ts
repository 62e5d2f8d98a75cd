import { digestOf, digestRoom, putBytes, putInt64 } from '@tailrace/kafka-kit/digest';
import type { LakeRecord } from './records.ts';

const FIXED_BYTES = 8 + 8 + 4 + 4 + 4;
/** UTF-16 units take at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * A record's digest, in 16 hexadecimal digits: the first 8 bytes of SHA-256 over everything a record is: offset and time (8 bytes each), key, value, the number of headers (4 bytes),
 * and each header's name and value; key, value, name and header value have their length (4 bytes, -1 for null) before them, so no two
 * records read alike. Numbers are big-endian.
 */
export function digestText(record: LakeRecord): string {
  const { key, value, headers } = record;
  let bytes = FIXED_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, content] of headers) bytes += 8 + name.length * MAX_BYTES_PER_UNIT + (content?.length ?? 0);
  const into = digestRoom(bytes);
  let at = putInt64(into, 0, record.offset);
  at = putInt64(into, at, record.timestampMs);
  at = putBytes(into, at, key);
  at = putBytes(into, at, value);
  at = into.writeInt32BE(headers.length, at);
  for (const [name, content] of headers) {
    const nameBytes = into.write(name, at + 4, 'utf8');
    into.writeInt32BE(nameBytes, at);
    at = putBytes(into, at + 4 + nameBytes, content);
  }
  return digestOf(into, at);
}

/** A record's digest as a number. */
export function recordDigest(record: LakeRecord): bigint {
  return BigInt(`0x${digestText(record)}`);
}
