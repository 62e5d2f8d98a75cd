import { hash } from 'node:crypto';

const DIGEST_DIGITS = 16;
const NULL_LENGTH = -1;
const TWO_32 = 2 ** 32;
let scratch = Buffer.allocUnsafe(64 * 1024);

/** Memory to put a record's fields into, good until the next call: a Buffer of its own for each record costs more than the hash. */
export function digestRoom(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafe(Math.max(bytes, scratch.length * 2));
  return scratch;
}

/** A whole number within +-2^53 as 8 bytes, big-endian: without a BigInt, which costs more than the hash of a short record. */
export function putInt64(into: Buffer, at: number, value: number): number {
  into.writeInt32BE(Math.floor(value / TWO_32), at);
  return into.writeUInt32BE(value >= 0 ? value % TWO_32 : ((value % TWO_32) + TWO_32) % TWO_32, at + 4);
}

/** Length (4 bytes, -1 for null), then the bytes. Returns where the next field begins. */
export function putBytes(into: Buffer, at: number, bytes: Buffer | null): number {
  if (bytes === null) return into.writeInt32BE(NULL_LENGTH, at);
  const start = into.writeInt32BE(bytes.length, at);
  into.set(bytes, start);
  return start + bytes.length;
}

/** The first 8 bytes of SHA-256 over the first `end` bytes, in 16 hexadecimal digits. As text: a Buffer or a BigInt for each record costs more than the hash. */
export function digestOf(bytes: Buffer, end: number): string {
  return hash('sha256', bytes.subarray(0, end)).slice(0, DIGEST_DIGITS);
}

/**
 * What a replay counts a record with, in 16 hexadecimal digits: the first 8 bytes of SHA-256 over its offset (8 bytes), then key and value, each with its
 * length (4 bytes, -1 for null) before it. Numbers are big-endian. `offset`, `key` and `value` are the origin's.
 */
export function replayDigest(offset: number, key: Buffer | null, value: Buffer | null): string {
  const into = digestRoom(8 + 4 + 4 + (key?.length ?? 0) + (value?.length ?? 0));
  return digestOf(into, putBytes(into, putBytes(into, putInt64(into, 0, offset), key), value));
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
