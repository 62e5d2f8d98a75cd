import { registerMetrics } from '@tailrace/kafka-kit';
import { ManualClock } from '@tailrace/kafka-kit/testing';
import { createMetrics } from '@tailrace/service';
import { expect, test } from 'vitest';
import { Deliveries } from './deliveries.ts';
import { DELIVERY_METRICS } from './delivery-metric-table.ts';
import { countedReport, deliveryReaders } from './delivery-metrics.ts';
import { HeldNotifier } from './testing/held-notifier.ts';
import { AT_MS, notification } from './testing/notifications.ts';

test('tries are counted by channel and outcome; what waits, how long, and how late people were told', async () => {
  const clock = new ManualClock(AT_MS);
  const notifier = new HeldNotifier();
  const metrics = createMetrics();
  const counted = registerMetrics(
    metrics,
    DELIVERY_METRICS,
    deliveryReaders(() => deliveries.view(), clock),
  );
  const told: string[] = [];
  const report = countedReport(counted, ['oncall'], clock, (_delivery, { kind }) => told.push(kind));
  const deliveries = new Deliveries([notifier], report, { clock, random: () => 0 });
  const scraped = async (): Promise<readonly string[]> => (await metrics.metrics()).split('\n').filter((line) => /^tailrace_/.test(line));
  expect(await scraped()).toContain('tailrace_alert_sends_total{channel="oncall",outcome="given-up"} 0');
  for (const name of ['firing', 'resolved'])
    deliveries.deliver({ notification: notification({ key: `i/${name}`, incident: 'i' }), channel: 'oncall', attempts: 0 });
  notifier.tries[0]?.answer({ kind: 'retry', reason: 'answered 500' });
  await clock.advance(500);
  expect(await scraped()).toEqual(
    expect.arrayContaining([
      'tailrace_alert_sends_total{channel="oncall",outcome="retry"} 1',
      'tailrace_alert_waiting_notifications{channel="oncall"} 2',
      'tailrace_alert_oldest_waiting_seconds{channel="oncall"} 0.5',
    ]),
  );
  await clock.advance(500);
  notifier.tries[1]?.answer({ kind: 'sent' });
  await clock.advance(0);
  notifier.tries[2]?.answer({ kind: 'sent' });
  await clock.advance(0);
  expect(told).toEqual(['retry', 'sent', 'sent']);
  const lines = await scraped();
  expect(lines).toEqual(
    expect.arrayContaining([
      'tailrace_alert_sends_total{channel="oncall",outcome="sent"} 2',
      'tailrace_alert_waiting_notifications{channel="oncall"} 0',
      'tailrace_alert_notified_seconds_count{channel="oncall",since="broker"} 1',
      'tailrace_alert_notified_seconds_sum{channel="oncall",since="broker"} 1.5',
      'tailrace_alert_notified_seconds_sum{channel="oncall",since="event"} 1.7',
    ]),
  );
  expect(lines.join()).not.toContain('oldest_waiting');
});
