import { claimStands } from './claims.ts';
import type { Ledger } from './ledger.ts';
import { LedgerDamage, type LedgerEntry } from './ledger-entry.ts';
import type { ChainId } from './records.ts';

/** One position of a chain. `lost`: a note says that nothing of the claim was left. `pending`: the last claim, without its object yet. */
export interface ListedEntry {
  readonly entry: LedgerEntry;
  readonly state: 'stands' | 'lost' | 'pending';
}

/** An entry that makes no sense: where it begins is all that is known of it. */
export interface DamagedEntry {
  readonly first: number;
  readonly damage: LedgerDamage;
}

const AHEAD = 16;

/** A chain's entries as they are in the ledger, in the order of offsets. */
export async function* listChain(ledger: Ledger, chain: ChainId): AsyncIterable<ListedEntry | DamagedEntry> {
  const firsts: number[] = [];
  const notes = new Set<number>();
  for await (const { first, kind } of ledger.items(chain)) {
    if (kind === 'lost') notes.add(first);
    else firsts.push(first);
  }
  for (let at = 0; at < firsts.length; at += AHEAD) {
    const entries = await Promise.all(firsts.slice(at, at + AHEAD).map((first) => readEntry(ledger, chain, first)));
    for (const [i, entry] of entries.entries()) {
      if ('damage' in entry) {
        yield entry;
        continue;
      }
      const isLast = at + i === firsts.length - 1;
      // Behind an entry that another follows stands its object: nobody extends a chain over a claim before that.
      const isOpen = isLast && entry.kind === 'data' && !(await claimStands(ledger, chain, entry));
      yield { entry, state: notes.has(entry.first) ? 'lost' : isOpen ? 'pending' : 'stands' };
    }
  }
}

async function readEntry(ledger: Ledger, chain: ChainId, first: number): Promise<LedgerEntry | DamagedEntry> {
  try {
    return await ledger.readEntry(chain, first);
  } catch (error) {
    // One bad entry must not hide the others; any other fault means that nothing can be read.
    if (error instanceof LedgerDamage) return { first, damage: error };
    throw error;
  }
}
