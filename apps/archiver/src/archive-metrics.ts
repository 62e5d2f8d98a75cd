import { registerMetrics, type SetGauge } from '@tailrace/kafka-kit';
import type { Metrics } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';
import { ARCHIVER_METRICS } from './archive-metric-table.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';
import type { WindowStart } from './replay-window.ts';

const LOST = new Set(['rest', 'changed', 'lost']);

/** Registers the archiver's figures; returns what turns its events into them. `views` and `windows` are read at each scrape. */
export function archiveMetrics(
  registry: Metrics,
  views: () => readonly LaneArchiveView[],
  windows: () => readonly WindowStart[],
): (event: ArchiveEvent) => void {
  const lanes = (read: (view: LaneArchiveView) => number) => (set: SetGauge<'topic' | 'partition'>) => {
    for (const view of views()) set({ topic: view.topic, partition: view.partition }, read(view));
  };
  const metrics = registerMetrics(registry, ARCHIVER_METRICS, {
    chainEnd: lanes(({ chainEnd }) => chainEnd),
    spoolRows: lanes(({ spooledRows }) => spooledRows),
    spoolBytes: lanes(({ spoolBytes }) => spoolBytes),
    waiting: lanes(({ waitingObjects }) => waitingObjects),
    windowStart: (set) => {
      for (const { topic, partition, kafkaMs, lakeMs } of windows()) {
        if (kafkaMs !== undefined) set({ source: 'kafka', topic, partition }, kafkaMs / 1000);
        if (lakeMs !== undefined) set({ source: 'lake', topic, partition }, lakeMs / 1000);
      }
    },
    windowHole: (set) => {
      for (const { topic, partition, holeOffsets } of windows()) set({ topic, partition }, holeOffsets);
    },
  });
  const { objects, rows, bytes, closed, met, repairs, lost, lostRecords, madeAnew, cutRows, untyped, voids, failed, took } = metrics;
  return (event) => {
    switch (event.kind) {
      case 'object-stored':
        objects.inc();
        rows.inc(event.rows);
        bytes.inc(event.sizeBytes);
        took.observe(event.tookMs / 1000);
        return;
      case 'object-closed':
        closed.inc({ cause: event.cause });
        return;
      case 'claim-met':
        met.inc();
        return;
      case 'claim-checked':
        if (event.repair.kind === 'stands') return;
        repairs.inc({ kind: event.repair.kind });
        if (LOST.has(event.repair.kind)) lost.inc();
        lostRecords.inc(lostOf(event));
        return;
      case 'void-declared':
        voids.inc(event.next - event.first);
        return;
      case 'loss-declared':
        lostRecords.inc(event.next - event.first);
        return;
      case 'topic-made-anew':
        madeAnew.inc();
        cutRows.inc(event.cutRows);
        return;
      case 'built-in-parts':
        untyped.inc(event.how.untyped.length);
        return;
      case 'step-failed':
        failed.inc({ step: event.step });
        return;
      case 'disk-short':
        failed.inc({ step: 'find room on the disk' });
        return;
      case 'chain-opened':
      case 'disk-enough':
      case 'abandoned':
      case 'cleanup-failed':
        return;
    }
  };
}

/** How many offsets of a claim were gone when its object was made. */
function lostOf({ first, next, repair }: ArchiveEvent & { readonly kind: 'claim-checked' }): number {
  if (repair.kind === 'lost') return next - first;
  return repair.kind === 'rest' ? repair.from - first : 0;
}
