import type { CloseReason, Gap } from '../consume/contract.ts';
import type { HaltReason } from '../consume/lane-phase.ts';
import type { GapDone } from '../recover/gap-policy.ts';
import type { PassedPart } from '../recover/record-history.ts';
import { TAILRACE } from './command.ts';
import { everyOf, type MetricTable } from './metric-table.ts';
import type { RuntimeEvent } from './runtime-events.ts';
import { GROUP, PARTITION, RUNTIME_GAUGES, SINK_AWAY } from './runtime-gauges.ts';

type Told<K extends RuntimeEvent['kind']> = Extract<RuntimeEvent, { readonly kind: K }>;

/** Reasons that a sink may name before the rest is counted as `other`: one that makes them up from data must not make a series of each. */
export const MAX_SKIP_REASONS = 50;

const GAP = {
  ...PARTITION,
  kind: everyOf<Gap['kind']>({ expired: true, truncated: true, recreated: true, void: true }),
  // In words: a series of each with each for every partition would be mostly ones that can not be.
  done: everyOf<GapDone>({ halted: true, skipped: true, recorded: true, restored: true, fresh: true, void: true }).join(', '),
};

const REASON = { ...GROUP, reason: `the first ${MAX_SKIP_REASONS} that the sink names, then \`other\`` };

/** The figures of everything that reads from Kafka by this package's runtime. */
export const RUNTIME_METRICS = {
  ...RUNTIME_GAUGES,
  records: {
    name: 'tailrace_consumer_records_total',
    type: 'counter',
    unit: 'records',
    labels: {
      ...PARTITION,
      outcome: everyOf<Exclude<keyof Told<'settled'>, 'kind' | 'lane'>>({ stored: true, skipped: true, retried: true, dead: true }),
    },
    says: 'Records by what the sink answered; a retried one is counted at each try.',
    respond: 'A rate of `dead` above 0: look at the reasons in the log. A rate of `retried` that stays: the server refuses single records.',
  },
  skipped: {
    name: 'tailrace_consumer_skipped_records_total',
    type: 'counter',
    unit: 'records',
    labels: REASON,
    says: 'Records that the sink skipped, by its reason.',
    respond: 'Look whether the reason is one that you expect.',
  },
  deadLetters: {
    name: 'tailrace_consumer_dead_letter_records_total',
    type: 'counter',
    unit: 'records',
    labels: REASON,
    says: 'Records that are kept in the dead-letter topic, by the sink’s reason.',
    respond: `Look at them with \`${TAILRACE} dlq ls\` and \`dlq show\`: a service sends what can not be taken, or the sink is at fault.`,
  },
  unsendable: {
    name: 'tailrace_consumer_unsendable_records_total',
    type: 'counter',
    unit: 'records',
    labels: REASON,
    says: 'Dead records that were stored apart since their dead letter was refused, by the sink’s reason.',
    respond: `Alert above 0: \`${TAILRACE} dlq ls\` counts them, and says where they lie.`,
  },
  abandoned: {
    name: 'tailrace_consumer_abandoned_records_total',
    type: 'counter',
    unit: 'records',
    labels: GROUP,
    says: 'Records given up before they were settled: the next owner reads them again.',
    respond: 'Nothing: no record is lost. Many at each rebalance: the sink is slow to end what it has begun.',
  },
  batches: {
    name: 'tailrace_consumer_batches_closed_total',
    type: 'counter',
    unit: 'batches',
    labels: { ...GROUP, reason: everyOf<CloseReason>({ records: true, bytes: true, age: true, gap: true, drain: true }) },
    says: 'Batches handed to the sink, by what closed them; one handed over again counts again.',
    respond: 'Mostly `age` under a backlog: the batches are smaller than they could be.',
  },
  rebalances: {
    name: 'tailrace_consumer_rebalances_total',
    type: 'counter',
    unit: 'rebalances',
    labels: { ...GROUP, reason: everyOf<Told<'rebalanced'>['how']>({ assigned: true, revoked: true, lost: true }) },
    says: 'Rebalances: partitions came, were asked back, or were taken away because the member was not heard of in time.',
    respond: '`lost` above 0: the process stood still, or was cut off from Kafka; compare the poll interval with its limit.',
  },
  commits: {
    name: 'tailrace_consumer_commits_total',
    type: 'counter',
    unit: 'commits',
    labels: GROUP,
    says: 'Commits that the broker confirmed.',
    respond: 'None for minutes under traffic: look at the lag and at the commits that failed.',
  },
  commitsFailed: {
    name: 'tailrace_consumer_commits_failed_total',
    type: 'counter',
    unit: 'commits',
    labels: GROUP,
    says: 'Commits that the broker refused.',
    respond: 'A few at a rebalance are ordinary. More: the log has the broker’s reason. Nothing is lost, more is read again.',
  },
  positions: {
    name: 'tailrace_consumer_positions_total',
    type: 'counter',
    unit: 'positions',
    labels: {
      ...GROUP,
      outcome: everyOf<Told<'positions'>['outcome']>({ written: true, 'not-written': true, 'not-read': true, unreadable: true }),
    },
    says: 'Positions that are kept beside the commits: written, not written (tried again), records there that nobody can read, and readings that failed.',
    respond: `\`not-written\` for an hour: look whether the topic is there (\`${TAILRACE} topics plan\`). The group reads on; should Kafka forget its commits, it would read more again. Of a group that reads replayed records, nothing is committed and no receipt comes meanwhile.`,
  },
  gaps: {
    name: 'tailrace_consumer_gaps_total',
    type: 'counter',
    unit: 'gaps',
    labels: GAP,
    says: 'Ranges of offsets that could not be read where they were expected, by their class and by what was done.',
    respond: 'Alert on every class but `void` (offsets that never held a record): the log names the range.',
  },
  gapOffsets: {
    name: 'tailrace_consumer_gap_offsets_total',
    type: 'counter',
    unit: 'offsets',
    labels: GAP,
    says: 'Offsets in the ranges of `gaps_total`. A topic that was made anew has no range.',
    respond: 'As for `gaps_total`: this is how much.',
  },
  restored: {
    name: 'tailrace_consumer_restored_records_total',
    type: 'counter',
    unit: 'records',
    labels: PARTITION,
    says: 'Records that were read from the history, since Kafka no longer held them or soon would not.',
    respond: 'Above 0 the group was overtaken by the topic’s retention: find out for how long it was down, or why it is too slow.',
  },
  restorePassed: {
    name: 'tailrace_consumer_restore_passed_offsets_total',
    type: 'counter',
    unit: 'offsets',
    labels: { ...GROUP, kind: everyOf<PassedPart>({ lost: true, 'before-archive': true }) },
    says: 'Offsets passed because the history declares their records lost, or from before it began.',
    respond: 'Alert on `lost` above 0: those records are gone for good. The log names the ranges.',
  },
  outages: {
    name: 'tailrace_consumer_outages_total',
    type: 'counter',
    unit: 'outages',
    labels: PARTITION,
    says: 'Times that a partition began to wait for a sink or a broker that fails.',
    respond: SINK_AWAY,
  },
  stalls: {
    name: 'tailrace_consumer_stalls_total',
    type: 'counter',
    unit: 'stalls',
    labels: PARTITION,
    says: 'Times that the client delivered nothing of a partition although the log had more.',
    respond: 'Nothing: it was read again. Often: tell us, with the log of the client.',
  },
  halts: {
    name: 'tailrace_consumer_halts_total',
    type: 'counter',
    unit: 'halts',
    labels: { ...PARTITION, kind: everyOf<HaltReason['kind']>({ sink: true, gap: true, dead: true, budget: true }) },
    says: 'Times that a partition was halted: by its sink, by a gap, by a record that can not be processed.',
    respond: 'As for `halted`.',
  },
  flushesFailed: {
    name: 'tailrace_consumer_flushes_failed_total',
    type: 'counter',
    unit: 'flushes',
    labels: GROUP,
    says: 'Flushes of the sink that failed before a revoke or a stop.',
    respond: 'Nothing: what was not flushed is read again by the next owner.',
  },
  brokerErrors: {
    name: 'tailrace_consumer_broker_errors_total',
    type: 'counter',
    unit: 'errors',
    labels: GROUP,
    says: 'Errors of the Kafka client.',
    respond: 'The log has them. While Kafka is away they are ordinary.',
  },
  polls: {
    name: 'tailrace_consumer_poll_interval_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: GROUP,
    says: 'Time between two polls; above `max.poll.interval.ms` the group gives the partitions away.',
    respond: 'Alert on `tailrace_consumer_poll_interval_p99_seconds`.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
  },
  drains: {
    name: 'tailrace_consumer_drain_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: { ...GROUP, why: everyOf<Told<'drained'>['why']>({ revoke: true, stop: true }) },
    says: 'Time to settle what was in flight before partitions were given back.',
    respond: 'Alert on `tailrace_consumer_drain_p99_seconds`.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 45, 90],
  },
} as const satisfies MetricTable;
