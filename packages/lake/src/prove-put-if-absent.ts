import { randomUUID } from 'node:crypto';
import { type LakeLayout, scratchPrefix } from './object-names.ts';
import { type ObjectStore, StoreError } from './object-store.ts';

/** The store lets more than one writer make an object: the lake can not be kept there. Not an outage. */
export class PutIfAbsentIgnored extends StoreError {
  constructor(store: ObjectStore, what: string) {
    super(
      `${store.name} does not honour put-if-absent (If-None-Match: *): ${what}. Without it two archivers could overwrite each other, so name a store that does.`,
    );
    this.name = 'PutIfAbsentIgnored';
  }
}

const WRITERS = 8;
const ROUNDS = 3;

/**
 * Proves on scratch keys that the store really honours put-if-absent when several writers meet: the lake's only commit. Throws
 * PutIfAbsentIgnored where it does not (some servers accept the header and let several writers win).
 */
export async function provePutIfAbsent(store: ObjectStore, lake: LakeLayout): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await proveOnce(store, `${scratchPrefix(lake)}put-if-absent-${randomUUID()}`);
}

async function proveOnce(store: ObjectStore, key: string): Promise<void> {
  const bodies = Array.from({ length: WRITERS }, (_, i) => Buffer.from(`writer ${i}`));
  try {
    const answers = await Promise.all(bodies.map((body) => store.putIfAbsent(key, body)));
    const winners = answers.flatMap((answer, i) => (answer === 'created' ? [i] : []));
    if (winners.length > 1)
      throw new PutIfAbsentIgnored(store, `${winners.length} of ${WRITERS} writers of one key were told that they had made it`);
    const kept = await store.get(key);
    // No winner at all is legal: its answer was lost, and the client's second attempt met the first.
    const expected = winners[0] === undefined ? bodies : bodies.slice(winners[0], winners[0] + 1);
    if (kept === undefined || !expected.some((body) => body.equals(kept)))
      throw new PutIfAbsentIgnored(store, 'the winner’s object was not kept');
    if ((await store.putIfAbsent(key, Buffer.from('late writer'))) === 'created')
      throw new PutIfAbsentIgnored(store, 'a late writer was told that it had made an object that was there');
    const after = await store.get(key);
    if (after === undefined || !after.equals(kept)) throw new PutIfAbsentIgnored(store, 'a late writer changed an object that was there');
  } finally {
    await store.delete(key);
  }
}
