import { systemClock } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';
import type { AlertConfig } from '../config.ts';
import type { Deciding } from '../decide/start-decide.ts';
import { channelsTell } from './vitals.ts';
import { Watch } from './watch.ts';

export interface StartWatchOptions {
  readonly stream: string;
  readonly allowedDelayMs: number;
  readonly deciding: Deciding;
  readonly nowMs: () => number;
}

/** Starts the watch as a part of the service. */
export function startWatch(service: Service, config: AlertConfig, options: StartWatchOptions): Promise<Watch> {
  const { stream, allowedDelayMs, deciding, nowMs } = options;
  const { canaryUrl, canaryMs, heartbeatUrl, latenessMs } = config;
  const tell = channelsTell(() => deciding.deliveries.view());
  service.health.set('channels', () => {
    const fault = tell(nowMs());
    return fault === undefined
      ? { state: 'ok', sentence: 'No channel refuses all that it is sent.' }
      : { state: 'degraded', sentence: `Mend the notifier or its receiver: ${fault}.` };
  });
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
  return service.start('watch', open, (running) => running.stop());
}
