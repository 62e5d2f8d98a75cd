import { expect, test } from 'vitest';
import type { AlertState, Send, Transition } from '../decide/alert-state.ts';
import { AT_MS, notification } from '../notify/testing/notifications.ts';
import { alertLines, alertPage, inOrder, span, toldWords, untold } from './alert-view.ts';

function send(status: Send['status'], changes: Partial<Send> = {}): Send {
  return { key: 'k', channel: 'oncall', status, attempts: 1, ...changes };
}

function transition(changes: Partial<Transition> = {}): Transition {
  return { name: 'firing', atMs: AT_MS, notification: notification(), sends: [send('sent')], ...changes };
}

function state(changes: Partial<AlertState> = {}): AlertState {
  return {
    kind: 'alert',
    rule: 'errors-by-service',
    group: '["shop",null]',
    version: 'v',
    state: 'firing',
    episodeMs: AT_MS,
    firstEndMs: AT_MS,
    lastFiringMs: AT_MS,
    decidedMs: AT_MS,
    writtenMs: AT_MS,
    epoch: 1,
    transitions: [transition()],
    ...changes,
  };
}

test.each([
  [transition({ sends: [send('sent')] }), 'firing: oncall was told'],
  [transition({ sends: [send('sent', { attempts: 4 })] }), 'firing: oncall was told (4 tries)'],
  [transition({ sends: [send('pending', { attempts: 0 })] }), 'firing: oncall waits (0 tries)'],
  [transition({ sends: [send('pending', { reason: 'answered 503' })] }), 'firing: oncall waits (1 try, answered 503)'],
  [transition({ sends: [send('refused', { reason: 'answered 404' })] }), 'firing: oncall refused it (1 try, answered 404)'],
  [transition({ sends: [send('given-up', { attempts: 99, reason: 'no answer' })] }), 'firing: oncall was given up (99 tries, no answer)'],
  [transition({ sends: [send('sent'), send('refused', { channel: 'chat' })] }), 'firing: oncall was told; chat refused it (1 try)'],
  [transition({ silencedBy: 's-1', sends: [] }), 'firing: nobody is told, by silence s-1'],
  [transition({ sends: [] }), 'firing: nobody is told, since there is no notifier'],
])('what became of a notification: %#', (each, words) => expect(toldWords(each)).toBe(words));

test('what waits from before is shown behind the latest', () => {
  const waiting = transition({ sends: [send('pending', { reason: 'answered 500' })] });
  const over = state({
    state: 'ok',
    transitions: [waiting, transition({ name: 'resolved', notification: notification({ status: 'resolved' }) })],
  });
  expect(untold(over)).toHaveLength(1);
  expect(alertLines(over, AT_MS + 3_600_000)).toEqual([
    'ok  errors-by-service  service=shop, region=(none)',
    '  shop answers with errors: count 153 > 100 in 1 min; last since 2026-01-01T00:00:00.000Z (1 h)',
    '  resolved: oncall was told',
    '  firing, told before it: oncall waits (1 try, answered 500)',
  ]);
});

test('what fires comes first, the worst of it before the others, and of one severity the newest', () => {
  const of = (rule: string, changes: Partial<AlertState>, severity: 'info' | 'critical') =>
    state({ rule, ...changes, transitions: [transition({ notification: notification({ severity }) })] });
  const states = [
    of('over', { state: 'ok' }, 'critical'),
    of('mild', {}, 'info'),
    of('old', {}, 'critical'),
    of('new', { episodeMs: AT_MS + 1 }, 'critical'),
  ];
  expect(inOrder(states).map(({ rule }) => rule)).toEqual(['new', 'old', 'mild', 'over']);
});

test('nothing that an event holds reaches the terminal as a control', () => {
  const evil = '\u001b[2J\u202e\nFIRING critical  not-a-rule';
  const shown = state({ transitions: [transition({ notification: notification({ summary: evil, group: { service: evil } }) })] });
  for (const line of [...alertLines(shown, AT_MS), ...alertPage(shown, AT_MS)]) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test.each([
  [-5, '0 s'],
  [59_999, '59 s'],
  [240_000, '4 min'],
  [7_200_000, '2 h'],
  [200_000_000, '2 d'],
])('%i ms are %s', (ms, words) => expect(span(ms)).toBe(words));
