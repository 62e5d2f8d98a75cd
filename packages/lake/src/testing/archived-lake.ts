import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../duckdb.ts';
import { Ledger } from '../ledger.ts';
import { buildObject, dataEntry } from '../object-builder.ts';
import type { LakeLayout } from '../object-names.ts';
import { offsetsIn } from '../ranges.ts';
import type { ChainId, LakeRecord, OffsetRange } from '../records.ts';
import { RowFile } from '../row-file.ts';
import { CHAIN, inFolder, recordAt } from './lake-files.ts';
import { MemoryStore } from './memory-store.ts';

export const LAKE: LakeLayout = { prefix: '', stream: 'service-events' };
export const NINE = Date.UTC(2026, 0, 2, 9);

/** `[first, next)`, all within one hour. */
export const run = (first: number, next: number, timestampMs = NINE): LakeRecord[] =>
  Array.from({ length: next - first }, (_, i) => recordAt(first + i, `{"service":"s${i}"}`, { timestampMs: timestampMs + i }));

/** A lake in memory with real Parquet objects. */
export class ArchivedLake {
  readonly #database: Database;
  readonly store = new MemoryStore();
  readonly ledger: Ledger;
  readonly keys: string[] = [];

  constructor(database: Database, layout: LakeLayout = LAKE) {
    this.#database = database;
    this.ledger = new Ledger(this.store, layout);
  }

  /** Archives the records as one object, as an archiver would. `claim.first` is where the entry begins. */
  async add(
    records: readonly LakeRecord[],
    options: { readonly chain?: ChainId; readonly first?: number; readonly put?: boolean; readonly voids?: readonly OffsetRange[] } = {},
  ): Promise<void> {
    const chain = options.chain ?? CHAIN;
    await inFolder(async (folder) => {
      const file = await RowFile.create(join(folder, 'rows'));
      await file.append(records);
      await file.close();
      const range = { first: options.first ?? records[0]?.offset ?? 0, next: (records.at(-1)?.offset ?? 0) + 1 };
      const built = await buildObject(this.#database, chain, { file, ...range, voids: options.voids ?? [] }, join(folder, 'file.parquet'));
      const claimed = dataEntry(this.ledger.lake, chain, { ...range, voids: options.voids ?? [] }, built.totals, randomUUID());
      // A claim speaks of its whole range, whatever its object then holds.
      const entry = { ...claimed, rows: range.next - range.first - offsetsIn(options.voids ?? []) };
      await this.ledger.claim(chain, entry);
      this.keys.push(entry.object);
      if (options.put !== false) await this.store.putIfAbsent(entry.object, await readFile(built.path));
    });
  }
}
