import type { SendOutcome } from '../notify/notifier.ts';
import type { AlertState, Send, Transition } from './alert-state.ts';
import { isPending } from './episodes.ts';

/** How a try ended, for all or for now. */
export type Told = SendOutcome | { readonly kind: 'given-up'; readonly reason: string };

/** The states of one partition, and which of them are to be written. */
export class StateStore {
  readonly #states = new Map<string, Map<string, AlertState>>();
  readonly #firing = new Map<string, Map<string, AlertState>>();
  /** Incident keys of what waits to be sent. */
  readonly #byKey = new Map<string, { readonly rule: string; readonly group: string }>();
  #dirty = new Map<string, AlertState>();

  get(rule: string, group: string): AlertState | undefined {
    return this.#states.get(rule)?.get(group);
  }

  firing(rule: string): readonly AlertState[] {
    const firing = this.#firing.get(rule);
    return firing === undefined ? [] : [...firing.values()];
  }

  get firingCount(): number {
    let count = 0;
    for (const groups of this.#firing.values()) count += groups.size;
    return count;
  }

  *all(): IterableIterator<AlertState> {
    for (const groups of this.#states.values()) yield* groups.values();
  }

  /** Takes a state from the log: of each key the one with the highest epoch counts, and of one epoch the last one. */
  restore(state: AlertState): void {
    const known = this.get(state.rule, state.group);
    if (known === undefined || state.epoch >= known.epoch) this.keep(state);
  }

  write(state: AlertState): void {
    this.keep(state);
    this.#dirty.set(JSON.stringify([state.rule, state.group]), state);
  }

  /** Takes a state without writing it. */
  keep(state: AlertState): void {
    const { rule, group } = state;
    const before = this.get(rule, group);
    within(this.#states, rule).set(group, state);
    if (state.state === 'firing') within(this.#firing, rule).set(group, state);
    else this.#firing.get(rule)?.delete(group);
    if (before?.transitions === state.transitions) return;
    for (const { notification } of before?.transitions ?? []) this.#byKey.delete(notification.key);
    for (const { notification } of state.transitions) this.#byKey.set(notification.key, { rule, group });
  }

  forget({ rule, group, transitions }: AlertState): void {
    for (const { notification } of transitions) this.#byKey.delete(notification.key);
    this.#firing.get(rule)?.delete(group);
    const groups = this.#states.get(rule);
    groups?.delete(group);
    if (groups?.size === 0) this.#states.delete(rule);
  }

  /** What changed since the last call: each state once, as it is now. */
  takeChanged(): AlertState[] {
    const changed = [...this.#dirty.values()].map((state) => this.get(state.rule, state.group) ?? state);
    this.#dirty = new Map();
    return changed;
  }

  /** Notes what became of a send; undefined where it is not waited for (any more). */
  told(key: string, channel: string, outcome: Told, attempts: number, nowMs: number): AlertState | undefined {
    const at = this.#byKey.get(key);
    const state = at === undefined ? undefined : this.get(at.rule, at.group);
    if (state === undefined) return undefined;
    let found = false;
    const transitions = state.transitions.map((transition): Transition => {
      if (transition.notification.key !== key) return transition;
      const sends = transition.sends.map((send): Send => {
        if (send.channel !== channel || send.status !== 'pending') return send;
        found = true;
        return sendAfter(send, outcome, attempts, nowMs);
      });
      return { ...transition, sends };
    });
    if (!found) return undefined;
    const told = { ...state, transitions };
    this.keep(told);
    return told;
  }
}

function sendAfter(send: Send, outcome: Told, attempts: number, nowMs: number): Send {
  const tried = { key: send.key, channel: send.channel, attempts, lastAttemptMs: nowMs };
  if (outcome.kind === 'sent') return { ...tried, status: 'sent' };
  return { ...tried, status: outcome.kind === 'retry' ? 'pending' : outcome.kind, reason: outcome.reason };
}

/** What still has to be sent of a state. */
export function pendingSends(state: AlertState): readonly { readonly transition: Transition; readonly send: Send }[] {
  return state.transitions
    .filter(isPending)
    .flatMap((transition) => transition.sends.filter(({ status }) => status === 'pending').map((send) => ({ transition, send })));
}

function within<T>(outer: Map<string, Map<string, T>>, key: string): Map<string, T> {
  let inner = outer.get(key);
  if (inner === undefined) {
    inner = new Map();
    outer.set(key, inner);
  }
  return inner;
}
