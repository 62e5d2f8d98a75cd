import type { HaltCause } from '../consume/lane-view.ts';
import { everyOf, type MetricTable } from './metric-table.ts';
import { SLOW_LOOP_RESPONSE } from './pace.ts';

/** Labels of a figure of a group. */
export const GROUP = { group: 'groups of the process' } as const;

/** Labels of a figure of a partition. */
export const PARTITION = {
  ...GROUP,
  topic: 'topics of the group',
  partition: 'partitions that the process owns, or owned',
} as const;

/** What a partition may stand before until a person acts. */
export const HALT_CAUSES = everyOf<HaltCause>({ expired: true, truncated: true, recreated: true, dead: true, budget: true, sink: true });

export const SINK_AWAY = 'Mend the server that the log line and `/readyz` name. The partition goes on by itself; nothing is lost.';

/** What is read at each scrape. */
export const RUNTIME_GAUGES = {
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
  restoring: {
    name: 'tailrace_consumer_restoring',
    type: 'gauge',
    unit: '0 or 1',
    labels: PARTITION,
    says: '1 while the partition reads from the history what Kafka no longer holds.',
    respond: 'Nothing by itself: it goes on from Kafka when it has all. `/readyz` says how far it is.',
  },
  restoreWaitSeconds: {
    name: 'tailrace_consumer_restore_wait_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: PARTITION,
    says: 'For how long the partition has been waiting for records that Kafka no longer holds and the history does not have yet; 0 when it is not.',
    respond: 'Alert above the delay that the archiver is allowed: it does not write, and `/readyz` names the range.',
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
} as const satisfies MetricTable;
