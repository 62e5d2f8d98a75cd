import type { Database } from './duckdb.ts';
import type { FileDescription } from './footer.ts';
import { readParquet } from './parquet-reader.ts';
import type { LakeRecord } from './records.ts';

/** A record takes about so much memory beside its bytes. */
const ROW_BYTES = 200;

/**
 * The records of a lake file whose checksum agrees: none of one whose does not. What fits into `heldBytes` is read once and held meanwhile; a larger
 * file is read twice. Throws as `readParquet`.
 */
export async function* provenRows(
  database: Database,
  path: string,
  description: FileDescription,
  heldBytes: number,
  signal: AbortSignal,
): AsyncIterable<readonly LakeRecord[]> {
  let held: (readonly LakeRecord[])[] | undefined = [];
  let bytes = 0;
  for await (const records of readParquet(database, path, description)) {
    signal.throwIfAborted();
    for (const { key, value } of records) bytes += ROW_BYTES + (key?.length ?? 0) + (value?.length ?? 0);
    if (bytes > heldBytes) held = undefined;
    held?.push(records);
  }
  if (held === undefined) yield* readParquet(database, path, description);
  else yield* held;
}
