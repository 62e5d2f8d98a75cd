import { everyOf, type MetricTable } from '@tailrace/kafka-kit';
import type { CanaryAnswer } from './canary-track.ts';
import type { Beat } from './heartbeat.ts';

/** Figures by which the alert processor watches itself. */
export const WATCH_METRICS = {
  canaries: {
    name: 'tailrace_alert_canaries_total',
    type: 'counter',
    unit: 'events',
    labels: { outcome: everyOf<CanaryAnswer['kind']>({ accepted: true, failed: true }) },
    says: 'Canaries that were posted to the gateway (`ALERT_CANARY_URL`), by whether all of their round were accepted.',
    respond: '`failed` grows: services that post are turned away, too. Look at the gateway’s `/readyz` and at the brokers.',
  },
  canaryRoundTrip: {
    name: 'tailrace_alert_canary_round_trip_seconds',
    type: 'histogram',
    unit: 'seconds',
    labels: {},
    says: 'From the time in a canary until it was decided upon: gateway, Kafka, both stages. A broker whose clock is behind makes it longer.',
    respond: 'p99 above 2 s: alerts are late. See which consumer lags: `alert-processor` or `alert-processor.decide`.',
    buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60, 300],
  },
  canaryAge: {
    name: 'tailrace_alert_canary_age_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: { partition: 'those of the stream' },
    says: 'How long ago the latest canary of a partition that came back had been posted. No sample where this process posts none.',
    respond: 'More than three times `ALERT_CANARY_MS`: this partition is not read; the alert `tailrace.blind` names it after 30 s.',
  },
  countedBehind: {
    name: 'tailrace_alert_counted_behind_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: { partition: 'those of the stream' },
    says: 'How long ago everything of a partition was counted, and decided upon. No sample where this process decides nothing.',
    respond: 'Above 30 s alerts are late, and the alert `tailrace.behind` says so: see what it tells you to do.',
  },
  readerHeard: {
    name: 'tailrace_alert_reader_heard_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: { partition: 'those of the stream' },
    says: 'How long ago the reader of a partition told how far it was, and everything was decided that it had told by then.',
    respond: 'Above 30 s nobody reads the partition, and the alert `tailrace.blind` says so.',
  },
  heartbeats: {
    name: 'tailrace_alert_heartbeats_total',
    type: 'counter',
    unit: 'heartbeats',
    labels: { outcome: everyOf<Beat>({ sent: true, failed: true, withheld: true }) },
    says: 'Heartbeats to `ALERT_HEARTBEAT_URL`: sent, failed at the receiver, or withheld because alerts can not be told now.',
    respond: '`withheld`: the log says why. `failed`: the receiver does not take them; it will raise its alarm.',
  },
} as const satisfies MetricTable;
