import type { AlertState, Send, Transition } from '../decide/alert-state.ts';
import { AT_MS, notification } from '../notify/testing/notifications.ts';

/** One send, changed as a test wants. */
export function sendTo(channel: string, status: Send['status'], changes: Partial<Send> = {}): Send {
  return { key: 'k', channel, status, attempts: 1, ...changes };
}

/** A transition that everybody was told of, changed as a test wants. */
export function transitionOf(changes: Partial<Transition> = {}): Transition {
  return { name: 'firing', atMs: AT_MS, notification: notification(), sends: [sendTo('oncall', 'sent')], ...changes };
}

/** An alert that fires, changed as a test wants. */
export function alertState(changes: Partial<AlertState> = {}): AlertState {
  return {
    kind: 'alert',
    rule: 'errors-by-service',
    group: '["shop",null]',
    version: 'v',
    state: 'firing',
    episodeMs: AT_MS - 60_000,
    firstEndMs: AT_MS,
    lastFiringMs: AT_MS,
    decidedMs: AT_MS,
    writtenMs: AT_MS,
    epoch: 1,
    transitions: [transitionOf()],
    ...changes,
  };
}
