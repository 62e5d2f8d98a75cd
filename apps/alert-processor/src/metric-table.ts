import type { MetricTable } from '@tailrace/kafka-kit';

/** The alert processor's own figures, beside those of its consumers. */
export const ALERT_METRICS = {
  cells: {
    name: 'tailrace_alert_cells_published_total',
    type: 'counter',
    unit: 'cells',
    labels: {},
    says: 'Panes of groups that were published, each time with all that they count so far.',
    respond: 'Far above groups × panes: many events come late. Look at `tailrace_alert_late_events_total`.',
  },
} as const satisfies MetricTable;
