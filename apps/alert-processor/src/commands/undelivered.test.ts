import { expect, test } from 'vitest';
import { AT_MS, notification } from '../notify/testing/notifications.ts';
import { alertState, sendTo, transitionOf } from '../testing/alert-states.ts';
import { channelLines, FINDING_MS, undeliveredOf } from './undelivered.ts';

const WHY = 'it is at 10.0.0.1, a private address: set allow_private to true where that is meant';

test('what a channel was not told is one line of it, with its reason once, however many alerts there are', () => {
  const states = Array.from({ length: 19 }, (_, n) =>
    alertState({
      group: `["service-${n}",null]`,
      transitions: ['firing', 'resolved'].map((name) =>
        transitionOf({
          name,
          sends: [
            sendTo('oncall', 'sent'),
            sendTo('forgot-private', 'given-up', { attempts: 20, lastAttemptMs: AT_MS + n * 1000, reason: WHY }),
          ],
        }),
      ),
    }),
  );
  expect(channelLines(states, AT_MS + 60_000)).toEqual([
    `forgot-private: 38 given up in the last day, the last at 2026-01-01T00:00:18.000Z, because: ${WHY}`,
  ]);
});

test('what waits is told with how long, and the reason is that of the latest try', () => {
  const earlier = notification({ status: 'firing' });
  const state = alertState({
    transitions: [
      transitionOf({ notification: earlier, sends: [sendTo('bad', 'pending', { lastAttemptMs: AT_MS + 9000, reason: 'answered 500' })] }),
      transitionOf({ name: 'again-1', atMs: AT_MS + 5000, sends: [sendTo('bad', 'pending', { attempts: 0 })] }),
      transitionOf({ name: 'resolved', sends: [sendTo('bad', 'refused', { lastAttemptMs: AT_MS + 1000, reason: 'answered 404' })] }),
    ],
  });
  expect(channelLines([state], AT_MS + 60_000)).toEqual([
    'bad: 2 wait, the oldest since 2026-01-01T00:00:00.000Z; 1 refused in the last day, the last at 2026-01-01T00:00:01.000Z, because: answered 500',
  ]);
  expect(undeliveredOf(state, AT_MS + 60_000)).toEqual({ waiting: 2, failed: 1, unlisted: 0 });
});

test('what was refused or given up is a finding for a day; what waits is one for as long as it waits', () => {
  const state = alertState({
    givenUp: 7,
    transitions: [
      transitionOf({ sends: [sendTo('gone', 'given-up', { lastAttemptMs: AT_MS }), sendTo('no', 'refused'), sendTo('slow', 'pending')] }),
    ],
  });
  expect(undeliveredOf(state, AT_MS + FINDING_MS)).toEqual({ waiting: 1, failed: 9, unlisted: 7 });
  expect(undeliveredOf(state, AT_MS + FINDING_MS + 1)).toEqual({ waiting: 1, failed: 0, unlisted: 0 });
  expect(channelLines([state], AT_MS + FINDING_MS + 1)).toEqual(['slow: 1 waits, the oldest since 2026-01-01T00:00:00.000Z']);
});

test('nothing that a receiver answers reaches the terminal as a control', () => {
  const state = alertState({ transitions: [transitionOf({ sends: [sendTo('bad', 'refused', { reason: '\u001b[2J' })] })] });
  expect(channelLines([state], AT_MS).join()).toContain('because: \\u{1b}[2J');
});
