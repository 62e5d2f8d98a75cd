import type { MetricTable } from '@tailrace/kafka-kit';
import { DELIVERY_METRICS } from './notify/delivery-metric-table.ts';

/** The alert processor's own figures, beside those of its consumers. */
export const ALERT_METRICS = {
  cells: {
    name: 'tailrace_alert_cells_published_total',
    type: 'counter',
    unit: 'cells',
    labels: {},
    says: 'Panes of groups that were published, each time with all that they count so far.',
    respond:
      'None by itself. At rest while events come: no rule wants them, or nothing is published (`tailrace_alert_publish_retries_total`).',
  },
  publishRetries: {
    name: 'tailrace_alert_publish_retries_total',
    type: 'counter',
    unit: 'records',
    labels: {},
    says: 'Records of `alert-partials` that were not acknowledged, and were written again.',
    respond: 'Look at Kafka. Nothing is lost: what is not acknowledged is not committed; but alerts are late.',
  },
  lateEvents: {
    name: 'tailrace_alert_late_events_total',
    type: 'counter',
    unit: 'events',
    labels: {},
    says: 'Events that came to Kafka later than `ALERT_LATENESS_MS` behind their own time: their pane was closed, and they are in no alert.',
    respond: 'Find the service that sends late or whose clock is wrong. Where lateness is usual, raise `ALERT_LATENESS_MS`.',
  },
  refusedEvents: {
    name: 'tailrace_alert_refused_events_total',
    type: 'counter',
    unit: 'events',
    labels: { rule: 'rules of the file' },
    says: 'Events of a group that was one too many for its rule (`max_groups`): they are in no alert of that rule.',
    respond: 'Group the rule by a field with fewer values, or raise its `max_groups`.',
  },
  watermark: {
    name: 'tailrace_alert_watermark_seconds',
    type: 'gauge',
    unit: 'Unix seconds',
    labels: { topic: 'topics of the stream', partition: 'partitions of this process' },
    says: 'Up to which time every event of the partition is counted and told to the deciding stage. It stays `ALERT_LATENESS_MS` behind the clock.',
    respond: 'Further behind than that: the partition lags, and what needs complete windows waits. Look at the lag of the group.',
  },
  warmingUp: {
    name: 'tailrace_alert_warming_up',
    type: 'gauge',
    unit: '0 or 1',
    labels: {},
    says: '1 while what came before the start is being counted: alerts are late meanwhile.',
    respond: 'Wait. When it lasts for minutes, look at the lag of the group.',
  },
  warmUp: {
    name: 'tailrace_alert_warm_up_seconds',
    type: 'gauge',
    unit: 'seconds',
    labels: {},
    says: 'How long after its first partition the process needed for all that came before. Absent until then.',
    respond: 'None by itself.',
  },
  ...DELIVERY_METRICS,
  rules: {
    name: 'tailrace_alert_rules',
    type: 'gauge',
    unit: 'rules',
    labels: {},
    says: 'Rules of the file or folder that hold now.',
    respond: 'None by itself. At 0 nothing can fire; members that differ for more than a few seconds read different files.',
  },
  rulesRefused: {
    name: 'tailrace_alert_rules_refused',
    type: 'gauge',
    unit: '0 or 1',
    labels: {},
    says: '1 while the rules as they stand in the file or folder are refused, so that those of before hold.',
    respond: 'Run `npx tailrace rules check` on the file: it names every problem. `/readyz` names the first one.',
  },
} as const satisfies MetricTable;
