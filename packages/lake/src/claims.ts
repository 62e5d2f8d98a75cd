import { randomUUID } from 'node:crypto';
import type { Ledger } from './ledger.ts';
import type { DataEntry, LedgerEntry } from './ledger-entry.ts';
import { type ChainId, chainText, type LakeRecord, type OffsetRange } from './records.ts';

/** What Kafka still holds of a range. `from` is at or above the range's first offset; all records in `[from, next)` are delivered, in order. */
export type LogRange =
  | { readonly kind: 'records'; readonly from: number; readonly records: AsyncIterable<readonly LakeRecord[]> }
  | { readonly kind: 'nothing-left' };

/**
 * Reads a range from the log, in which every offset outside of `voids` holds a record. A throw is an outage; it never ends early and never
 * skips. Nothing is left where that life of the topic is over: its log can not be read any more.
 */
export type ReadLog = (chain: ChainId, first: number, next: number, voids: readonly OffsetRange[]) => Promise<LogRange>;

/** Makes the bytes of the object that a claim names, from what the log still holds of it; `checksum` is that of its records. */
export type MakeObject = (
  chain: ChainId,
  entry: DataEntry,
  range: LogRange & { readonly kind: 'records' },
) => Promise<{ readonly body: Buffer; readonly checksum: string }>;

/**
 * What had to be done so that a claim has its object. `rest`: only `[from, next)` was left in the log. `changed`: the log holds other
 * records there than were claimed (an unclean leader election), and the object holds what the log holds. `lost`: nothing was left.
 */
export type Repair = { readonly kind: 'stands' | 'made' | 'changed' | 'lost' } | { readonly kind: 'rest'; readonly from: number };

export interface RepairPorts {
  readonly ledger: Ledger;
  readonly readLog: ReadLog;
  readonly makeObject: MakeObject;
  /** Where the log begins, by a look-up begun after the call; undefined where that life of the topic is over. A throw is an outage. */
  readonly logStart: (chain: ChainId) => Promise<number | undefined>;
}

/** Whether the claim's object, or the note that nothing was left of it, is there. For readers a claim with neither is the chain's end. */
export async function claimStands(ledger: Ledger, chain: ChainId, entry: DataEntry): Promise<boolean> {
  return (await ledger.store.sizeBytes(entry.object)) !== undefined || (await ledger.isLost(chain, entry.first));
}

/**
 * Sees to it that a claim has its object: a crash between claim and object leaves one without. The object is made from exactly
 * [first, next) of the log; where only a rest is left, it holds that rest; where nothing is left, a note says so. Several may do
 * this at once: put-if-absent lets one of them win, and what it put is the truth about the claim.
 */
export async function repairClaim(ports: RepairPorts, chain: ChainId, entry: DataEntry): Promise<Repair> {
  const { ledger } = ports;
  if (await claimStands(ledger, chain, entry)) return { kind: 'stands' };
  const range = await ports.readLog(chain, entry.first, entry.next, entry.voids);
  if (range.kind === 'nothing-left') {
    await ledger.noteLost(chain, entry);
    return { kind: 'lost' };
  }
  const { body, checksum } = await ports.makeObject(chain, entry, range);
  if ((await ledger.store.putIfAbsent(entry.object, body)) === 'exists') return { kind: 'stands' };
  if (range.from > entry.first) return { kind: 'rest', from: range.from };
  return { kind: checksum === entry.checksum ? 'made' : 'changed' };
}

export interface Extended {
  /** Where the chain goes on; everything below is safe. */
  readonly end: number;
  /** Another attempt's entry that was met at this position, and what its object needed. */
  readonly met: { readonly entry: LedgerEntry; readonly repair: Repair } | undefined;
}

/**
 * Extends a chain by one entry: the claim, then the object under it. Where another attempt stands at that position, its object is made
 * sure of instead and nothing of ours is written. After a throw it is called again with the same entry, as often as it takes.
 * `onClaimed` is told as soon as the claim is known to be ours.
 */
export async function extendChain(
  ports: RepairPorts,
  chain: ChainId,
  entry: DataEntry,
  body: Buffer,
  onClaimed: () => void,
): Promise<Extended> {
  const met = await claimOrMeet(ports, chain, entry);
  if (met !== undefined) return met;
  onClaimed();
  // `exists` is success too: an earlier attempt whose answer was lost, or somebody who repaired our claim. What is there is the truth.
  await ports.ledger.store.putIfAbsent(entry.object, body);
  return { end: entry.next, met: undefined };
}

/** Offsets of a chain without rows: none was ever there to be read, or they are gone. */
export type HoleEntry = LedgerEntry & { readonly kind: 'void' | 'lost' };

/** Extends a chain over offsets that hold no row, under the rules of `extendChain`. */
export async function declareHole(ports: RepairPorts, chain: ChainId, entry: HoleEntry): Promise<Extended> {
  return (await claimOrMeet(ports, chain, entry)) ?? { end: entry.next, met: undefined };
}

/** Offsets that were said to be gone are still in the log: nothing is declared. */
export class StillThere extends Error {
  constructor(chain: ChainId, { first, next }: OffsetRange, start: number) {
    super(
      `Offsets ${first} to ${next - 1} of ${chainText(chain)} were said to be gone, and the log begins at ${start}: they are read again.`,
    );
    this.name = 'StillThere';
  }
}

/**
 * The entry that declares a range lost, as far as it is gone by a look-up of its own: whoever says that offsets are gone may have asked
 * somebody who knew it wrongly, and an entry stands for ever. Throws StillThere where nothing of the range is gone.
 */
export async function lostEntry(ports: RepairPorts, chain: ChainId, { first, next }: OffsetRange): Promise<HoleEntry> {
  const start = (await ports.logStart(chain)) ?? next;
  if (start <= first) throw new StillThere(chain, { first, next }, start);
  return { kind: 'lost', first, next: Math.min(start, next), attempt: randomUUID() };
}

/** Undefined when the position is ours; else what another attempt made of it, whose object stands then. */
async function claimOrMeet(ports: RepairPorts, chain: ChainId, entry: LedgerEntry): Promise<Extended | undefined> {
  const claim = await ports.ledger.claim(chain, entry);
  if (claim.kind !== 'taken') return undefined;
  const { by } = claim;
  const repair: Repair = by.kind === 'data' ? await repairClaim(ports, chain, by) : { kind: 'stands' };
  return { end: by.next, met: { entry: by, repair } };
}

export interface OpenChain {
  /** The next offset to archive. */
  readonly end: number;
  /** What was done about the last claim; undefined when there was none to look at. */
  readonly repair: { readonly entry: DataEntry; readonly how: Repair } | undefined;
}

/**
 * Where a chain goes on: behind its last entry, whose object is made first where it is missing. A log that begins above 0 and has no
 * chain yet gets a `genesis` entry. `hint` is the group's commit: only a place to begin to look.
 */
export async function openChain(
  ports: RepairPorts,
  chain: ChainId,
  log: { readonly start: number; readonly hint: number | null },
): Promise<OpenChain> {
  const { ledger } = ports;
  const last = await ledger.last(chain, log.hint);
  if (last === undefined) {
    if (log.start === 0) return { end: 0, repair: undefined };
    const claim = await ledger.claim(chain, { kind: 'genesis', first: 0, next: log.start, attempt: randomUUID() });
    // Somebody else began the chain meanwhile: its end is where theirs is.
    return claim.kind === 'taken' ? await openChain(ports, chain, log) : { end: log.start, repair: undefined };
  }
  if (last.kind !== 'data') return { end: last.next, repair: undefined };
  return { end: last.next, repair: { entry: last, how: await repairClaim(ports, chain, last) } };
}

/** What had to be done about the last claim of a chain of one of the topic's other lives. */
export interface Ended {
  readonly chain: ChainId;
  readonly entry: DataEntry;
  readonly how: Repair;
}

/**
 * Ends the chains of this partition under the topic's other lives: nobody opens them any more, so a claim that a crash left without its
 * object would stay open for ever. Called before the partition's present chain is opened.
 */
export async function endOtherLives(ports: RepairPorts, chain: ChainId): Promise<readonly Ended[]> {
  const ended: Ended[] = [];
  for (const incarnation of await ports.ledger.lives(chain.topic)) {
    if (incarnation === chain.incarnation) continue;
    const other = { ...chain, incarnation };
    const last = await ports.ledger.last(other, null);
    if (last?.kind === 'data') ended.push({ chain: other, entry: last, how: await repairClaim(ports, other, last) });
  }
  return ended;
}
