import { FileDamage } from './file-damage.ts';
import { type Footer, readFooter } from './footer.ts';
import type { Ledger } from './ledger.ts';
import type { DataEntry, LedgerEntry } from './ledger-entry.ts';
import { arrivalHour, parseDataKey } from './object-names.ts';
import { type ObjectStore, storeBuffer } from './object-store.ts';
import { offsetsIn, without } from './ranges.ts';
import { type ChainId, chainText, type OffsetRange } from './records.ts';

export interface AuditedEntry {
  readonly entry: LedgerEntry;
  readonly problems: readonly { readonly kind: 'missing-object' | 'damaged-object'; readonly detail: string }[];
  /** The object that stands behind a data entry. */
  readonly object?: { readonly rows: number; readonly sizeBytes: number };
  /** What of a data entry was gone before its object could be made. */
  readonly lost?: readonly OffsetRange[];
  readonly pending?: boolean;
}

/** Opens the object of an entry, and says what its footer says. Throws FileDamage, and StoreError where it could not look. */
export type LookInto = (store: ObjectStore, entry: DataEntry, sizeBytes: number) => Promise<Footer>;

export const lookAtFooter: LookInto = (store, { object }, sizeBytes) => readFooter(object, storeBuffer(store, object, sizeBytes));

export interface EntryContext {
  readonly lookInto: LookInto;
  readonly sizes: ReadonlyMap<string, number>;
  readonly isLost: boolean;
  readonly isLast: boolean;
}

/** Every way in which a footer contradicts the entry that claims its file. */
function contradictions(chain: ChainId, entry: DataEntry, footer: Footer): string[] {
  const { description } = footer;
  const whole = without({ first: entry.first, next: description.from }, entry.voids).length === 0;
  const facts: [string, unknown, unknown][] = [
    ['chain', chainText(description), chainText(chain)],
    ['first', description.first, entry.first],
    ['next', description.next, entry.next],
    ['first row', footer.firstOffset, description.from],
    ['rows', footer.rows, offsetsIn(without({ first: description.from, next: entry.next }, entry.voids))],
    ['rows by its own description', footer.rows, description.rows],
  ];
  if (whole)
    facts.push(
      ['checksum', description.checksum, entry.checksum],
      ['least time', footer.minTimestampMs, entry.minTimestampMs],
      ['greatest time', footer.maxTimestampMs, entry.maxTimestampMs],
    );
  const problems = facts.filter(([, got, want]) => got !== want).map(([name, got, want]) => `${name} is ${got}, and should be ${want}`);
  if (footer.lastOffset >= entry.next) problems.push(`its last row is ${footer.lastOffset}, at or above ${entry.next}`);
  return problems;
}

/** Whether the key says where and when the rows are. */
function misplaced(ledger: Ledger, chain: ChainId, entry: DataEntry, footer: Footer): string[] {
  const name = parseDataKey(ledger.lake, entry.object);
  if (name === undefined || chainText(name) !== chainText(chain) || name.first !== entry.first)
    return [`its key ${entry.object} is not that of the entry`];
  const hours = [footer.minTimestampMs, footer.maxTimestampMs].map(arrivalHour);
  return hours.every((arrived) => arrived?.day === name.day && arrived.hour === name.hour)
    ? []
    : ['it has rows of another hour than its key says'];
}

/** Looks at what stands behind one entry. Throws StoreError when it could not look. */
export async function auditEntry(ledger: Ledger, chain: ChainId, entry: LedgerEntry, context: EntryContext): Promise<AuditedEntry> {
  if (entry.kind !== 'data') return { entry, problems: [] };
  // An object that came after the listing is there all the same.
  const sizeBytes = context.sizes.get(entry.object) ?? (await ledger.store.sizeBytes(entry.object));
  if (sizeBytes === undefined) {
    if (context.isLost) return { entry, problems: [], lost: without(entry, entry.voids) };
    if (context.isLast) return { entry, problems: [], pending: true };
    return { entry, problems: [{ kind: 'missing-object', detail: `${entry.object} is not there, and no note says that it is lost` }] };
  }
  let footer: Footer;
  try {
    footer = await context.lookInto(ledger.store, entry, sizeBytes);
  } catch (error) {
    if (!(error instanceof FileDamage)) throw error;
    return { entry, problems: [{ kind: 'damaged-object', detail: error.message }] };
  }
  const problems = [...contradictions(chain, entry, footer), ...misplaced(ledger, chain, entry, footer)];
  const { from } = footer.description;
  return {
    entry,
    problems: problems.map((what) => ({ kind: 'damaged-object', detail: `${entry.object}: ${what}` })),
    object: { rows: footer.rows, sizeBytes },
    lost: without({ first: entry.first, next: from }, entry.voids),
  };
}
