import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildObject, type ChainId, Database, dataEntry, type LakeRecord, Ledger, RowFile, S3Store } from '@tailrace/lake';
import { LAKE, type S3Settings } from '../pipeline/endpoints.ts';

/** Archives records as one object with the lake's own writer, as an archiver would have a year ago. All of them lie within one hour. */
export async function archiveOld(settings: S3Settings, chain: ChainId, records: readonly LakeRecord[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-e2e-old-'));
  const store = new S3Store(settings);
  const database = await Database.open();
  try {
    const ledger = new Ledger(store, LAKE);
    const file = await RowFile.create(join(folder, 'rows'));
    await file.append(records);
    await file.close();
    const range = { first: records[0]?.offset ?? 0, next: (records.at(-1)?.offset ?? 0) + 1, voids: [] };
    const built = await buildObject(database, chain, { file, ...range }, join(folder, 'object.parquet'));
    const entry = dataEntry(LAKE, chain, range, built.totals, randomUUID());
    await ledger.claim(chain, entry);
    await store.putIfAbsent(entry.object, await readFile(built.path));
  } finally {
    database.close();
    store.close();
    await rm(folder, { recursive: true });
  }
}
