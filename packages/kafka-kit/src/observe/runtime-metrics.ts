import type { Registry } from 'prom-client';
import type { ConsumerRuntime } from '../consume/consumer-runtime.ts';
import type { LaneView } from '../consume/lane-view.ts';
import { type Clock, systemClock } from '../time/clock.ts';
import { type Registered, registerMetrics, type SetGauge, startAtZero } from './metric-table.ts';
import type { Pace } from './pace.ts';
import type { RuntimeEvent } from './runtime-events.ts';
import { HALT_CAUSES } from './runtime-gauges.ts';
import { MAX_SKIP_REASONS, RUNTIME_METRICS } from './runtime-metric-table.ts';

/** The figures of every runtime of a process, in one registry. Labels say `partition`: what the code calls a lane. */
export interface RuntimeMetrics {
  /** What to give a runtime as `observe`: turns its events into counters and histograms. Known labels start at 0, so that rates are right. */
  observer(group: string): (event: RuntimeEvent) => void;
  /** From now on the state of the runtime's partitions, and its pace, are read whenever the metrics are. */
  watch(group: string, runtime: Pick<ConsumerRuntime, 'lanes'>, pace: Pace): void;
}

interface Watched {
  readonly group: string;
  readonly runtime: Pick<ConsumerRuntime, 'lanes'>;
  readonly pace: Pace;
}

/** Registers the consumer metrics (`tailrace_consumer_*`) in `registry`. Once per registry: a second time its names are taken. */
export function runtimeMetrics(registry: Registry, clock: Pick<Clock, 'nowMs'> = systemClock): RuntimeMetrics {
  const watched: Watched[] = [];
  const counters = registerMetrics(registry, RUNTIME_METRICS, readers(watched, clock));
  return {
    observer: (group) => observer(counters, group),
    watch: (group, runtime, pace) => {
      watched.push({ group, runtime, pace });
    },
  };
}

/** A value that is not known has no sample, rather than a false 0. */
type Read<From> = (from: From) => number | undefined;

function readers(watched: readonly Watched[], clock: Pick<Clock, 'nowMs'>) {
  const lanes = (read: Read<LaneView>) => (set: SetGauge<'group' | 'topic' | 'partition'>) => {
    for (const { group, runtime } of watched) {
      for (const lane of runtime.lanes()) {
        const value = read(lane);
        if (value !== undefined) set({ group, topic: lane.topic, partition: lane.partition }, value);
      }
    }
  };
  const groups = (read: Read<Watched>) => (set: SetGauge<'group'>) => {
    for (const each of watched) {
      const value = read(each);
      if (value !== undefined) set({ group: each.group }, value);
    }
  };
  const largest = (read: Read<LaneView>) =>
    groups(({ runtime }) => {
      const known = runtime.lanes().flatMap((lane) => read(lane) ?? []);
      return known.length === 0 ? undefined : Math.max(...known);
    });
  // A producer’s clock may run ahead of ours, by any number of years.
  const since = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.max(0, seconds(clock.nowMs() - ms)));
  const lag: Read<LaneView> = (lane) => lane.lag;
  const lagSeconds: Read<LaneView> = (lane) => (lane.lag === 0 ? 0 : since(lane.behindSinceMs));
  return {
    lag: lanes(lag),
    maxLag: largest(lag),
    lagSeconds: lanes(lagSeconds),
    maxLagSeconds: largest(lagSeconds),
    unsettled: lanes((lane) => lane.unsettled),
    bufferedBytes: lanes((lane) => lane.bufferedBytes),
    paused: lanes((lane) => Number(lane.paused)),
    halted: lanes((lane) => Number(lane.phase === 'halted')),
    haltedPartitions: haltedBy(watched),
    restoring: lanes((lane) => Number(lane.restore !== undefined)),
    restoreWaitSeconds: lanes((lane) => since(lane.restore?.waitsSinceMs) ?? 0),
    outageSeconds: lanes((lane) => since(lane.outage?.sinceMs) ?? 0),
    stalledSeconds: lanes((lane) => since(lane.stall?.sinceMs) ?? 0),
    pollIntervalP99: groups(({ pace }) => secondsOf(pace.pollP99Ms())),
    maxPollInterval: groups(({ pace }) => seconds(pace.maxPollIntervalMs)),
    drainP99: groups(({ pace }) => secondsOf(pace.drainP99Ms())),
    rebalanceTimeout: groups(({ pace }) => seconds(pace.maxPollIntervalMs)),
  };
}

/** How many partitions wait for a person, by what they stand before: 0 too, so that an alert on it has a sample. */
function haltedBy(watched: readonly Watched[]) {
  return (set: SetGauge<'group' | 'reason'>): void => {
    for (const { group, runtime } of watched) {
      const lanes = runtime.lanes();
      for (const reason of HALT_CAUSES) set({ group, reason }, lanes.filter((lane) => lane.haltedBy === reason).length);
    }
  };
}

type Counters = Registered<typeof RUNTIME_METRICS>;

function observer(counters: Counters, group: string): (event: RuntimeEvent) => void {
  const reasons = new Set<string>();
  const reasonLabel = (reason: string): string => {
    if (!reasons.has(reason) && reasons.size >= MAX_SKIP_REASONS) return 'other';
    reasons.add(reason);
    return reason;
  };
  startAtZero(counters, RUNTIME_METRICS, { group });
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
        counters.rebalances.inc({ group, reason: event.how });
        return;
      case 'drained':
        counters.drains.observe({ group, why: event.why }, seconds(event.tookMs));
        counters.abandoned.inc({ group }, event.abandonedRecords);
        return;
      case 'lane-reopened':
        counters.abandoned.inc({ group }, event.abandonedRecords);
        return;
      case 'lane-opened':
        startAtZero(counters, RUNTIME_METRICS, of(event.lane));
        return;
      case 'lane-halted':
        counters.halts.inc({ ...of(event.lane), kind: event.why.kind });
        return;
      case 'gap':
        counters.gaps.inc({ ...of(event.lane), kind: event.gap.kind, done: event.done });
        counters.gapOffsets.inc({ ...of(event.lane), kind: event.gap.kind, done: event.done }, event.gap.to - event.gap.from);
        return;
      case 'restored':
        counters.restored.inc(of(event.lane), event.records);
        return;
      case 'restore-passed':
        counters.restorePassed.inc({ group, kind: event.why }, event.to - event.from);
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
      case 'positions':
        counters.positions.inc({ group, outcome: event.outcome }, event.count);
        return;
      case 'flush-failed':
        counters.flushesFailed.inc({ group });
        return;
      case 'broker-error':
        counters.brokerErrors.inc({ group });
        return;
      case 'recovered':
      case 'restore-waits':
      case 'restore-ended':
      case 'client-log':
        // An outage's length is shown by the gauge; the client's lines go into the log.
        return;
    }
  };
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1000;
}

function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : seconds(ms);
}
