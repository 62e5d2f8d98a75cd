import { isUtf8 } from 'node:buffer';
import type { Coordinates, DeadLetter } from '@tailrace/kafka-kit';
import { isoTime } from '@tailrace/kafka-kit/time';
import type { ObjectStore } from './object-store.ts';

/** Under which a bucket keeps the dead records that no topic takes. Readers of the lake never look there. */
export function unsendablePrefix(prefix: string): string {
  return prefix === '' ? '_unsendable/' : `${prefix}/_unsendable/`;
}

/** The key is a function of group and coordinates alone: a record that is read again finds itself there. */
function unsendableKey(prefix: string, group: string, { topic, incarnation, partition, offset }: Coordinates): string {
  return `${unsendablePrefix(prefix)}${group}/${topic}~${incarnation}/${partition}/${String(offset).padStart(20, '0')}.json`;
}

/**
 * Stores a dead record whole: what is known of it, and its bytes, as JSON that people can read. Resolves once it stands there;
 * rejects with StoreError. One that is there already is this very record: the key names it.
 */
export async function keepUnsendable(store: ObjectStore, prefix: string, letter: DeadLetter, why: string): Promise<void> {
  const { group, reason, detail, origin, via, attempts, replays, failedAtMs, key, value, headers } = letter;
  const body = {
    format: 'tailrace-unsendable-1',
    group,
    reason,
    detail,
    why,
    source: origin,
    via,
    attempts,
    replays,
    failed_at: isoTime(failedAtMs),
    key: readable(key),
    value: readable(value),
    headers: headers.map(([name, bytes]) => [name, readable(bytes)]),
  };
  await store.putIfAbsent(unsendableKey(prefix, group, origin), Buffer.from(`${JSON.stringify(body, null, 2)}\n`));
}

/** Bytes as text where they are UTF-8, else in base64; null for none. */
function readable(bytes: Buffer | null): { readonly text: string } | { readonly base64: string } | null {
  if (bytes === null) return null;
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}
