import type { Delivery, DeliveryPort } from '../notify/deliveries.ts';
import type { AlertState } from './alert-state.ts';
import { GIVEN_UP } from './episodes.ts';
import { pendingSends } from './state-store.ts';
import { incidentKey } from './subject.ts';

interface Owed {
  readonly delivery: Delivery;
  taken: boolean;
}

/** What one partition has still to tell: each is written as `pending`, and is offered until its channel takes it. */
export class OwedSends {
  readonly #port: Pick<DeliveryPort, 'deliver' | 'giveUp' | 'forget'>;
  /** In the order in which it is to be told. */
  readonly #owed = new Map<string, Owed>();
  #waiting = 0;

  constructor(port: Pick<DeliveryPort, 'deliver' | 'giveUp' | 'forget'>) {
    this.#port = port;
  }

  /** Whether anything is still to be offered. */
  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  /** Takes what a state has still to tell. Its `pending` is acknowledged. What it gave up is not tried any more. */
  add(state: AlertState): void {
    if (state.givenUp !== undefined) this.#giveUp(state);
    for (const { transition, send } of pendingSends(state)) {
      const id = sendId(send.key, send.channel);
      if (this.#owed.has(id)) continue;
      const { notification } = transition;
      this.#owed.set(id, { delivery: { notification, channel: send.channel, attempts: send.attempts }, taken: false });
      this.#waiting += 1;
    }
  }

  #giveUp(state: AlertState): void {
    const alert = incidentKey(state.rule, state.group, 0).slice(0, -1);
    const pending = new Set(pendingSends(state).map(({ send }) => sendId(send.key, send.channel)));
    for (const [id, { delivery }] of this.#owed) {
      const { key, incident } = delivery.notification;
      if (pending.has(id) || !incident.startsWith(alert)) continue;
      this.settle(key, delivery.channel);
      this.#port.giveUp(delivery, GIVEN_UP);
    }
  }

  /** Offers what was not taken yet: of one incident to one channel nothing before what comes before it. */
  offer(): void {
    if (this.#waiting === 0) return;
    const blocked = new Set<string>();
    for (const owed of this.#owed.values()) {
      if (owed.taken) continue;
      const { notification, channel } = owed.delivery;
      const line = sendId(notification.incident, channel);
      if (blocked.has(line)) continue;
      // Said before: a channel that is gone reports at once, from within.
      owed.taken = true;
      this.#waiting -= 1;
      if (this.#port.deliver(owed.delivery)) continue;
      owed.taken = false;
      this.#waiting += 1;
      blocked.add(line);
    }
  }

  has(key: string, channel: string): boolean {
    return this.#owed.has(sendId(key, channel));
  }

  /** It was told, or never will be. */
  settle(key: string, channel: string): void {
    const id = sendId(key, channel);
    if (this.#owed.get(id)?.taken === false) this.#waiting -= 1;
    this.#owed.delete(id);
  }

  /** The partition is another process's now: it tells what is still to be told. */
  forget(): void {
    this.#port.forget(new Set([...this.#owed.values()].map(({ delivery }) => delivery.notification.key)));
    this.#owed.clear();
    this.#waiting = 0;
  }
}

function sendId(key: string, channel: string): string {
  return `${key}\0${channel}`;
}
