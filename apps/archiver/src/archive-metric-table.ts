import { everyOf, type MetricTable } from '@tailrace/kafka-kit';
import type { Repair } from '@tailrace/lake';
import type { Step } from './archive-events.ts';
import type { RotationCause } from './rotation.ts';

const PARTITION = { topic: 'topics of the stream', partition: 'partitions that the process owns' } as const;

/** The archiver's own figures, beside those of its consumer. */
export const ARCHIVER_METRICS = {
  objects: {
    name: 'tailrace_archiver_objects_total',
    type: 'counter',
    unit: 'objects',
    labels: {},
    says: 'Objects written to the lake.',
    respond: 'None while rows are in the spool: look at the failed steps.',
  },
  rows: {
    name: 'tailrace_archiver_rows_total',
    type: 'counter',
    unit: 'rows',
    labels: {},
    says: 'Rows written to the lake.',
    respond: 'Nothing: it follows the traffic.',
  },
  bytes: {
    name: 'tailrace_archiver_object_bytes_total',
    type: 'counter',
    unit: 'bytes',
    labels: {},
    says: 'Bytes of the objects written to the lake.',
    respond: 'Divide it by the rows: what an event costs in the lake.',
  },
  closed: {
    name: 'tailrace_archiver_objects_closed_total',
    type: 'counter',
    unit: 'objects',
    labels: {
      cause: everyOf<RotationCause>({
        hour: true,
        rows: true,
        bytes: true,
        'record-time': true,
        span: true,
        void: true,
        idle: true,
        stop: true,
      }),
    },
    says: 'Objects closed, by what closed them.',
    respond: 'Mostly `idle`, `void` or `stop`: objects are smaller than they could be.',
  },
  met: {
    name: 'tailrace_archiver_claims_met_total',
    type: 'counter',
    unit: 'claims',
    labels: {},
    says: 'Times that another archiver had extended a chain first.',
    respond: 'A few at rebalances are ordinary. All the time: two archivers have one partition.',
  },
  repairs: {
    name: 'tailrace_archiver_repairs_total',
    type: 'counter',
    unit: 'repairs',
    labels: { kind: everyOf<Exclude<Repair['kind'], 'stands'>>({ made: true, rest: true, changed: true, lost: true }) },
    says: 'Claims whose object was missing, by what could be made of them.',
    respond: '`made` is whole. Any other kind: records are lost, the log names the range.',
  },
  lost: {
    name: 'tailrace_archiver_claims_with_losses_total',
    type: 'counter',
    unit: 'claims',
    labels: {},
    says: 'Claims of which records are lost.',
    respond: 'Alert above 0. The log names the range; `tailrace lake audit` lists it.',
  },
  untyped: {
    name: 'tailrace_archiver_untyped_rows_total',
    type: 'counter',
    unit: 'rows',
    labels: {},
    says: 'Rows that could not be looked into: they have their bytes and no typed columns.',
    respond: 'The log names the first one: look at its value.',
  },
  voids: {
    name: 'tailrace_archiver_void_offsets_total',
    type: 'counter',
    unit: 'offsets',
    labels: {},
    says: 'Offsets that held no readable record, declared as such in the ledger.',
    respond: 'Nothing where producers use transactions; else ask who writes to the topic.',
  },
  failed: {
    name: 'tailrace_archiver_failed_steps_total',
    type: 'counter',
    unit: 'steps',
    labels: {
      step: everyOf<Step>({ 'build the file': true, 'look up the topic': true, 'read the void again': true, 'write to the store': true }),
    },
    says: 'Steps that failed and are tried again.',
    respond: 'Mend what the log names (the store, the disk, Kafka): the archiver goes on by itself and nothing is lost.',
  },
  took: {
    name: 'tailrace_archiver_object_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: {},
    says: 'Time from a closed object to the object in the lake.',
    respond: 'Above a minute: the store or the disk is slow.',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  chainEnd: {
    name: 'tailrace_archiver_chain_end_offset',
    type: 'gauge',
    unit: 'offset',
    labels: PARTITION,
    says: 'The next offset to archive: everything below is in the lake.',
    respond: 'Standing still while the partition grows: look at the failed steps and at `/readyz`.',
  },
  spoolRows: {
    name: 'tailrace_archiver_spool_rows',
    type: 'gauge',
    unit: 'rows',
    labels: PARTITION,
    says: 'Rows gathered and not in the lake yet.',
    respond: 'Nothing: a closed object takes them away.',
  },
  spoolBytes: {
    name: 'tailrace_archiver_spool_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: PARTITION,
    says: 'Bytes of those rows on disk.',
    respond: 'Compare the sum with the room in the data folder while the store is away.',
  },
  waiting: {
    name: 'tailrace_archiver_waiting_objects',
    type: 'gauge',
    unit: 'objects',
    labels: PARTITION,
    says: 'Closed objects that wait for the store.',
    respond: 'Growing: the store is away or slow.',
  },
} as const satisfies MetricTable;
