import type { CloseReason, Gap } from '../consume/contract.ts';
import type { HaltReason } from '../consume/lane.ts';
import type { HaltCause } from '../consume/lane-view.ts';
import type { GapDone } from '../recover/gap-policy.ts';
import { everyOf, type MetricTable } from './metric-table.ts';
import { SLOW_LOOP_RESPONSE } from './pace.ts';
import type { RuntimeEvent } from './runtime-events.ts';

type Told<K extends RuntimeEvent['kind']> = Extract<RuntimeEvent, { readonly kind: K }>;

const GROUP = { group: 'groups of the process' } as const;
const PARTITION = {
  ...GROUP,
  topic: 'topics of the group',
  partition: 'partitions that the process owns, or owned',
} as const;

/** Reasons that a sink may name before the rest is counted as `other`: one that makes them up from data must not make a series of each. */
export const MAX_SKIP_REASONS = 50;

const GAP = {
  ...PARTITION,
  kind: everyOf<Gap['kind']>({ expired: true, truncated: true, recreated: true, void: true }),
  // In words: a series of each with each for every partition would be mostly ones that can not be.
  done: everyOf<GapDone>({ halted: true, skipped: true, recorded: true, void: true }).join(', '),
};

/** What a partition may stand before until a person acts. */
export const HALT_CAUSES = everyOf<HaltCause>({ expired: true, truncated: true, recreated: true, dead: true, sink: true });

const SINK_AWAY = 'Mend the server that the log line and `/readyz` name. The partition goes on by itself; nothing is lost.';

/** The figures of everything that reads from Kafka by this package's runtime. */
export const RUNTIME_METRICS = {
  lag: {
    name: 'tailrace_consumer_lag_records',
    type: 'gauge',
    unit: 'records',
    labels: PARTITION,
    says: 'Records of the partition that are not settled yet, up to its end.',
    respond: 'Look at the lag in time first: many records may be few seconds.',
  },
  maxLag: {
    name: 'tailrace_consumer_max_lag_records',
    type: 'gauge',
    unit: 'records',
    labels: GROUP,
    says: 'The largest lag of one partition that this process owns.',
    respond: 'One partition far above the others: its sink fails, or one key is too busy; more members do not help then.',
  },
  lagSeconds: {
    name: 'tailrace_consumer_lag_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: PARTITION,
    says: 'Age by broker time of the oldest delivered record that is not settled, or where none is, of the last settled one; 0 at the end of the log.',
    respond:
      'Alert above the delay that the group is allowed (see topics.md). `outage_seconds` and `halted` say whether it waits; else add members, up to one a partition.',
  },
  maxLagSeconds: {
    name: 'tailrace_consumer_max_lag_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: GROUP,
    says: 'The largest lag in time of one partition that this process owns.',
    respond: 'As for `lag_seconds`: one alert a group instead of one a partition.',
  },
  unsettled: {
    name: 'tailrace_consumer_unsettled_records',
    type: 'gauge',
    unit: 'records',
    labels: PARTITION,
    says: 'Records that were delivered and are not settled: read again after a crash.',
    respond: 'Nothing while the lag in time is allowed.',
  },
  bufferedBytes: {
    name: 'tailrace_consumer_buffered_bytes',
    type: 'gauge',
    unit: 'bytes',
    labels: PARTITION,
    says: 'Bytes of records held in memory.',
    respond: 'Nothing: it is bounded, and reading stops at the bound.',
  },
  paused: {
    name: 'tailrace_consumer_paused',
    type: 'gauge',
    unit: '0 or 1',
    labels: PARTITION,
    says: '1 while the partition is not read: memory is full, its sink fails, or it is halted.',
    respond: 'Nothing by itself; `outage_seconds` and `halted` say when something is wrong.',
  },
  halted: {
    name: 'tailrace_consumer_halted',
    type: 'gauge',
    unit: '0 or 1',
    labels: PARTITION,
    says: '1 while the partition waits for a person.',
    respond: 'Alert at 1. `/readyz` and the log name the range and the way out.',
  },
  haltedPartitions: {
    name: 'tailrace_consumer_halted_partitions',
    type: 'gauge',
    unit: 'partitions',
    labels: { ...GROUP, reason: HALT_CAUSES },
    says: 'Partitions that wait for a person now, by what they stand before.',
    respond: 'As for `halted`: one alert a group instead of one a partition.',
  },
  outageSeconds: {
    name: 'tailrace_consumer_outage_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: PARTITION,
    says: 'For how long the partition has been waiting for a sink or a broker that fails; 0 when it is not.',
    respond: SINK_AWAY,
  },
  stalledSeconds: {
    name: 'tailrace_consumer_stalled_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: PARTITION,
    says: 'For how long the client has delivered nothing of the partition although the log has more; 0 when it is not so.',
    respond: 'Nothing at first: it is read again by itself. Above 5 minutes restart the process.',
  },
  pollIntervalP99: {
    name: 'tailrace_consumer_poll_interval_p99_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: GROUP,
    says: 'The time between two polls that 99 of 100 did not exceed, over the last one to two `max.poll.interval.ms`.',
    respond: `Alert above a third of \`tailrace_consumer_max_poll_interval_seconds\`. ${SLOW_LOOP_RESPONSE}`,
  },
  maxPollInterval: {
    name: 'tailrace_consumer_max_poll_interval_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: GROUP,
    says: '`max.poll.interval.ms`: a member that does not poll for so long is put out of the group.',
    respond: 'A bound to compare with.',
  },
  drainP99: {
    name: 'tailrace_consumer_drain_p99_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: GROUP,
    says: 'The time to drain before partitions were given back that 99 of 100 rebalances did not exceed, over the last one to two hours.',
    respond: `Alert above \`tailrace_consumer_rebalance_timeout_seconds\`. ${SLOW_LOOP_RESPONSE}`,
  },
  rebalanceTimeout: {
    name: 'tailrace_consumer_rebalance_timeout_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: GROUP,
    says: 'How long the group waits for a member to give partitions back: the Kafka client sends `max.poll.interval.ms` for it.',
    respond: 'A bound to compare with.',
  },
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
    labels: { ...GROUP, reason: `the first ${MAX_SKIP_REASONS} that the sink names, then \`other\`` },
    says: 'Records that the sink skipped, by its reason.',
    respond: 'Look whether the reason is one that you expect.',
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
    labels: { ...PARTITION, kind: everyOf<HaltReason['kind']>({ sink: true, gap: true, dead: true }) },
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
