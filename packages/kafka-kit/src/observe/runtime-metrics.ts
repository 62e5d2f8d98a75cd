import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { LaneView } from '../consume/lane-view.ts';
import type { ConsumerRuntime } from '../consume/runtime.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import type { RuntimeEvent } from './runtime-events.ts';

/** The figures of every runtime of a process, in one registry. Labels say `partition`: what the code calls a lane. */
export interface RuntimeMetrics {
  /** What to give a runtime as `observe`: turns its events into counters and histograms. Known labels start at 0, so that rates are right. */
  observer(group: string): (event: RuntimeEvent) => void;
  /** From now on the state of the runtime's partitions is read whenever the metrics are. */
  watch(group: string, runtime: Pick<ConsumerRuntime, 'lanes'>): void;
}

/** What is read of each partition at a scrape; undefined where it is not known: then there is no sample, rather than a false 0. */
const GAUGES: readonly {
  readonly name: string;
  readonly help: string;
  readonly read: (lane: LaneView, nowMs: number) => number | undefined;
}[] = [
  { name: 'lag_records', help: 'Records of the partition that are not settled yet, up to its end.', read: (lane) => lane.lag },
  {
    name: 'lag_seconds',
    help: 'Age by broker time of the oldest delivered record that is not settled, or where none is, of the last settled one; 0 at the end of the log.',
    read: (lane, nowMs) => (lane.lag === 0 ? 0 : lane.behindSinceMs === undefined ? undefined : seconds(nowMs - lane.behindSinceMs)),
  },
  { name: 'unsettled_records', help: 'Records that were delivered and are not settled.', read: (lane) => lane.unsettled },
  { name: 'buffered_bytes', help: 'Bytes of records held in memory.', read: (lane) => lane.bufferedBytes },
  { name: 'paused', help: '1 while the partition is not read.', read: (lane) => Number(lane.paused) },
  { name: 'halted', help: '1 while the partition waits for a person.', read: (lane) => Number(lane.phase === 'halted') },
  {
    name: 'outage_seconds',
    help: 'For how long the partition has been waiting for a sink or a broker that fails; 0 when it is not.',
    read: (lane, nowMs) => (lane.outage === undefined ? 0 : seconds(nowMs - lane.outage.sinceMs)),
  },
  {
    name: 'stalled_seconds',
    help: 'For how long the client has delivered nothing of the partition although the log has more; 0 when it is not so.',
    read: (lane, nowMs) => (lane.stall === undefined ? 0 : seconds(nowMs - lane.stall.sinceMs)),
  },
];

/** Sinks name reasons; a sink that makes them up from data must not make a series of each. */
const MAX_REASONS = 50;
const HOWS = ['assigned', 'revoked', 'lost'] as const;
const REASONS = ['records', 'bytes', 'age', 'gap', 'drain'] as const;
const LANE = ['group', 'topic', 'partition'] as const;
const POLL_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const DRAIN_BUCKETS_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 20, 45, 90];

/** Registers the consumer metrics (`tailrace_consumer_*`) in `registry`. Once per registry: a second time its names are taken. */
export function runtimeMetrics(registry: Registry, clock: Pick<Clock, 'nowMs'> = systemClock): RuntimeMetrics {
  const watched: { readonly group: string; readonly runtime: Pick<ConsumerRuntime, 'lanes'> }[] = [];
  for (const { name, help, read } of GAUGES) {
    new Gauge({
      name: `tailrace_consumer_${name}`,
      help,
      labelNames: [...LANE],
      registers: [registry],
      collect() {
        // Partitions that went to another member must leave no sample behind: two members would show the same partition.
        this.reset();
        for (const { group, runtime } of watched) {
          for (const lane of runtime.lanes()) {
            const value = read(lane, clock.nowMs());
            if (value !== undefined) this.set({ group, topic: lane.topic, partition: lane.partition }, value);
          }
        }
      },
    });
  }
  const counters = createCounters(registry);
  return {
    observer: (group) => observer(counters, group),
    watch: (group, runtime) => {
      watched.push({ group, runtime });
    },
  };
}

type Counters = ReturnType<typeof createCounters>;

function createCounters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> =>
    new Counter({ name: `tailrace_consumer_${name}`, help, labelNames: [...labelNames], registers: [registry] });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]): Histogram<L> =>
    new Histogram({ name: `tailrace_consumer_${name}`, help, labelNames: [...labelNames], registers: [registry], buckets });
  return {
    records: counter('records_total', 'Records by what the sink answered; a retried one is counted at each try.', [...LANE, 'outcome']),
    skipped: counter('skipped_records_total', 'Records that the sink skipped, by its reason.', ['group', 'reason']),
    deadLetters: counter('dead_letters_total', 'Records that are kept in the dead-letter topic, by the sink’s reason.', [
      'group',
      'reason',
    ]),
    unsendable: counter(
      'unsendable_total',
      'Dead records that were stored apart since their dead letter was refused, by the sink’s reason.',
      ['group', 'reason'],
    ),
    abandoned: counter('abandoned_records_total', 'Records given up before they were settled: the next owner reads them again.', ['group']),
    batches: counter('batches_closed_total', 'Batches handed to the sink, by what closed them; one handed over again counts again.', [
      'group',
      'reason',
    ]),
    rebalances: counter('rebalances_total', 'Rebalance events.', ['group', 'how']),
    commits: counter('commits_total', 'Commits that the broker confirmed.', ['group']),
    commitsFailed: counter('commits_failed_total', 'Commits that the broker refused.', ['group']),
    gaps: counter('gaps_total', 'Ranges of offsets that could not be read where they were expected.', [...LANE, 'kind']),
    outages: counter('outages_total', 'Times that a partition began to wait for a sink or a broker that fails.', LANE),
    stalls: counter('stalls_total', 'Times that the client delivered nothing of a partition although the log had more.', LANE),
    halts: counter('halts_total', 'Times that a partition was halted.', [...LANE, 'kind']),
    flushesFailed: counter('flushes_failed_total', 'Flushes of the sink that failed before a revoke or a stop.', ['group']),
    brokerErrors: counter('broker_errors_total', 'Errors of the Kafka client.', ['group']),
    polls: histogram(
      'poll_interval_seconds',
      'Time between two polls; above max.poll.interval.ms the group gives the partitions away.',
      ['group'],
      POLL_BUCKETS_SECONDS,
    ),
    drains: histogram(
      'drain_seconds',
      'Time to settle what was in flight before partitions were given back.',
      ['group', 'why'],
      DRAIN_BUCKETS_SECONDS,
    ),
  };
}

function observer(counters: Counters, group: string): (event: RuntimeEvent) => void {
  const reasons = new Set<string>();
  const reasonLabel = (reason: string): string => {
    if (!reasons.has(reason) && reasons.size >= MAX_REASONS) return 'other';
    reasons.add(reason);
    return reason;
  };
  for (const how of HOWS) counters.rebalances.inc({ group, how }, 0);
  for (const reason of REASONS) counters.batches.inc({ group, reason }, 0);
  for (const counter of [counters.commits, counters.commitsFailed, counters.abandoned, counters.flushesFailed, counters.brokerErrors]) {
    counter.inc({ group }, 0);
  }
  const of = ({ topic, partition }: { topic: string; partition: number }) => ({ group, topic, partition });
  return (event) => {
    switch (event.kind) {
      case 'polled':
        counters.polls.observe({ group }, seconds(event.sinceLastPollMs));
        return;
      case 'handed-over':
        counters.batches.inc({ group, reason: event.closedBy });
        return;
      case 'settled':
        for (const outcome of ['stored', 'skipped', 'retried', 'dead'] as const) {
          if (event[outcome] > 0) counters.records.inc({ ...of(event.lane), outcome }, event[outcome]);
        }
        return;
      case 'skipped':
        counters.skipped.inc({ group, reason: reasonLabel(event.reason) }, event.records);
        return;
      case 'dead-lettered':
        counters.deadLetters.inc({ group, reason: reasonLabel(event.reason) }, event.records);
        return;
      case 'unsendable':
        counters.unsendable.inc({ group, reason: reasonLabel(event.reason) });
        return;
      case 'rebalanced':
        counters.rebalances.inc({ group, how: event.how });
        return;
      case 'drained':
        counters.drains.observe({ group, why: event.why }, seconds(event.tookMs));
        counters.abandoned.inc({ group }, event.abandonedRecords);
        return;
      case 'lane-reopened':
        counters.abandoned.inc({ group }, event.abandonedRecords);
        return;
      case 'lane-opened':
        // From 0, so that the first record's rate is right.
        counters.records.inc({ ...of(event.lane), outcome: 'stored' }, 0);
        return;
      case 'lane-halted':
        counters.halts.inc({ ...of(event.lane), kind: event.why.kind });
        return;
      case 'gap':
        counters.gaps.inc({ ...of(event.lane), kind: event.gap.kind });
        return;
      case 'outage':
        if (event.attempts === 1) counters.outages.inc(of(event.lane));
        return;
      case 'stalled':
        if (event.attempts === 1) counters.stalls.inc(of(event.lane));
        return;
      case 'commit':
        (event.result.kind === 'committed' ? counters.commits : counters.commitsFailed).inc({ group });
        return;
      case 'flush-failed':
        counters.flushesFailed.inc({ group });
        return;
      case 'broker-error':
        counters.brokerErrors.inc({ group });
        return;
      case 'recovered':
      case 'client-log':
        // An outage's length is shown by the gauge; the client's lines go into the log.
        return;
    }
  };
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}
