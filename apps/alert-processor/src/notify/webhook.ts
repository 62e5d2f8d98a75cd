import { createHmac } from 'node:crypto';
import { isoTime } from '@tailrace/kafka-kit';
import type { HttpMessage } from './http-notifier.ts';
import type { Notification } from './notification.ts';

/** Grows only by fields; what changes the meaning of one is a new version. */
export const WEBHOOK_VERSION = 1;

/** The whole notification as JSON, the same bytes at every try; the signature is of the try. Without a secret nothing is signed. */
export function webhookMessage(notification: Notification, nowMs: number, secret: string | undefined): HttpMessage {
  const body = JSON.stringify(webhookBody(notification));
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = secret === undefined ? {} : { 'x-tailrace-signature': `sha256=${signatureOf(secret, timestamp, body)}` };
  return { body, headers: { 'idempotency-key': notification.key, 'x-tailrace-timestamp': timestamp, ...signed } };
}

/** HMAC-SHA256 in hex over `<timestamp>.<body>`: with the time in it, a post that somebody recorded can not be used again later. */
function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}

/** Times in RFC 3339. Its schema: webhook-schema.ts. */
export function webhookBody(notification: Notification): Readonly<Record<string, unknown>> {
  const { key, incident, status, rule, group, severity, summary, labels, response, runbook, evidence } = notification;
  const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
  return {
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
  };
}
