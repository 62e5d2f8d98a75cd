import { Counter, Gauge, Histogram, type Metrics } from '@tailrace/service';
import type { ArchiveEvent } from './archive-events.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';

const TOOK_BUCKETS_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const LOST = new Set(['rest', 'changed', 'lost']);

/** Registers the archiver's figures (`tailrace_archiver_*`); returns what turns its events into them. `views` is read at each scrape. */
export function archiveMetrics(registry: Metrics, views: () => readonly LaneArchiveView[]): (event: ArchiveEvent) => void {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> =>
    new Counter({ name: `tailrace_archiver_${name}`, help, labelNames: [...labelNames], registers });
  const objects = counter('objects_total', 'Objects written to the lake.');
  const rows = counter('rows_total', 'Rows written to the lake.');
  const bytes = counter('object_bytes_total', 'Bytes of the objects written to the lake.');
  const closed = counter('objects_closed_total', 'Objects closed, by what closed them.', ['cause']);
  const met = counter('claims_met_total', 'Times that another archiver had extended a chain first.');
  const repairs = counter('repairs_total', 'Claims whose object was missing, by what could be made of them.', ['kind']);
  const lost = counter('claims_with_losses_total', 'Claims of which records are lost. Above 0 somebody must look.');
  const lostRecords = counter(
    'lost_records_total',
    'Offsets that the ledger declares lost: gone from Kafka before they were archived. Above 0 somebody must look.',
  );
  const madeAnew = counter(
    'topics_made_anew_total',
    'Partitions whose topic was deleted and made anew: what of the old one was not archived is lost. Above 0 somebody must look.',
  );
  const cutRows = counter('cut_rows_total', 'Rows of such a topic that were cut off, because they may have been the new one’s.');
  const untyped = counter('untyped_rows_total', 'Rows that could not be looked into: they have their bytes and no typed columns.');
  const voids = counter('void_offsets_total', 'Offsets that held no readable record, declared as such in the ledger.');
  const failed = counter('failed_steps_total', 'Steps that failed and are tried again.', ['step']);
  const took = new Histogram({
    name: 'tailrace_archiver_object_seconds',
    help: 'Time from a closed object to the object in the lake.',
    buckets: TOOK_BUCKETS_SECONDS,
    registers,
  });
  const lanes = (name: string, help: string, read: (view: LaneArchiveView) => number): void => {
    new Gauge({
      name: `tailrace_archiver_${name}`,
      help,
      labelNames: ['topic', 'partition'],
      registers,
      collect() {
        // Partitions that went to another member must leave no sample behind.
        this.reset();
        for (const view of views()) this.set({ topic: view.topic, partition: view.partition }, read(view));
      },
    });
  };
  lanes('chain_end', 'The next offset to archive: everything below is in the lake.', ({ chainEnd }) => chainEnd);
  lanes('spool_rows', 'Rows gathered and not in the lake yet.', ({ spooledRows }) => spooledRows);
  lanes('spool_bytes', 'Bytes of those rows on disk.', ({ spoolBytes }) => spoolBytes);
  lanes('waiting_objects', 'Closed objects that wait for the store.', ({ waitingObjects }) => waitingObjects);
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
      case 'chain-opened':
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
