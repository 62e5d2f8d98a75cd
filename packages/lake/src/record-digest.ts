import { hash } from 'node:crypto';
import type { LakeRecord } from './records.ts';

const FIXED_BYTES = 8 + 8 + 4 + 4 + 4;
const DIGEST_DIGITS = 16;
const NULL_LENGTH = -1;
const TWO_32 = 2 ** 32;
/** UTF-16 units take at most three bytes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;
let scratch = Buffer.allocUnsafe(64 * 1024);

function room(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafe(Math.max(bytes, scratch.length * 2));
  return scratch;
}

/** A whole number within +-2^53 as 8 bytes, big-endian: without a BigInt, which costs more than the hash of a short record. */
function putInt64(into: Buffer, at: number, value: number): number {
  into.writeInt32BE(Math.floor(value / TWO_32), at);
  return into.writeUInt32BE(value >= 0 ? value % TWO_32 : ((value % TWO_32) + TWO_32) % TWO_32, at + 4);
}

/** Length (4 bytes, -1 for null), then the bytes. Returns where the next field begins. */
function put(into: Buffer, at: number, bytes: Buffer | null): number {
  if (bytes === null) return into.writeInt32BE(NULL_LENGTH, at);
  const start = into.writeInt32BE(bytes.length, at);
  into.set(bytes, start);
  return start + bytes.length;
}

/**
 * A record's digest, in 16 hexadecimal digits: the first 8 bytes of SHA-256 over everything a record is: offset and time (8 bytes each), key, value, the number of headers (4 bytes),
 * and each header's name and value; key, value, name and header value have their length (4 bytes, -1 for null) before them, so no two
 * records read alike. Numbers are big-endian.
 */
export function digestText(record: LakeRecord): string {
  const { key, value, headers } = record;
  let bytes = FIXED_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, content] of headers) bytes += 8 + name.length * MAX_BYTES_PER_UNIT + (content?.length ?? 0);
  const into = room(bytes);
  let at = putInt64(into, 0, record.offset);
  at = putInt64(into, at, record.timestampMs);
  at = put(into, at, key);
  at = put(into, at, value);
  at = into.writeInt32BE(headers.length, at);
  for (const [name, content] of headers) {
    const nameBytes = into.write(name, at + 4, 'utf8');
    into.writeInt32BE(nameBytes, at);
    at = put(into, at + 4 + nameBytes, content);
  }
  // As text: a Buffer or a BigInt of its own for each record costs more than the hash.
  return hash('sha256', into.subarray(0, at)).slice(0, DIGEST_DIGITS);
}

/** A record's digest as a number. */
export function recordDigest(record: LakeRecord): bigint {
  return BigInt(`0x${digestText(record)}`);
}

/** The sum of two checksums, modulo 2^64: a range's checksum is the sum over its records, so parts can be added up in any order. */
export function addDigest(sum: bigint, digest: bigint): bigint {
  return BigInt.asUintN(64, sum + digest);
}

/** A sum of digests that grows record by record, in two halves: a BigInt for each record is garbage. */
export class DigestSum {
  #high: number;
  #low: number;

  constructor(from = 0n) {
    this.#high = Number(from >> 32n);
    this.#low = Number(from & 0xffff_ffffn);
  }

  /** Adds a digest in hexadecimal digits. */
  add(digest: string): void {
    const low = this.#low + Number.parseInt(digest.slice(8), 16);
    const carry = low >= TWO_32 ? 1 : 0;
    this.#low = low % TWO_32;
    this.#high = (this.#high + Number.parseInt(digest.slice(0, 8), 16) + carry) % TWO_32;
  }

  get value(): bigint {
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }
}

/** 16 hexadecimal digits, as the ledger and the footer write it. */
export function checksumText(sum: bigint): string {
  return sum.toString(16).padStart(16, '0');
}
