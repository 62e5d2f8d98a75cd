import { randomUUID } from 'node:crypto';
import { type ChainId, declareHole, type HoleEntry, lostEntry, type OffsetRange } from '@tailrace/lake';
import type { ArchivePorts } from './archive-ports.ts';
import { again, isOfItsTopic, type Progress, wasMet } from './steps.ts';

/** Offsets without rows on their way into the ledger, as the lane was told of them. */
export interface ClosedHole extends OffsetRange {
  readonly kind: 'void' | 'lost';
}

/**
 * Makes a hole stand in the ledger, under the rules of `storeObject`. `end` is the chain's end; returns the new one. A void is declared
 * after a second reading has found no record in it, and a loss after a look at the log's start; a void that can not be read again is a
 * loss. Throws NotVoid and StillThere where there is something to read: the lane is opened again, and reads it.
 */
export async function storeHole(ports: ArchivePorts, chain: ChainId, hole: ClosedHole, end: number, progress: Progress): Promise<number> {
  let at = end;
  for (;;) {
    const first = Math.max(hole.first, at);
    const next = Math.min(hole.next, progress.life.cutAt ?? hole.next);
    if (first >= next) return at;
    const range = { first, next };
    const entry = await entryFor(ports, chain, hole.kind, range, progress);
    if (!(await isOfItsTopic(ports, chain, progress, entry.next))) continue;
    const extended = await again(ports, chain, 'write to the store', progress, () => declareHole(ports.repair, chain, entry));
    at = extended.end;
    if (!wasMet(ports, chain, extended))
      ports.observe({ kind: entry.kind === 'void' ? 'void-declared' : 'loss-declared', chain, first, next: entry.next });
  }
}

async function entryFor(
  ports: ArchivePorts,
  chain: ChainId,
  kind: ClosedHole['kind'],
  range: OffsetRange,
  progress: Progress,
): Promise<HoleEntry> {
  const unproven =
    kind === 'lost' ? range.first : await again(ports, chain, 'read the void again', progress, () => ports.confirmVoids(chain, [range]));
  if (unproven === undefined) return { kind: 'void', ...range, attempt: randomUUID() };
  return await again(ports, chain, 'look up the log’s start', progress, () => lostEntry(ports.repair, chain, range));
}
