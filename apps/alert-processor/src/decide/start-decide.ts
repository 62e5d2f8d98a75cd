import { decideGroupName } from '@tailrace/events';
import { isoTime, type KafkaSettings, type RuntimeMetrics, systemClock } from '@tailrace/kafka-kit';
import type { Check, Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { Message } from '../messages/message.ts';
import type { AlertMetrics } from '../metrics.ts';
import { Deliveries, type DeliveryReport } from '../notify/deliveries.ts';
import { loggedReport } from '../notify/delivery-log.ts';
import { countedReport } from '../notify/delivery-metrics.ts';
import type { Notifier } from '../notify/notifier.ts';
import type { RuleSource } from '../panes/rule-source.ts';
import { startStage } from '../stages/start-stage.ts';
import type { DeciderSource } from './coverage.ts';
import type { DecideSink } from './decide-sink.ts';
import { type Decide, openDecide } from './open-decide.ts';

export interface StartDecideOptions {
  readonly kafka: KafkaSettings;
  /** Of stage 1. */
  readonly group: string;
  readonly topics: readonly string[];
  readonly partialsTopic: string;
  readonly stateTopic: string;
  readonly rules: RuleSource;
  readonly notifiers: readonly Notifier[];
  readonly metrics: AlertMetrics;
  readonly figures: RuntimeMetrics;
  readonly nowMs: () => number;
  /** Each message that is taken in, and each tick whose states are acknowledged. */
  readonly onMessage?: (partition: number, message: Message) => void;
  readonly onTicked?: (partition: number) => void;
}

/** Stage 2 as a part of the service, and what it tells through. */
export interface Deciding extends Decide {
  readonly deliveries: Deliveries;
}

/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.4;
/** What is on its way to a receiver may end within it: what is not reported is told again by the next owner. */
const DELIVERIES_CLOSE_MS = 3000;

/** Starts stage 2 as a part of the service, with its health and its figures. */
export async function startDecide(service: Service, config: AlertConfig, options: StartDecideOptions): Promise<Deciding> {
  const { start, log, health } = service;
  const { metrics, figures, notifiers, ...rest } = options;
  const channels = notifiers.map(({ name }) => name);
  let told: DeliveryReport = () => undefined;
  const report = countedReport(
    metrics.counted,
    channels,
    systemClock,
    loggedReport(log, (...tried) => told(...tried)),
  );
  const deliveries = await start(
    'deliveries',
    async () => new Deliveries(notifiers, report),
    (running, limitMs) => running.close(Math.min(limitMs, DELIVERIES_CLOSE_MS)),
  );
  metrics.readings.channels = () => deliveries.view();
  const group = decideGroupName(options.group);
  const { bootstrapServers } = rest.kafka;
  const stage = { name: 'decide', group, bootstrapServers, figures, stopReserveShare: STOP_RESERVE_SHARE } as const;
  const decide = await startStage(service, config, stage, (from) =>
    openDecide({
      ...rest,
      ...from,
      deliveries,
      reports(to) {
        told = to;
      },
      onTransition({ notification: { key, rule, status, summary, severity, evidence }, silencedBy }) {
        const silenced = silencedBy === undefined ? '' : `, and told to nobody (silence ${silencedBy})`;
        log.info({ rule, status, severity, key, missing: evidence.missing }, `${status}: ${summary} (${evidence.text})${silenced}`);
      },
      onRetry: (records) => metrics.counted.stateRetries.inc(records),
    }),
  );
  metrics.readings.deciding = () => decide.sink.counts;
  metrics.readings.decided = () => decide.sink.decided;
  health.set('deciding', () => decidingHealth(decide.sink));
  health.set('clocks', () => clocksHealth(decide.sink.sources() ?? []));
  return { ...decide, deliveries };
}

/** Degraded while marks say that the clock of a process that counts is ahead of the brokers'. */
export function clocksHealth(sources: readonly Pick<DeciderSource, 'topic' | 'partition' | 'aheadMs'>[]): Check {
  const ahead = sources.filter(({ aheadMs }) => aheadMs > 0);
  const furthest = ahead.toSorted((a, b) => b.aheadMs - a.aheadMs)[0];
  if (furthest === undefined) return { state: 'ok', sentence: "No clock of a process that counts is ahead of the brokers'." };
  const { topic, partition, aheadMs } = furthest;
  return {
    state: 'degraded',
    sentence: `The clock of the process that counts partition ${partition} of ${topic} is ${Math.round(aheadMs / 1000)} s ahead of the brokers' (${ahead.length} of ${sources.length} partitions are counted so); alerts go by the brokers' clock meanwhile. Set the clock right.`,
  };
}

/** Degraded until every partition is read up to where it was: nothing is decided of it before. */
export function decidingHealth({ progress: { ready, owned, sinceMs, readyInMs } }: Pick<DecideSink, 'progress'>): Check {
  if (sinceMs === undefined) return { state: 'ok', sentence: 'No partition of the alerts has been given to this process yet.' };
  if (owned === 0) return { state: 'ok', sentence: 'This process has no partition of the alerts now.' };
  if (ready < owned)
    return {
      state: 'degraded',
      sentence: `Warming up since ${isoTime(sinceMs)}: ${owned - ready} of ${owned} partitions of the alerts are still read up to where they were; they decide nothing until then.`,
    };
  const took = readyInMs === undefined ? '' : `, ${(readyInMs / 1000).toFixed(1)} s after the first was given to it`;
  return { state: 'ok', sentence: `All ${owned} partitions of the alerts that this process has are decided${took}.` };
}
