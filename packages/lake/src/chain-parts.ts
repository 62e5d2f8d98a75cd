import { readFooter } from './footer.ts';
import type { Ledger } from './ledger.ts';
import { LedgerDamage, type LedgerEntry } from './ledger-entry.ts';
import { dataPrefix, parseDataKey } from './object-names.ts';
import { storeBuffer } from './object-store.ts';
import { type ChainId, chainText } from './records.ts';
import type { TimeSpan } from './replay-plan.ts';
import type { ChainPart } from './replay-sources.ts';

const HOUR_MS = 3_600_000;
const AHEAD = 16;

/** What a listing says of one data object. */
interface ChainObject {
  readonly hourMs: number;
  readonly sizeBytes: number;
}

/** The data objects of each chain (by `chainText`), by their first offsets. */
export type ObjectIndex = ReadonlyMap<string, ReadonlyMap<number, ChainObject>>;

/** Lists all data objects of a lake once: what it says of hours and sizes spares the reading of nearly all ledger entries. */
export async function indexObjects(ledger: Ledger): Promise<ObjectIndex> {
  const index = new Map<string, Map<number, ChainObject>>();
  for await (const { key, sizeBytes } of ledger.store.list(dataPrefix(ledger.lake))) {
    const name = parseDataKey(ledger.lake, key);
    if (name === undefined) continue;
    const chain = index.get(chainText(name)) ?? new Map<number, ChainObject>();
    chain.set(name.first, { hourMs: Date.parse(`${name.day}T${name.hour}:00:00.000Z`), sizeBytes });
    index.set(chainText(name), chain);
  }
  return index;
}

/**
 * A chain's parts, up to its end. Entries are read where something depends on them: without an object (losses, voids) and beside those, in
 * hours that meet the reach and around them, and at the chain's ends. All others stand for what their object's key says, and reach up to
 * the next one: only an audit looks whether that is true. Within the reach objects are looked into as well: where Kafka no longer held the
 * beginning, one holds a rest only. Throws FileDamage where such an object can not be read, and StoreError.
 */
export async function chainParts(ledger: Ledger, chain: ChainId, index: ObjectIndex, reach?: TimeSpan): Promise<readonly ChainPart[]> {
  const firsts: number[] = [];
  const notes = new Set<number>();
  for await (const { first, kind } of ledger.items(chain)) {
    if (kind === 'lost') notes.add(first);
    else firsts.push(first);
  }
  const objects = index.get(chainText(chain)) ?? new Map<number, ChainObject>();
  const read = async (first: number): Promise<readonly ChainPart[]> => {
    const entry = await readEntry(ledger, chain, first);
    // A damaged entry covers nothing: what it should cover is a hole.
    return entry === undefined ? [] : await partsOf(ledger, entry, { object: objects.get(first), isLost: notes.has(first), reach });
  };
  const wanted = await readSome(firstsToRead(firsts, objects, reach), read);
  const parts: ChainPart[] = [];
  for (const [place, first] of firsts.entries()) {
    const object = objects.get(first);
    const next = firsts[place + 1];
    const follows = (parts.at(-1)?.next ?? 0) === first;
    if (!wanted.has(first) && object !== undefined && next !== undefined && follows) parts.push(hourPart(first, next, object.hourMs));
    // Behind a hole the time of the first record counts.
    else parts.push(...(wanted.get(first) ?? (await read(first))));
  }
  return parts;
}

function hourPart(first: number, next: number, hourMs: number): ChainPart {
  return { kind: 'data', first, next, rows: 0, minTimestampMs: hourMs, maxTimestampMs: hourMs + HOUR_MS - 1, isOfHour: true };
}

function firstsToRead(
  firsts: readonly number[],
  objects: ReadonlyMap<number, ChainObject>,
  reach: TimeSpan | undefined,
): readonly number[] {
  const places = new Set<number>([firsts.findIndex((first) => objects.has(first)), firsts.length - 1]);
  let beforeMs = Number.NEGATIVE_INFINITY;
  for (const [place, first] of firsts.entries()) {
    const hourMs = objects.get(first)?.hourMs;
    if (hourMs === undefined) for (const each of [place - 1, place, place + 1]) places.add(each);
    else {
      // Also what lies around the reach: entries that are gone without a trace, or a clock that goes back across it, show nothing within it.
      if (reach !== undefined && Math.min(hourMs, beforeMs) < reach.toMs && Math.max(hourMs, beforeMs) + HOUR_MS > reach.fromMs)
        for (const each of [place - 1, place]) places.add(each);
      beforeMs = hourMs;
    }
  }
  return firsts.filter((_, place) => places.has(place));
}

/** Reads some entries, a few at a time. */
async function readSome<T>(firsts: readonly number[], read: (first: number) => Promise<T>): Promise<ReadonlyMap<number, T>> {
  const waiting = [...firsts];
  const found = new Map<number, T>();
  const worker = async (): Promise<void> => {
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) found.set(first, await read(first));
  };
  await Promise.all(Array.from({ length: AHEAD }, worker));
  return found;
}

/** Undefined where the entry is damaged. */
async function readEntry(ledger: Ledger, chain: ChainId, first: number): Promise<LedgerEntry | undefined> {
  try {
    return await ledger.readEntry(chain, first);
  } catch (error) {
    // One bad entry must not hide the others, and an audit names it; any other fault means that nothing can be read.
    if (error instanceof LedgerDamage) return undefined;
    throw error;
  }
}

interface EntryFacts {
  readonly object: ChainObject | undefined;
  readonly isLost: boolean;
  readonly reach: TimeSpan | undefined;
}

/** What an entry covers. Nothing where its object is neither there nor declared lost: it is a hole, or, of the last entry, the chain's end. */
async function partsOf(ledger: Ledger, entry: LedgerEntry, { object, isLost, reach }: EntryFacts): Promise<readonly ChainPart[]> {
  const { first, next } = entry;
  if (entry.kind !== 'data') return [{ kind: entry.kind === 'genesis' ? 'before-archive' : entry.kind, first, next }];
  // An object that came after the listing is there all the same.
  const bytes = object?.sizeBytes ?? (await ledger.store.sizeBytes(entry.object));
  if (bytes === undefined) return isLost ? [{ kind: 'lost', first, next }] : [];
  const { minTimestampMs, maxTimestampMs, rows } = entry;
  const whole = { kind: 'data', first, next, minTimestampMs, maxTimestampMs, rows, bytes } as const;
  if (reach === undefined || minTimestampMs >= reach.toMs || maxTimestampMs < reach.fromMs) return [whole];
  const { description } = await readFooter(entry.object, storeBuffer(ledger.store, entry.object, bytes));
  const held = { ...whole, first: description.from, rows: description.rows };
  return description.from > first ? [{ kind: 'lost', first, next: description.from }, held] : [held];
}
