import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import {
  type BuiltObject,
  buildObject,
  type ChainId,
  type Database,
  dataEntry,
  extendChain,
  isOfTheMoment,
  type OffsetRange,
  offsetsIn,
  type RowFile,
  type Rows,
  within,
} from '@tailrace/lake';
import type { ArchivePorts } from './archive-ports.ts';
import { SpoolLost } from './faults.ts';
import { firstLine } from './first-line.ts';
import { again, isOfItsTopic, type Progress, wasMet } from './steps.ts';
import { storeHole } from './store-hole.ts';

/** On its way into the lake: the rows `[first, next)` of a file, and the offsets among them that never held a record. The last is a row's. */
export interface ClosedRows extends OffsetRange {
  readonly kind: 'rows';
  readonly file: RowFile;
  readonly voids: readonly OffsetRange[];
}

/** How many of its rows lie at or above `from`. */
export function rowsFrom({ first, next, voids }: ClosedRows, from: number): number {
  const above = { first: Math.max(first, from), next };
  return Math.max(0, above.next - above.first) - offsetsIn(within(voids, above));
}

/**
 * Makes the rows of a closed object stand in the lake, in the order of the design: Parquet file, second reader, topic id, claim,
 * object. Where somebody else extended the chain first, only the rows behind that are written, and where the topic was made anew, only
 * those that are the old one's. `end` is the chain's end; returns the new one. Every fault of the moment is tried again for as long as
 * it takes. Throws Abandoned when it is not wanted any more, and what ends a lane: SpoolLost, NotVoid, StillThere.
 */
export async function storeObject(
  ports: ArchivePorts,
  chain: ChainId,
  object: ClosedRows,
  end: number,
  progress: Progress,
): Promise<number> {
  let at = end;
  for (;;) {
    const first = Math.max(object.first, at);
    const limit = Math.min(object.next, progress.life.cutAt ?? object.next);
    if (first >= limit) return at;
    // Somebody else's entry, or the part before, may end within a void.
    const [ahead] = within(object.voids, { first, next: limit });
    if (ahead?.first === first) {
      at = await storeHole(ports, chain, { kind: 'void', ...ahead }, at, progress);
      continue;
    }
    const next = behindLastRow(limit, object.voids);
    const voids = within(object.voids, { first, next });
    const unproven = await again(ports, chain, 'read the void again', progress, () => ports.confirmVoids(chain, voids));
    const run =
      unproven === undefined ? { first, next, voids } : { first, next: unproven, voids: within(voids, { first, next: unproven }) };
    at = await storeRun(ports, chain, { ...object, ...run }, at, progress);
  }
}

/** A cut may fall into a void or right behind one: an object ends with a row. */
function behindLastRow(next: number, voids: readonly OffsetRange[]): number {
  return voids.find((hole) => hole.first < next && next <= hole.next)?.first ?? next;
}

/** Makes one object of rows whose voids are confirmed. Returns the chain's end, which is the old one where the rows are cut first. */
async function storeRun(ports: ArchivePorts, chain: ChainId, rows: ClosedRows, end: number, progress: Progress): Promise<number> {
  const { observe } = ports;
  const { first, next, voids } = rows;
  const path = ports.spool.parquetPath();
  const startedMs = ports.clock.nowMs();
  try {
    const built = await again(ports, chain, 'build the file', progress, () =>
      ports.building.run(() => buildFrom(ports.database, chain, rows, path)),
    );
    if (built.inParts !== undefined) observe({ kind: 'built-in-parts', chain, first, next, how: built.inParts });
    if (!(await isOfItsTopic(ports, chain, progress, next))) return end;
    const entry = dataEntry(ports.repair.ledger.lake, chain, { first, next, voids }, built.totals, randomUUID());
    // Read for each attempt: twelve partitions that wait for a store must not hold twelve objects in memory.
    const extended = await again(ports, chain, 'write to the store', progress, async () =>
      extendChain(ports.repair, chain, entry, await readFile(path), () => {
        progress.claimed = true;
      }),
    );
    if (!wasMet(ports, chain, extended)) {
      const { rows: count } = built.totals;
      const { rawBytes } = rows.file;
      const tookMs = ports.clock.nowMs() - startedMs;
      observe({ kind: 'object-stored', chain, key: entry.object, first, next, rows: count, sizeBytes: built.sizeBytes, rawBytes, tookMs });
    }
    return extended.end;
  } finally {
    progress.claimed = false;
    // A build that failed has left no file.
    await rm(path, { force: true });
  }
}

/** Builds the file. Throws SpoolLost where no further attempt can: the rows are gone, damaged, or such that no file can be made of them. */
async function buildFrom(database: Database, chain: ChainId, rows: Rows, path: string): Promise<BuiltObject> {
  try {
    return await buildObject(database, chain, rows, path);
  } catch (cause) {
    const fault = cause instanceof Error ? cause : new Error(String(cause));
    if (!(await rows.file.isWhole())) throw new SpoolLost(chain, rows, 'their file is gone or has another size');
    if (!isOfTheMoment(fault)) throw new SpoolLost(chain, rows, firstLine(fault));
    throw fault;
  }
}
