import { type ClusterAdmin, type LogRange, type RawRecord, TAILRACE } from '@tailrace/kafka-kit';

export type DlqAdmin = Pick<ClusterAdmin, 'groupLag'>;
/** Reads ranges of offsets to their ends, whatever else is written meanwhile. */
export type ReadRanges = (ranges: readonly LogRange[]) => AsyncIterable<readonly RawRecord[]>;

/** One partition of a dead-letter topic as it is now. */
export interface DlqExtent {
  readonly partition: number;
  readonly logStart: number;
  readonly logEnd: number;
}

/** The partitions of a topic, up to their high watermarks. Throws when there is no such topic. */
export async function extentsOf(admin: DlqAdmin, topic: string): Promise<readonly DlqExtent[]> {
  // Only starts and ends are used; for a group that commits nothing there is no more to ask.
  const extents = await admin.groupLag('tailrace-cli', [topic]);
  if (extents.length === 0) throw new Error(`There is no topic ${topic}: ${TAILRACE} topics apply makes it.`);
  return extents;
}
