import { expect, test } from 'vitest';
import { pagerdutyMessage } from './pagerduty.ts';
import { notification } from './testing/notifications.ts';

test('a firing alert triggers, under the incident', () => {
  const event = JSON.parse(pagerdutyMessage(notification(), 'R0UT1NGKEY').body);
  expect(event).toEqual({
    routing_key: 'R0UT1NGKEY',
    event_action: 'trigger',
    dedup_key: 'errors-by-service/0123456789abcdef/1767225600000',
    client: 'tailrace',
    payload: {
      summary: 'shop answers with errors',
      source: 'shop',
      severity: 'critical',
      timestamp: '2026-01-01T00:00:00.000Z',
      class: 'errors-by-service',
      custom_details: expect.objectContaining({
        response: { do: 'Look at the last deployment of the service.', do_not: 'Do not restart the database.' },
      }),
    },
    links: [{ href: 'https://runbooks.example.com/errors', text: 'Runbook' }],
  });
});

test('the same incident is resolved', () => {
  expect(JSON.parse(pagerdutyMessage(notification({ status: 'resolved' }), 'R0UT1NGKEY').body)).toEqual({
    routing_key: 'R0UT1NGKEY',
    event_action: 'resolve',
    dedup_key: 'errors-by-service/0123456789abcdef/1767225600000',
  });
});

test('the API’s bounds are kept', () => {
  const { payload } = JSON.parse(pagerdutyMessage(notification({ summary: 'x'.repeat(5000), group: { a: 'y'.repeat(256) } }), 'k').body);
  expect([payload.summary.length, payload.source.length]).toEqual([1024, 255]);
  expect(JSON.parse(pagerdutyMessage(notification({ group: {} }), 'k').body).payload.source).toBe('tailrace');
});
