import { Pace, placed, type RuntimeMetrics, runtimeHealth, runtimeLog, untilReached } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { Stage, StageOptions, StageSink } from './open-stage.ts';

/** What every stage's options have from the service that it is a part of. */
export type FromService = Pick<StageOptions, 'instanceId' | 'tickMs' | 'stopMs' | 'maxPollIntervalMs' | 'log' | 'signal' | 'observe'>;

export interface StartStageOptions {
  readonly name: 'panes' | 'decide';
  readonly group: string;
  /** Where Kafka is. */
  readonly bootstrapServers: string;
  readonly figures: RuntimeMetrics;
  /** What of the time for a stop is kept for what comes behind the runtime. */
  readonly stopReserveShare: number;
}

const MAX_POLL_INTERVAL_MS = 60_000;

/** Starts a stage as a part of the service, with the health and the figures that both have. */
export async function startStage<S extends StageSink>(
  part: Service,
  { instanceId, tickMs, service }: AlertConfig,
  { name, group, bootstrapServers, figures, stopReserveShare }: StartStageOptions,
  open: (from: FromService) => Promise<Stage<S>>,
): Promise<Stage<S>> {
  const { start, log, health, signal, fail } = part;
  const server = { name: 'Kafka', at: bootstrapServers };
  const pace = new Pace(MAX_POLL_INTERVAL_MS, log);
  const observers = [figures.observer(group), runtimeLog(log), pace.see];
  const from: FromService = {
    instanceId,
    tickMs,
    stopMs: Math.floor(service.stopTimeoutMs * (1 - stopReserveShare)),
    maxPollIntervalMs: MAX_POLL_INTERVAL_MS,
    log,
    signal,
    observe(event) {
      for (const observe of observers) observe(event);
    },
  };
  const stage = await start(
    name,
    () => untilReached(part, server, () => open(from)),
    (running, limitMs) => running.close(limitMs),
  );
  figures.watch(group, stage.runtime, pace);
  health.set(name, () => runtimeHealth(stage.runtime, { kafka: placed(server), sink: placed(server) }));
  health.set(`${name}-pace`, () => pace.health());
  stage.runtime.finished.catch((fault: unknown) => fail(fault instanceof Error ? fault : new Error(String(fault))));
  return stage;
}
