import type { JoinedSources } from './joined-reader.ts';
import type { Ledger } from './ledger.ts';
import { LedgerDamage } from './ledger-entry.ts';

/** What a ledger says of an offset, for a replay. */
export function archivedAt(ledger: Ledger): JoinedSources['archived'] {
  return async (chain, offset) => {
    try {
      const entry = await ledger.holding(chain, offset);
      if (entry === undefined) return undefined;
      // What holds no record has no time: it is no part of the live tail.
      return { newestMs: entry.kind === 'data' ? entry.maxTimestampMs : Number.NEGATIVE_INFINITY };
    } catch (fault) {
      // What a damaged entry covers is told where the history is read: there it is a hole with its range.
      if (fault instanceof LedgerDamage) return { newestMs: Number.NEGATIVE_INFINITY };
      throw fault;
    }
  };
}
