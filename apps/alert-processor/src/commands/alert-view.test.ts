import { expect, test } from 'vitest';
import type { AlertState } from '../decide/alert-state.ts';
import { AT_MS, notification } from '../notify/testing/notifications.ts';
import { sendTo, alertState as state, transitionOf as transition } from '../testing/alert-states.ts';
import { alertJson, alertLines, alertPage, inOrder, span, toldWords } from './alert-view.ts';

const send = (status: Parameters<typeof sendTo>[1], changes: Parameters<typeof sendTo>[2] = {}) => sendTo('oncall', status, changes);

test.each([
  [transition({ sends: [send('sent')] }), 'firing: oncall was told'],
  [transition({ sends: [send('sent', { attempts: 4 })] }), 'firing: oncall was told (at least 4 tries)'],
  [transition({ sends: [send('pending', { attempts: 0 })] }), 'firing: oncall waits for its first try'],
  [transition({ sends: [send('pending', { reason: 'answered 503' })] }), 'firing: oncall waits (at least 1 try, answered 503)'],
  [transition({ sends: [send('refused', { reason: 'answered 404' })] }), 'firing: oncall refused it (answered 404)'],
  [
    transition({ sends: [send('given-up', { attempts: 99, reason: 'no answer' })] }),
    'firing: oncall was given up (at least 99 tries, no answer)',
  ],
  [transition({ sends: [send('sent'), sendTo('chat', 'refused')] }), 'firing: oncall was told; chat refused it'],
  [transition({ silencedBy: 's-1', sends: [] }), 'firing: nobody is told, by silence s-1'],
  [transition({ sends: [] }), 'firing: nobody is told, since there is no notifier'],
])('what became of a notification: %#', (each, words) => expect(toldWords(each, { transitions: [each] }, true)).toBe(words));

test('what waits behind an earlier one says so, and not that it was never tried', () => {
  const firing = transition({ sends: [send('pending', { attempts: 4 })] });
  const resolved = notification({ status: 'resolved' });
  const over = transition({ name: 'resolved', notification: resolved, sends: [send('pending', { attempts: 0 }), sendTo('chat', 'sent')] });
  const all = { transitions: [firing, over] };
  expect(toldWords(over, all, true)).toBe('resolved: oncall waits behind an earlier one; chat was told');
  expect(toldWords(firing, all, true)).toBe('firing: oncall waits (at least 4 tries)');
});

test('what waits from before is shown behind the latest, what was refused then is not, and why is said elsewhere', () => {
  const waiting = transition({
    sends: [send('pending', { reason: 'answered 500' }), sendTo('chat', 'refused', { reason: 'answered 404' })],
  });
  const over = state({
    state: 'ok',
    transitions: [waiting, transition({ name: 'resolved', notification: notification({ status: 'resolved' }) })],
  });
  expect(alertLines(over, AT_MS + 3_600_000)).toEqual([
    'ok  errors-by-service  service=shop, region=(none)',
    '  shop answers with errors: count 153 > 100 in 1 min; last since 2026-01-01T00:00:00.000Z (1 h), in the window from 2025-12-31T23:59:00.000Z',
    '  resolved: oncall was told',
    '  before it, firing: oncall waits (at least 1 try)',
  ]);
  expect(alertPage(over, AT_MS).join('\n')).toContain(
    'firing: oncall waits (at least 1 try, answered 500); chat refused it (answered 404)',
  );
});

test('since when it fires is not where its window began, where the decision is known', () => {
  expect(alertPage(state(), AT_MS + 240_000)).toContain(
    'Since: 2026-01-01T00:00:00.000Z (4 min), in the window from 2025-12-31T23:59:00.000Z',
  );
  expect(alertJson(state(), AT_MS)).toMatchObject({ since: '2025-12-31T23:59:00.000Z', first_decided: '2026-01-01T00:00:00.000Z' });
  const forgotten = state({ transitions: [transition({ name: 'resolved', notification: notification({ status: 'resolved' }) })] });
  expect(alertPage(forgotten, AT_MS)).toContain('Since: the window from 2025-12-31T23:59:00.000Z (1 min)');
  expect(alertJson(forgotten, AT_MS)).toMatchObject({ first_decided: null });
});

test('the evidence says of when it is: what is measured meanwhile is not kept', () => {
  expect(alertPage(state(), AT_MS).join('\n')).toContain(
    'Evidence, as of 2026-01-01T00:00:00.000Z: count 153 > 100 in 1 min, over 153 events',
  );
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
