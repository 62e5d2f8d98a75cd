import type { Ledger } from './ledger.ts';
import { LedgerDamage, type LedgerEntry } from './ledger-entry.ts';
import type { ChainId } from './records.ts';

/** `found`: the first object of a chain, and its least broker time. `further`: not among the entries looked at; the next look begins at `from`. */
export type OldestLook =
  | { readonly kind: 'found'; readonly offset: number; readonly timestampMs: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'further'; readonly from: number };

/** A chain begins with a genesis at most; more without an object are losses, or objects that somebody deleted. */
const MAX_ENTRIES = 100;

/**
 * The oldest record of a chain that the lake still has: what `replay window` shows, without a listing of the lake. It looks at the entries from `from`
 * on, where an earlier look ended: the chain's beginning does not change, but its objects may be deleted. Throws StoreError.
 */
export async function oldestInLake(ledger: Ledger, chain: ChainId, from = 0): Promise<OldestLook> {
  let looked = 0;
  for await (const { first, kind } of ledger.items(chain, from)) {
    if (kind !== 'entry') continue;
    if (looked++ === MAX_ENTRIES) return { kind: 'further', from: first };
    const entry = await readEntry(ledger, chain, first);
    if (entry?.kind !== 'data' || (await ledger.store.sizeBytes(entry.object)) === undefined) continue;
    return { kind: 'found', offset: first, timestampMs: entry.minTimestampMs };
  }
  return { kind: 'none' };
}

async function readEntry(ledger: Ledger, chain: ChainId, first: number): Promise<LedgerEntry | undefined> {
  try {
    return await ledger.readEntry(chain, first);
  } catch (fault) {
    // Safe: a damaged entry names no object, and an audit names it.
    if (fault instanceof LedgerDamage) return undefined;
    throw fault;
  }
}
