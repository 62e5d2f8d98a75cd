import { isoTime } from '@tailrace/kafka-kit';
import type { Notification } from './notification.ts';

/** Grows only by fields; what changes the meaning of one is a new version. */
export const WEBHOOK_VERSION = 1;

/** What a webhook is posted: the whole notification, times in RFC 3339. Its schema: webhook-schema.ts. */
export function webhookBody(notification: Notification): string {
  const { key, incident, status, rule, group, severity, summary, labels, response, runbook, evidence } = notification;
  const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
  return JSON.stringify({
    version: WEBHOOK_VERSION,
    key,
    incident,
    status,
    rule,
    group,
    severity,
    summary,
    labels,
    response: { do: response.do, do_not: response.doNot },
    ...(runbook === undefined ? {} : { runbook }),
    started_at: time(notification.startedMs),
    decided_at: time(notification.decidedMs),
    evidence: {
      text: evidence.text,
      value: evidence.value,
      threshold: evidence.threshold,
      events: evidence.events,
      window_start: time(evidence.windowStartMs),
      window_end: time(evidence.windowEndMs),
      complete_up_to: time(evidence.completeUpToMs),
      missing: evidence.missing,
      broker_time: time(evidence.brokerMs),
      event_time: time(evidence.eventMs),
    },
  });
}
