import { type Registered, registerMetrics, systemClock, type TopicPartition } from '@tailrace/kafka-kit';
import type { Metrics } from '@tailrace/service';
import { ALERT_METRICS } from './metric-table.ts';
import type { ChannelView } from './notify/channel-queue.ts';
import { deliveryReaders } from './notify/delivery-metrics.ts';
import type { WarmUp } from './panes/warm-up.ts';

/** What the gauges read: parts fill it in once they run. */
export interface AlertReadings {
  warmUp: () => WarmUp;
  channels: () => readonly ChannelView[];
  rules: () => { readonly count: number; readonly refused: boolean };
  watermarks: () => readonly (TopicPartition & { readonly watermarkMs: number })[];
  decided: () => readonly { readonly partition: number; readonly settledMs: number }[];
  deciding: () => { readonly firing: number; readonly groups: number };
}

export interface AlertMetrics {
  readonly counted: Registered<typeof ALERT_METRICS>;
  readonly readings: AlertReadings;
}

export function alertMetrics(metrics: Metrics): AlertMetrics {
  const readings: AlertReadings = {
    warmUp: () => ({ kind: 'waiting' }),
    channels: () => [],
    rules: () => ({ count: 0, refused: false }),
    watermarks: () => [],
    decided: () => [],
    deciding: () => ({ firing: 0, groups: 0 }),
  };
  const counted = registerMetrics(metrics, ALERT_METRICS, {
    watermark(set) {
      for (const { topic, partition, watermarkMs } of readings.watermarks()) set({ topic, partition }, watermarkMs / 1000);
    },
    decided(set) {
      for (const { partition, settledMs } of readings.decided()) set({ partition }, settledMs / 1000);
    },
    warmingUp: (set) => set({}, readings.warmUp().kind === 'warming' ? 1 : 0),
    ...deliveryReaders(() => readings.channels(), systemClock),
    warmUp(set) {
      const state = readings.warmUp();
      if (state.kind === 'warm') set({}, state.tookMs / 1000);
    },
    firing: (set) => set({}, readings.deciding().firing),
    groups: (set) => set({}, readings.deciding().groups),
    rules: (set) => set({}, readings.rules().count),
    rulesRefused: (set) => set({}, readings.rules().refused ? 1 : 0),
  });
  return { counted, readings };
}
