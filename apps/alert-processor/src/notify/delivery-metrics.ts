import { type Clock, type Registered, type SetGauge, startAtZero } from '@tailrace/kafka-kit';
import type { ChannelView } from './channel-queue.ts';
import type { DeliveryReport } from './deliveries.ts';
import { DELIVERY_METRICS } from './delivery-metric-table.ts';

type Counted = Registered<typeof DELIVERY_METRICS>;

/** Counts each try before it is passed on. `channels`: those that there are, whose counters start at 0. */
export function countedReport(counted: Counted, channels: readonly string[], clock: Clock, next: DeliveryReport): DeliveryReport {
  for (const channel of channels) startAtZero(counted, DELIVERY_METRICS, { channel });
  return (delivery, outcome, attempts) => {
    const { channel, notification } = delivery;
    counted.sends.inc({ channel, outcome: outcome.kind });
    // What is told again or resolved says nothing of how quickly an alert was told.
    if (outcome.kind === 'sent' && notification.key.endsWith('/firing')) {
      const { brokerMs, eventMs } = notification.evidence;
      const nowMs = clock.nowMs();
      if (brokerMs !== null) counted.notified.observe({ channel, since: 'broker' }, Math.max(0, nowMs - brokerMs) / 1000);
      if (eventMs !== null) counted.notified.observe({ channel, since: 'event' }, Math.max(0, nowMs - eventMs) / 1000);
    }
    next(delivery, outcome, attempts);
  };
}

/** Readers of the gauges. */
export function deliveryReaders(view: () => readonly ChannelView[], clock: Clock) {
  return {
    waiting(set: SetGauge<'channel'>): void {
      for (const { channel, held } of view()) set({ channel }, held);
    },
    oldestWaiting(set: SetGauge<'channel'>): void {
      for (const { channel, oldestMs } of view())
        if (oldestMs !== undefined) set({ channel }, Math.max(0, clock.nowMs() - oldestMs) / 1000);
    },
  };
}
