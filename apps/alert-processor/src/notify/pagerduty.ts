import { isoTime } from '@tailrace/kafka-kit';
import { cut, oneLine } from './alert-text.ts';
import type { HttpMessage } from './http-notifier.ts';
import type { Notification } from './notification.ts';
import { webhookBody } from './webhook.ts';

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

/** Bounds of the Events API v2. */
const SUMMARY_UNITS = 1024;
const SOURCE_UNITS = 255;

/**
 * Events API v2. `dedup_key` is the incident, so that PagerDuty folds what is told again into the incident that is open, and `resolve` closes it; a
 * `resolve` for what it does not know it takes and ignores.
 */
export function pagerdutyMessage(notification: Notification, routingKey: string): HttpMessage {
  const { incident, status, rule, group, severity, summary, runbook, decidedMs } = notification;
  const event = { routing_key: routingKey, dedup_key: incident };
  if (status === 'resolved') return { body: JSON.stringify({ ...event, event_action: 'resolve' }) };
  const values = Object.values(group).filter((value) => value !== null);
  return {
    body: JSON.stringify({
      ...event,
      event_action: 'trigger',
      client: 'tailrace',
      payload: {
        summary: cut(oneLine(summary), SUMMARY_UNITS),
        source: cut(oneLine(values.join(', ')) || 'tailrace', SOURCE_UNITS),
        severity,
        timestamp: isoTime(decidedMs),
        class: rule,
        custom_details: webhookBody(notification),
      },
      ...(runbook === undefined ? {} : { links: [{ href: runbook, text: 'Runbook' }] }),
    }),
  };
}
