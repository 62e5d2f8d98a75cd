import { type AuditedEntry, auditEntry, type EntryContext, type LookInto, lookAtFooter } from './audit-entry.ts';
import type { Ledger } from './ledger.ts';
import { LedgerDamage, type LedgerEntry } from './ledger-entry.ts';
import { dataPrefix, entryKey, parseDataKey } from './object-names.ts';
import type { ChainId, OffsetRange } from './records.ts';

/** Something of one chain that is not as the ledger and the design say. */
export interface ChainFinding extends ChainId, OffsetRange {
  readonly kind:
    | 'gap'
    | 'overlap'
    | 'missing-object'
    | 'damaged-object'
    | 'damaged-entry'
    | 'unclaimed-object'
    /** Kafka no longer holds them, and the lake does not yet: no archiver can bring them any more. */
    | 'expired'
    /** The log ends below the chain: what Kafka writes there next would be taken for archived. */
    | 'truncated'
    /** They wait in Kafka for longer than the archiver is allowed. */
    | 'late';
  readonly detail: string;
}

/** A file among the data that no entry claims and whose name is none of ours: who reads all `*.parquet` reads it. */
export interface StrangerFinding {
  readonly kind: 'unclaimed-object';
  readonly object: string;
  readonly detail: string;
}

export type Finding = ChainFinding | StrangerFinding;

/** What a lake holds of one partition of one life of a topic: offsets `[first, next)`. */
export interface PartitionReport extends ChainId, OffsetRange {
  readonly objects: number;
  readonly rows: number;
  readonly bytes: number;
  /** Offsets that were gone before the archive began. */
  readonly beforeArchive: readonly OffsetRange[];
  /** Offsets that never held a readable record. */
  readonly voids: readonly OffsetRange[];
  /** Offsets that were declared lost: they were gone from Kafka before they were archived. */
  readonly lost: readonly OffsetRange[];
  /** The last claim, whose object is not there yet: still being written, or left by a crash until the next archiver makes it. */
  readonly pending: OffsetRange | null;
}

export interface AuditReport {
  readonly partitions: readonly PartitionReport[];
  readonly findings: readonly Finding[];
}

export interface LakeAuditOptions {
  /** Is told how many objects were looked into, of how many that there were at the start. */
  readonly progress?: (objects: number, all: number) => void;
  /** How each object is looked into: its footer, where nothing else is said. */
  readonly lookInto?: LookInto;
  /** How many objects are looked into at once. */
  readonly atOnce?: number;
}

const AT_ONCE = 8;

/** Runs `work` over the items, a few at a time, and keeps their order. */
async function mapSome<T, R>(items: readonly T[], atOnce: number, work: (item: T, place: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let taken = 0;
  const worker = async (): Promise<void> => {
    for (let place = taken++; place < items.length; place = taken++) results[place] = await work(items[place] as T, place);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return results;
}

/**
 * Whether every partition is covered exactly once by data, declared voids and declared losses, and each object is as its entry says
 * (rows, offsets, times, hour: by its footer). It may run beside an archiver.
 */
export async function auditLake(ledger: Ledger, options: LakeAuditOptions = {}): Promise<AuditReport> {
  const { progress = () => {}, lookInto = lookAtFooter, atOnce = AT_ONCE } = options;
  // Objects first: each one listed was claimed before, so a claim that is not there when the ledger is read later will never come.
  const sizes = new Map<string, number>();
  for await (const { key, sizeBytes } of ledger.store.list(dataPrefix(ledger.lake)))
    if (key.endsWith('.parquet')) sizes.set(key, sizeBytes);

  const partitions: PartitionReport[] = [];
  const findings: Finding[] = [];
  const all = sizes.size;
  let objects = 0;
  for (const chain of await ledger.chains()) {
    const audited = await auditChain(ledger, chain, { sizes, lookInto, atOnce }, () => progress(++objects, Math.max(all, objects)));
    partitions.push(audited.report);
    findings.push(...audited.findings);
    for (const key of audited.claimed) sizes.delete(key);
  }
  return { partitions, findings: [...findings, ...[...sizes.keys()].map((key) => unclaimed(ledger, key))] };
}

function unclaimed({ lake }: Ledger, key: string): Finding {
  const name = parseDataKey(lake, key);
  const kind = 'unclaimed-object';
  if (name === undefined)
    return { kind, object: key, detail: `no ledger entry claims ${key}, and its name is none of the lake's: readers of *.parquet read it` };
  const { topic, incarnation, partition, first } = name;
  return { topic, incarnation, partition, kind, first, next: first + 1, detail: `no ledger entry claims ${key}` };
}

async function auditChain(
  ledger: Ledger,
  chain: ChainId,
  context: Pick<EntryContext, 'sizes' | 'lookInto'> & { readonly atOnce: number },
  looked: () => void,
) {
  const firsts: number[] = [];
  const lostNotes = new Set<number>();
  for await (const { first, kind } of ledger.items(chain)) {
    if (kind === 'lost') lostNotes.add(first);
    else firsts.push(first);
  }
  const findings: Finding[] = [];
  const finding = (kind: ChainFinding['kind'], first: number, next: number, detail: string): void => {
    findings.push({ ...chain, kind, first, next, detail });
  };
  const read = await mapSome(firsts, context.atOnce, async (first, place): Promise<AuditedEntry | undefined> => {
    const entry = await readEntry(ledger, chain, first, finding);
    const audited =
      entry && (await auditEntry(ledger, chain, entry, { ...context, isLost: lostNotes.has(first), isLast: place === firsts.length - 1 }));
    if (audited?.object !== undefined) looked();
    return audited;
  });
  const entries = read.filter((each) => each !== undefined);
  for (const { problems, entry } of entries) for (const { kind, detail } of problems) finding(kind, entry.first, entry.next, detail);
  let end = 0;
  for (const { entry } of entries) {
    if (entry.first > end) finding('gap', end, entry.first, `no entry covers offsets ${end} to ${entry.first - 1}`);
    if (entry.first < end) finding('overlap', entry.first, Math.min(end, entry.next), `offsets from ${entry.first} on are covered twice`);
    end = Math.max(end, entry.next);
  }
  return {
    report: report(chain, end, entries),
    findings,
    claimed: entries.flatMap(({ entry }) => (entry.kind === 'data' ? [entry.object] : [])),
  };
}

async function readEntry(
  ledger: Ledger,
  chain: ChainId,
  first: number,
  finding: (kind: ChainFinding['kind'], first: number, next: number, detail: string) => void,
): Promise<LedgerEntry | undefined> {
  try {
    const entry = await ledger.entryAt(chain, first);
    if (entry === undefined)
      finding('damaged-entry', first, first + 1, `${entryKey(ledger.lake, chain, first)} was listed and is not there`);
    return entry;
  } catch (error) {
    // A damaged entry is what an audit looks for; any other fault means that it could not look.
    if (!(error instanceof LedgerDamage)) throw error;
    finding('damaged-entry', first, first + 1, error.message);
    return undefined;
  }
}

function report(chain: ChainId, end: number, entries: readonly AuditedEntry[]): PartitionReport {
  const ranges = (kind: LedgerEntry['kind']): OffsetRange[] =>
    entries.filter(({ entry }) => entry.kind === kind).map(({ entry: { first, next } }) => ({ first, next }));
  const last = entries.at(-1);
  const pending = last?.pending === true ? { first: last.entry.first, next: last.entry.next } : null;
  const sum = (of: (entry: AuditedEntry) => number): number => entries.reduce((total, entry) => total + of(entry), 0);
  return {
    ...chain,
    first: 0,
    next: pending?.first ?? end,
    objects: sum(({ object }) => (object === undefined ? 0 : 1)),
    rows: sum(({ object }) => object?.rows ?? 0),
    bytes: sum(({ object }) => object?.sizeBytes ?? 0),
    beforeArchive: ranges('genesis'),
    voids: [...ranges('void'), ...entries.flatMap(({ entry }) => (entry.kind === 'data' ? entry.voids : []))],
    lost: [...ranges('lost'), ...entries.flatMap(({ lost }) => lost ?? [])],
    pending,
  };
}
