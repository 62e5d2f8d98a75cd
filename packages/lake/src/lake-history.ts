import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HistoryHole, type HistoryPart, type RecordHistory } from '@tailrace/kafka-kit';
import { asyncBufferFromFile } from 'hyparquet';
import { claimStands } from './claims.ts';
import { undecodable } from './decode-object.ts';
import type { Database } from './duckdb.ts';
import { FileDamage, GONE } from './file-damage.ts';
import { readFooter } from './footer.ts';
import type { Ledger } from './ledger.ts';
import { type DataEntry, LedgerDamage, type LedgerEntry } from './ledger-entry.ts';
import { provenRows } from './proven-rows.ts';
import { within } from './ranges.ts';
import type { ChainId, LakeRecord, OffsetRange } from './records.ts';

export interface LakeHistoryPorts {
  readonly ledger: Ledger;
  readonly database: Database;
  /** Where an object lies while it is read. */
  readonly folder: string;
  /** So much of an object's records is held in memory until its checksum agrees; a larger one is read twice. 16 MiB where it is not said. */
  readonly heldBytes?: number;
}

const HELD_BYTES = 16 * 1024 * 1024;

type Of = Parameters<RecordHistory['read']>[0];

/** Where an entry begins; `behind` is where the next one begins: the last has none. */
interface Listed {
  readonly first: number;
  readonly behind: number | undefined;
}

/** An entry, whether what it claims can be told, and of a data entry its object. */
interface Found {
  readonly entry: LedgerEntry;
  readonly stands: boolean;
  readonly body: Buffer | undefined;
}

/**
 * What the lake keeps of a partition, byte for byte as it was, up to its chain's end. An object is fetched whole, the next one while it is decoded, and
 * nothing of it is given before the checksum of all its records agrees: one that can not be read is a hole from its first wanted offset on.
 */
export class LakeHistory implements RecordHistory {
  readonly #ports: LakeHistoryPorts;

  constructor(ports: LakeHistoryPorts) {
    this.#ports = ports;
  }

  async *read(of: Of, from: number, to: number, signal: AbortSignal): AsyncIterable<HistoryPart> {
    const chain: ChainId = { topic: of.topic, incarnation: of.incarnation, partition: of.partition };
    let at = from;
    for await (const { first, behind, found } of oneAhead(this.#found(chain, from, to))) {
      signal.throwIfAborted();
      if (at >= to) return;
      if (first > at) throw new HistoryHole(of, at, Math.min(first, to), 'the lake has no entry for them');
      if (found === undefined) return;
      const { entry, stands, body } = entryOf(of, await found, at, behind);
      if (entry.next <= at) continue;
      const range = { first: at, next: Math.min(entry.next, to) };
      if (entry.kind !== 'data') {
        yield { kind: entry.kind === 'genesis' ? 'before-archive' : entry.kind, from: range.first, to: range.next };
      } else if (!stands) {
        if (behind === undefined) return;
        throw new HistoryHole(of, range.first, range.next, `${entry.object} is gone from the lake`);
      } else if (body === undefined) {
        // Beside a claim without an object stands a note that nothing was left of its range.
        yield { kind: 'lost', from: range.first, to: range.next };
      } else yield* this.#ofEntry(of, entry, body, range, signal);
      at = entry.next;
    }
  }

  /** The entries below `to`, each with its object, and one that begins behind: what lies before that may be a hole. */
  async *#found(chain: ChainId, from: number, to: number): AsyncIterable<Listed & { readonly found?: Promise<Found | LedgerDamage> }> {
    for await (const listed of this.#firsts(chain, from)) {
      if (listed.first >= to) {
        yield listed;
        return;
      }
      const found = this.#find(chain, listed, from);
      // Told when it is awaited, which is only when the reading gets there.
      found.catch(() => {});
      yield { ...listed, found };
    }
  }

  async #find(chain: ChainId, { first }: Listed, from: number): Promise<Found | LedgerDamage> {
    const { ledger } = this.#ports;
    try {
      const entry = await ledger.readEntry(chain, first);
      if (entry.kind !== 'data' || entry.next <= from) return { entry, stands: true, body: undefined };
      const stands = await claimStands(ledger, chain, entry);
      return { entry, stands, body: stands ? await ledger.store.get(entry.object) : undefined };
    } catch (fault) {
      if (fault instanceof LedgerDamage) return fault;
      throw fault;
    }
  }

  /** The entries from the one on that holds `from`. */
  async *#firsts(chain: ChainId, from: number): AsyncIterable<Listed> {
    const { ledger } = this.#ports;
    const start = (await ledger.firstBelow(chain, from)) ?? from;
    let before: number | undefined;
    for await (const { first, kind } of ledger.items(chain, start)) {
      if (kind !== 'entry') continue;
      if (before !== undefined) yield { first: before, behind: first };
      before = first;
    }
    if (before !== undefined) yield { first: before, behind: undefined };
  }

  async *#ofEntry(of: Of, entry: DataEntry, body: Buffer, range: OffsetRange, signal: AbortSignal): AsyncIterable<HistoryPart> {
    const { database, folder } = this.#ports;
    const path = join(folder, `${randomUUID()}.parquet`);
    try {
      await writeFile(path, body);
      const { description } = await readFooter(entry.object, await asyncBufferFromFile(path));
      const rows = provenRows(database, path, description, this.#ports.heldBytes ?? HELD_BYTES, signal);
      yield* this.#parts(entry, description.from, range, rows, signal);
    } catch (fault) {
      const damage = fault instanceof FileDamage ? fault : undecodable(entry.object, path, fault);
      if (damage === undefined || damage.what === GONE) throw fault;
      throw new HistoryHole(of, range.first, range.next, damage.message.replaceAll(path, entry.object).replace(/\.$/, ''));
    } finally {
      await rm(path, { force: true });
    }
  }

  /** The rows of an object within the range, with what lies between them: voids, and in front of them what the log no longer held. */
  async *#parts(
    entry: DataEntry,
    heldFrom: number,
    range: OffsetRange,
    rows: AsyncIterable<readonly LakeRecord[]>,
    signal: AbortSignal,
  ): AsyncIterable<HistoryPart> {
    const lost = within([{ first: entry.first, next: heldFrom }], range);
    const between = [
      ...lost.map((each) => ({ ...each, kind: 'lost' as const })),
      ...within(entry.voids, range).map((each) => ({ ...each, kind: 'void' as const })),
    ].filter(({ kind, first }) => kind === 'lost' || first >= heldFrom);
    let at = range.first;
    for await (const records of rows) {
      signal.throwIfAborted();
      const wanted = records.filter(({ offset }) => offset >= range.first && offset < range.next);
      let start = 0;
      for (const [i, { offset }] of wanted.entries()) {
        if (offset === at) {
          at += 1;
          continue;
        }
        if (i > start) yield { kind: 'records', records: wanted.slice(start, i) };
        start = i;
        for (let hole = between[0]; hole !== undefined && hole.first === at; hole = between[0]) {
          yield { kind: hole.kind, from: hole.first, to: hole.next };
          at = hole.next;
          between.shift();
        }
        if (offset !== at) throw new FileDamage(entry.object, `offset ${offset} comes where ${at} is next`);
        at += 1;
      }
      if (wanted.length > start) yield { kind: 'records', records: start === 0 ? wanted : wanted.slice(start) };
    }
    for (const hole of between) {
      if (hole.first !== at) break;
      yield { kind: hole.kind, from: hole.first, to: hole.next };
      at = hole.next;
    }
    if (at !== range.next) throw new FileDamage(entry.object, `its rows end before offset ${at}, and its entry at ${entry.next}`);
  }
}

/** What a damaged entry covers is told by the one behind it; behind the last one nobody knows where to go on. */
function entryOf(of: Of, found: Found | LedgerDamage, at: number, behind: number | undefined): Found {
  if (!(found instanceof LedgerDamage)) return found;
  if (behind === undefined) throw found;
  throw new HistoryHole(of, at, Math.max(behind, at + 1), found.message.replace(/\.$/, ''));
}

/** Asks for the next item before it gives one: an object is fetched while the one before it is decoded. */
async function* oneAhead<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  const from = items[Symbol.asyncIterator]();
  try {
    for (let next = from.next(); ; ) {
      const { done, value } = await next;
      if (done === true) return;
      next = from.next();
      // Told when it is its turn.
      next.catch(() => {});
      yield value;
    }
  } finally {
    await from.return?.();
  }
}
