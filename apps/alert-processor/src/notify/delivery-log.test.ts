import { expect, test } from 'vitest';
import type { DeliveryOutcome } from './deliveries.ts';
import { loggedReport } from './delivery-log.ts';
import { notification } from './testing/notifications.ts';

test('a channel that goes wrong is said once, and when it is well again; what nobody was told is said each time', () => {
  const lines: string[] = [];
  const passed: string[] = [];
  const line = (level: string) => (_fields: object, words: string) => lines.push(`${level} ${words}`);
  const log = { info: line('info'), warn: line('warn'), error: line('error') } as unknown as Parameters<typeof loggedReport>[0];
  const report = loggedReport(log, (_delivery, { kind }) => passed.push(kind));
  const tell = (channel: string, outcome: DeliveryOutcome, attempts = 3): void =>
    report({ notification: notification(), channel, attempts: 0 }, outcome, attempts);
  const retry = { kind: 'retry', reason: 'answered 503' } as const;
  tell('oncall', { kind: 'sent' });
  tell('oncall', retry);
  tell('oncall', retry);
  tell('chat', { kind: 'refused', reason: 'answered 404' }, 1);
  tell('chat', { kind: 'given-up', reason: 'answered 500' });
  tell('oncall', { kind: 'sent' });
  tell('oncall', retry);
  expect(lines).toEqual([
    'warn oncall could not be told, and is tried again: answered 503',
    'error chat was not told of "shop answers with errors": refused it after 1 try (answered 404)',
    'error chat was not told of "shop answers with errors": was given up after 3 tries (answered 500)',
    'info oncall is told again.',
    'warn oncall could not be told, and is tried again: answered 503',
  ]);
  expect(passed).toEqual(['sent', 'retry', 'retry', 'refused', 'given-up', 'sent', 'retry']);
});
