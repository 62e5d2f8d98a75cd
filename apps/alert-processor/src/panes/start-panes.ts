import { type KafkaSettings, Pace, placed, type RuntimeMetrics, runtimeHealth, runtimeLog, untilReached } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { AlertMetrics } from '../metrics.ts';
import { openPanes, type Panes } from './open-panes.ts';
import type { RuleSource } from './rule-source.ts';
import { warmUpHealth } from './warm-up.ts';

export interface StartPanesOptions {
  readonly kafka: KafkaSettings;
  readonly group: string;
  readonly topics: readonly string[];
  readonly partialsTopic: string;
  readonly rules: RuleSource;
  readonly metrics: AlertMetrics;
  readonly figures: RuntimeMetrics;
  readonly nowMs: () => number;
}

const MAX_POLL_INTERVAL_MS = 60_000;
/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.2;

/** Starts stage 1 as a part of the service, with its health and its figures. */
export async function startPanes(service: Service, config: AlertConfig, options: StartPanesOptions): Promise<Panes> {
  const { start, log, health, signal, fail } = service;
  const { group, kafka, metrics, figures, ...rest } = options;
  const server = { name: 'Kafka', at: kafka.bootstrapServers };
  const pace = new Pace(MAX_POLL_INTERVAL_MS, log);
  const observers = [figures.observer(group), runtimeLog(log), pace.see];
  const { counted, readings } = metrics;
  const open = () =>
    openPanes({
      ...rest,
      kafka,
      group,
      tickMs: config.tickMs,
      stopMs: Math.floor(config.service.stopTimeoutMs * (1 - STOP_RESERVE_SHARE)),
      maxPollIntervalMs: MAX_POLL_INTERVAL_MS,
      log,
      signal,
      observe(event) {
        for (const observe of observers) observe(event);
      },
      onRetry: (records) => counted.publishRetries.inc(records),
      onPublished(cells, leftOut) {
        counted.cells.inc(cells);
        for (const { late, refused } of leftOut) {
          counted.lateEvents.inc(late);
          for (const [rule, events] of refused) counted.refusedEvents.inc({ rule }, events);
        }
      },
    });
  const panes = await start(
    'panes',
    () => untilReached(service, server, open),
    (running, limitMs) => running.close(limitMs),
  );
  readings.warmUp = () => panes.sink.warmUp;
  readings.watermarks = () => panes.sink.watermarks;
  figures.watch(group, panes.runtime, pace);
  health.set('panes', () => runtimeHealth(panes.runtime, { kafka: placed(server), sink: placed(server) }));
  health.set('warm-up', () => warmUpHealth(panes.sink.warmUp));
  health.set('pace', () => pace.health());
  panes.runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));
  return panes;
}
