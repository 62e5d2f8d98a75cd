import { systemClock } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { Deciding } from '../decide/start-decide.ts';
import { Watch } from './watch.ts';

export interface StartWatchOptions {
  readonly stream: string;
  readonly allowedDelayMs: number;
  readonly deciding: Deciding;
  readonly nowMs: () => number;
}

/** Starts the watch as a part of the service. */
export async function startWatch(service: Service, config: AlertConfig, options: StartWatchOptions): Promise<Watch> {
  const { stream, allowedDelayMs, deciding, nowMs } = options;
  const { canaryUrl, canaryMs, heartbeatUrl, latenessMs } = config;
  const open = async () =>
    new Watch(
      {
        stream,
        allowedDelayMs,
        latenessMs,
        canary: canaryUrl === undefined ? undefined : { url: new URL(canaryUrl), everyMs: canaryMs },
        heartbeatUrl: heartbeatUrl === undefined ? undefined : new URL(heartbeatUrl),
      },
      {
        clock: { nowMs, sleep: systemClock.sleep },
        log: service.log,
        metrics: service.metrics,
        deciding: deciding.sink,
        channels: () => deciding.deliveries.view(),
      },
    );
  const watch = await service.start('watch', open, (running) => running.stop());
  for (const what of ['alerts', 'channels'] as const) service.health.set(what, () => watch.check(what));
  return watch;
}
