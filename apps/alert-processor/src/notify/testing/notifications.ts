import type { Notification } from '../notification.ts';

export const AT_MS = Date.UTC(2026, 0, 1);

/** A notification that has everything, changed as a test wants. */
export function notification(changes: Partial<Notification> = {}): Notification {
  const { incident = 'errors-by-service/0123456789abcdef/1767225600000', status = 'firing' } = changes;
  return {
    key: `${incident}/${status}`,
    incident,
    status,
    rule: 'errors-by-service',
    group: { service: 'shop', region: null },
    severity: 'critical',
    summary: 'shop answers with errors',
    labels: { team: 'payments' },
    response: { do: 'Look at the last deployment of the service.', doNot: 'Do not restart the database.' },
    runbook: 'https://runbooks.example.com/errors',
    startedMs: AT_MS - 60_000,
    decidedMs: AT_MS,
    evidence: {
      text: 'count 153 > 100 in 1 min',
      value: 153,
      threshold: 100,
      events: 153,
      windowStartMs: AT_MS - 60_000,
      windowEndMs: AT_MS,
      completeUpToMs: AT_MS - 60_000,
      missing: ['partition 3 is 60 s behind'],
      brokerMs: AT_MS - 500,
      eventMs: AT_MS - 700,
    },
    ...changes,
  };
}
