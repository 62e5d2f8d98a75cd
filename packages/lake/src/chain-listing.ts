import { claimStands } from './claims.ts';
import type { Ledger } from './ledger.ts';
import type { LedgerEntry } from './ledger-entry.ts';
import type { ChainId } from './records.ts';

/** One position of a chain. `lost`: a note says that nothing of the claim was left. `pending`: the last claim, without its object yet. */
export interface ListedEntry {
  readonly entry: LedgerEntry;
  readonly state: 'stands' | 'lost' | 'pending';
}

const AHEAD = 16;

/** A chain's entries as they are in the ledger, in the order of offsets. Throws LedgerDamage at one that makes no sense. */
export async function* listChain(ledger: Ledger, chain: ChainId): AsyncIterable<ListedEntry> {
  const firsts: number[] = [];
  const notes = new Set<number>();
  for await (const { first, kind } of ledger.items(chain)) {
    if (kind === 'lost') notes.add(first);
    else firsts.push(first);
  }
  for (let at = 0; at < firsts.length; at += AHEAD) {
    const entries = await Promise.all(firsts.slice(at, at + AHEAD).map((first) => ledger.readEntry(chain, first)));
    for (const [i, entry] of entries.entries()) {
      const isLast = at + i === firsts.length - 1;
      // Behind an entry that another follows stands its object: nobody extends a chain over a claim before that.
      const isOpen = isLast && entry.kind === 'data' && !(await claimStands(ledger, chain, entry));
      yield { entry, state: notes.has(entry.first) ? 'lost' : isOpen ? 'pending' : 'stands' };
    }
  }
}
