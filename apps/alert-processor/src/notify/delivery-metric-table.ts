import { everyOf, type MetricTable } from '@tailrace/kafka-kit';
import type { DeliveryOutcome } from './deliveries.ts';

const OUTCOMES = everyOf<DeliveryOutcome['kind']>({ sent: true, retry: true, refused: true, 'given-up': true });

/** Figures of telling people. */
export const DELIVERY_METRICS = {
  sends: {
    name: 'tailrace_alert_sends_total',
    type: 'counter',
    unit: 'tries',
    labels: { channel: 'notifiers', outcome: OUTCOMES },
    says: 'Tries to tell somebody of an alert, by what they came to. `retry`: another one follows; `refused` and `given-up`: none does, and this channel was not told.',
    respond:
      '`retry` grows: the receiver is away, slow or says no; `tailrace alerts ls` says why. `refused` or `given-up` grows: somebody was not told. Mend the notifier or its receiver, and look at what was missed with `tailrace alerts ls`.',
  },
  waiting: {
    name: 'tailrace_alert_waiting_notifications',
    type: 'gauge',
    unit: 'notifications',
    labels: { channel: 'notifiers' },
    says: 'What this process holds for a channel and has not got through yet, up to 1000; what is above it waits in `alert-state`.',
    respond: 'More than a few for minutes: the receiver does not keep up or is away. Other channels do not wait for it.',
  },
  oldestWaiting: {
    name: 'tailrace_alert_oldest_waiting_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: { channel: 'notifiers' },
    says: 'How long ago the oldest of them was decided. No sample where nothing waits.',
    respond: 'Above a minute people are told late. After 24 h it is given up.',
  },
  notified: {
    name: 'tailrace_alert_notified_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: { channel: 'notifiers', since: ['broker', 'event'] },
    says: 'How late alerts are: from the latest event that was counted until the channel had taken the first notification of an alert. `broker`: since Kafka had the event; `event`: since its own time.',
    respond:
      '`broker` above 2 s: see which part lags (`tailrace_alert_canary_round_trip_seconds`, `tailrace_alert_sends_total`). Only `event` is high: services post late.',
    buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 3600],
  },
} as const satisfies MetricTable;
