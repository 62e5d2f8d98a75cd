const SEED = 0x9747b28c;
const MULTIPLIER = 0x5bd1e995;

/** The 32-bit murmur2 hash of Kafka's Java client, as a signed number (A. Appleby's MurmurHash2 with Kafka's seed). */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  let hash = SEED ^ length;
  const whole = length & ~3;
  const at = (i: number) => bytes[i] ?? 0;
  for (let i = 0; i < whole; i += 4) {
    let k = at(i) | (at(i + 1) << 8) | (at(i + 2) << 16) | (at(i + 3) << 24);
    k = Math.imul(k, MULTIPLIER);
    k ^= k >>> 24;
    k = Math.imul(k, MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ k;
  }
  const rest = length - whole;
  if (rest >= 3) hash ^= at(whole + 2) << 16;
  if (rest >= 2) hash ^= at(whole + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ at(whole), MULTIPLIER);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, MULTIPLIER);
  return hash ^ (hash >>> 15);
}

/** The partition of a key, exactly as Java's default partitioner has it: the sign bit is cleared, not the sign turned. */
export function partitionForKey(key: Buffer, partitions: number): number {
  if (!Number.isInteger(partitions) || partitions < 1) throw new Error(`a topic has at least one partition, not ${partitions}`);
  return (murmur2(key) & 0x7fffffff) % partitions;
}

/** The key of an event's record: its `customer_id` in UTF-8, or null, and then the record goes to any partition. */
export function keyOf(event: { readonly customer_id?: string | null | undefined }): Buffer | null {
  return typeof event.customer_id === 'string' ? Buffer.from(event.customer_id, 'utf8') : null;
}
