import { expect, test } from 'vitest';
import { slackMessage } from './slack.ts';
import { notification } from './testing/notifications.ts';

test('a text and one attachment, with what to do and what not to do', () => {
  expect(JSON.parse(slackMessage(notification()).body)).toEqual({
    text: 'FIRING critical: shop answers with errors',
    attachments: [
      {
        color: '#b3001b',
        fallback: 'FIRING critical: shop answers with errors',
        mrkdwn_in: ['text'],
        text: [
          '*Do:* Look at the last deployment of the service.',
          '*Do not:* Do not restart the database.',
          '*Runbook:* https://runbooks.example.com/errors',
          '*Evidence:* count 153 &gt; 100 in 1 min',
          '*Since:* 2026-01-01T00:00:00.000Z, in the window from 2025-12-31T23:59:00.000Z',
          '*Complete up to:* 2025-12-31T23:59:00.000Z',
          '*Not seen:* partition 3 is 60 s behind',
          '*Rule:* errors-by-service',
          '*Group:* service=shop, region=(none)',
          '*Labels:* team=payments',
          '*Incident:* errors-by-service/0123456789abcdef/1767225600000',
        ].join('\n'),
      },
    ],
  });
});

test('an end is told without what to do about it', () => {
  const { text, attachments } = JSON.parse(slackMessage(notification({ status: 'resolved' })).body);
  expect(text).toBe('RESOLVED: shop answers with errors');
  expect(attachments[0].text).not.toContain('*Do:*');
  expect(attachments[0].color).toBe('#2c9f45');
});

test('no text of an event becomes a link, a mention or a call to everybody', () => {
  const summary = '<!channel> <https://evil.example|click> & @here @everyone <@U123>\nsecond line';
  const { text } = JSON.parse(slackMessage(notification({ summary })).body);
  expect(text).toBe(
    'FIRING critical: &lt;!channel&gt; &lt;https://evil.example|click&gt; &amp; @\u200bhere @\u200beveryone &lt;@U123&gt; second line',
  );
});

test('what is too long is cut, whole characters and whole escapes', () => {
  const long = '&\u{1F600}'.repeat(10_000);
  const { text, attachments } = JSON.parse(slackMessage(notification({ summary: long, response: { do: long, doNot: long } })).body);
  expect(text.length).toBeLessThan(4000);
  expect(text).toMatch(/(?:&amp;|\u{1F600})…$/u);
  expect(attachments[0].text.length).toBeLessThanOrEqual(2900);
  const lines: readonly string[] = attachments[0].text.split('\n');
  expect(lines[0]).toMatch(/^\*Do:\* .*(?:&amp;|\u{1F600})…$/u);
  expect(lines.at(-1)).toBe('…');
});
