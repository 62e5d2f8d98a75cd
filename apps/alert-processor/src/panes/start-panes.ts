import type { KafkaSettings, RuntimeMetrics } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { AlertMetrics } from '../metrics.ts';
import { startStage } from '../stages/start-stage.ts';
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

/** Kept of the time for a stop for what comes behind the runtime. */
const STOP_RESERVE_SHARE = 0.2;

/** Starts stage 1 as a part of the service, with its health and its figures. */
export async function startPanes(service: Service, config: AlertConfig, options: StartPanesOptions): Promise<Panes> {
  const { group, metrics, figures, ...rest } = options;
  const { counted, readings } = metrics;
  const { bootstrapServers } = rest.kafka;
  const stage = { name: 'panes', group, bootstrapServers, figures, stopReserveShare: STOP_RESERVE_SHARE } as const;
  const panes = await startStage(service, config, stage, (from) =>
    openPanes({
      ...rest,
      ...from,
      group,
      onRetry: (records) => counted.publishRetries.inc(records),
      onPublished(cells, leftOut) {
        counted.cells.inc(cells);
        for (const { late, refused } of leftOut) {
          counted.lateEvents.inc(late);
          for (const [rule, events] of refused) counted.refusedEvents.inc({ rule }, events);
        }
      },
    }),
  );
  readings.warmUp = () => panes.sink.warmUp;
  readings.watermarks = () => panes.sink.watermarks;
  service.health.set('warm-up', () => warmUpHealth(panes.sink.warmUp));
  return panes;
}
