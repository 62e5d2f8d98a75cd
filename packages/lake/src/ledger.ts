import { FileDamage, GONE } from './file-damage.ts';
import { formatEntry, LedgerDamage, type LedgerEntry, MAX_DATA_SPAN, parseEntry } from './ledger-entry.ts';
import {
  beforeEntry,
  behindChain,
  behindLife,
  chainPrefix,
  entryKey,
  type LakeLayout,
  type LedgerName,
  ledgerPrefix,
  lostKey,
  parseLedgerKey,
  topicPrefix,
} from './object-names.ts';
import { type ObjectStore, StoreError } from './object-store.ts';
import type { ChainId, OffsetRange } from './records.ts';

/** What became of an attempt to extend a chain. `taken`: another attempt stands at that position. */
export type Claim = { readonly kind: 'claimed' } | { readonly kind: 'taken'; readonly by: LedgerEntry };

/** Something that stands under a chain, by its key alone. */
export interface LedgerItem {
  readonly first: number;
  readonly kind: 'entry' | 'lost';
}

/** The chains of offset ranges in a lake, one per partition of a topic's life. All writes are put-if-absent. */
export class Ledger {
  readonly store: ObjectStore;
  readonly lake: LakeLayout;

  constructor(store: ObjectStore, lake: LakeLayout) {
    this.store = store;
    this.lake = lake;
  }

  /** Puts the entry at its position unless one stands there. Calling it again with the same entry is safe. */
  async claim(chain: ChainId, entry: LedgerEntry): Promise<Claim> {
    const put = await this.store.putIfAbsent(entryKey(this.lake, chain, entry.first), formatEntry(entry));
    if (put === 'created') return { kind: 'claimed' };
    const there = await this.entryAt(chain, entry.first);
    if (there === undefined)
      throw new StoreError(`${this.store.name} says that ${entryKey(this.lake, chain, entry.first)} exists, and then that it does not.`);
    return there.attempt === entry.attempt ? { kind: 'claimed' } : { kind: 'taken', by: there };
  }

  /** Throws LedgerDamage where what stands there makes no sense. */
  async entryAt(chain: ChainId, first: number): Promise<LedgerEntry | undefined> {
    const key = entryKey(this.lake, chain, first);
    try {
      const body = await this.store.get(key);
      return body === undefined ? undefined : parseEntry(key, first, body);
    } catch (error) {
      throw error instanceof FileDamage ? new LedgerDamage(key, error.what) : error;
    }
  }

  /** What stands under the chain from `from` on, in the order of offsets; an entry comes before the note beside it. */
  async *items(chain: ChainId, from = 0): AsyncIterable<LedgerItem> {
    for await (const { key } of this.store.list(chainPrefix(this.lake, chain), { startAfter: beforeEntry(this.lake, chain, from) })) {
      const name = parseLedgerKey(this.lake, key);
      if (name !== undefined) yield { first: name.first, kind: name.kind };
    }
  }

  /** The chain's last entry. `hint` is an offset near its end (a group's commit): listing begins 2^21 before it, or else at 0. */
  async last(chain: ChainId, hint: number | null): Promise<LedgerEntry | undefined> {
    const starts = hint === null || hint <= MAX_DATA_SPAN ? [0] : [hint - MAX_DATA_SPAN, 0];
    for (const from of starts) {
      const first = await this.#lastFirst(chain, from, Number.POSITIVE_INFINITY);
      if (first !== undefined) return await this.readEntry(chain, first);
    }
    return undefined;
  }

  /** The entry whose range holds `offset`, or undefined when that lies behind the chain's end. */
  async holding(chain: ChainId, offset: number): Promise<LedgerEntry | undefined> {
    const near = Math.max(0, offset - MAX_DATA_SPAN);
    for (const from of near === 0 ? [0] : [near, 0]) {
      const first = await this.#lastFirst(chain, from, offset);
      const entry = first === undefined ? undefined : await this.readEntry(chain, first);
      if (entry !== undefined && offset < entry.next) return entry;
    }
    return undefined;
  }

  /** Where the last entry begins that begins at or below `offset`: the one that holds it, if any does. Nothing is read of it. */
  async firstBelow(chain: ChainId, offset: number): Promise<number | undefined> {
    const near = Math.max(0, offset - MAX_DATA_SPAN);
    return (await this.#lastFirst(chain, near, offset)) ?? (near === 0 ? undefined : await this.#lastFirst(chain, 0, offset));
  }

  /** Whether a note stands beside the data entry at `first` that nothing of its range was left. */
  async isLost(chain: ChainId, first: number): Promise<boolean> {
    return (await this.store.sizeBytes(lostKey(this.lake, chain, first))) !== undefined;
  }

  async noteLost(chain: ChainId, range: OffsetRange): Promise<void> {
    const body = Buffer.from(`${JSON.stringify({ first: range.first, next: range.next })}\n`);
    await this.store.putIfAbsent(lostKey(this.lake, chain, range.first), body);
  }

  /** The incarnations under which a topic has chains: one short listing for each, however long its chains are. */
  async lives(topic: string): Promise<readonly string[]> {
    const prefix = topicPrefix(this.lake, topic);
    const found: string[] = [];
    for (let startAfter = prefix; ; ) {
      const name = await this.#firstName(prefix, startAfter);
      if (name === undefined) return found;
      found.push(name.incarnation);
      startAfter = behindLife(this.lake, name);
    }
  }

  /** Every chain of the lake: one short listing for each, however long it is. */
  async chains(): Promise<readonly ChainId[]> {
    const prefix = ledgerPrefix(this.lake);
    const found: ChainId[] = [];
    for (let startAfter = prefix; ; ) {
      const name = await this.#firstName(prefix, startAfter);
      if (name === undefined) return found;
      const { topic, incarnation, partition } = name;
      found.push({ topic, incarnation, partition });
      startAfter = behindChain(this.lake, name);
    }
  }

  /** What the first key behind `startAfter` says that is one of the ledger's. */
  async #firstName(prefix: string, startAfter: string): Promise<LedgerName | undefined> {
    for await (const { key } of this.store.list(prefix, { startAfter })) {
      const name = parseLedgerKey(this.lake, key);
      if (name !== undefined) return name;
    }
    return undefined;
  }

  async #lastFirst(chain: ChainId, from: number, upTo: number): Promise<number | undefined> {
    let last: number | undefined;
    for await (const { first, kind } of this.items(chain, from)) {
      if (first > upTo) break;
      if (kind === 'entry') last = first;
    }
    return last;
  }

  /** The entry that a listing has named. */
  async readEntry(chain: ChainId, first: number): Promise<LedgerEntry> {
    const entry = await this.entryAt(chain, first);
    if (entry === undefined) throw new LedgerDamage(entryKey(this.lake, chain, first), GONE);
    return entry;
  }
}
