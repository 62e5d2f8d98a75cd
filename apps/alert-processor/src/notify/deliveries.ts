import { type Backoff, type Clock, systemClock } from '@tailrace/kafka-kit';
import { ChannelQueue, type ChannelView } from './channel-queue.ts';
import type { Notification } from './notification.ts';
import type { Notifier, SendOutcome } from './notifier.ts';

/** One notification that must reach one channel. Its `send pending` is written and acknowledged already. */
export interface Delivery {
  readonly notification: Notification;
  readonly channel: string;
  /** Tries before this process took it over. */
  readonly attempts: number;
}

/** What a try came to. Behind `retry` another one follows by itself; every other one is the end of the delivery. */
export type DeliveryOutcome = SendOutcome | { readonly kind: 'given-up'; readonly reason: string };

/** Told after each try, with the tries so far; never from within `deliver`. Must not throw. */
export type DeliveryReport = (delivery: Delivery, outcome: DeliveryOutcome, attempts: number) => void;

/** Sends in the background, each channel for itself: a slow or dead one delays neither the others nor who hands over. */
export interface DeliveryPort {
  readonly channels: readonly string[];
  /**
   * Takes a delivery over. `false`: the channel holds all that it may, or is closed: the durable copy is the `pending` in alert-state, so its owner
   * offers it again on a later tick, and until it is taken nothing later of the same incident to that channel. What is held already may be
   * offered again: `true`, and nothing more happens. A channel that does not exist is reported as given up.
   */
  deliver(delivery: Delivery): boolean;
  /** Tries no more, and reports that it is given up. */
  giveUp(delivery: Delivery, reason: string): void;
  /** Lets go of what is not sent yet, by the notifications' keys: its partition went to another member, who sends it under the same key. */
  forget(keys: ReadonlySet<string>): void;
}

export interface DeliveryLimits {
  /** Sends at a time, per channel. */
  readonly sends: number;
  /** Deliveries that a channel holds: what bounds the memory. */
  readonly held: number;
  /** A try that has no answer by then is aborted, and made again. */
  readonly tryMs: number;
  /** Counted from when the alert was decided, so that a restart does not begin it anew. */
  readonly giveUpMs: number;
  /** The longest `Retry-After` that is kept to. */
  readonly retryAfterMs: number;
  readonly backoff: Backoff;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  sends: 4,
  held: 1000,
  tryMs: 10_000,
  giveUpMs: 24 * 3_600_000,
  retryAfterMs: 300_000,
  backoff: { firstMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.5 },
};

export interface DeliveryOptions {
  readonly clock?: Clock;
  /** Gives [0, 1). */
  readonly random?: () => number;
  readonly limits?: Partial<DeliveryLimits>;
}

export class Deliveries implements DeliveryPort {
  readonly #queues: ReadonlyMap<string, ChannelQueue>;
  readonly #notifiers: readonly Notifier[];
  readonly #report: DeliveryReport;
  readonly #clock: Clock;

  constructor(notifiers: readonly Notifier[], report: DeliveryReport, options: DeliveryOptions = {}) {
    const { clock = systemClock, random = Math.random } = options;
    const limits = { ...DELIVERY_LIMITS, ...options.limits };
    this.#queues = new Map(notifiers.map((notifier) => [notifier.name, new ChannelQueue(notifier, { report, clock, random, limits })]));
    this.#notifiers = notifiers;
    this.#report = report;
    this.#clock = clock;
  }

  get channels(): readonly string[] {
    return [...this.#queues.keys()];
  }

  deliver(delivery: Delivery): boolean {
    const queue = this.#queues.get(delivery.channel);
    if (queue !== undefined) return queue.take(delivery);
    const reason = `no notifier is called ${delivery.channel} any more`;
    queueMicrotask(() => this.#report(delivery, { kind: 'given-up', reason }, delivery.attempts));
    return true;
  }

  giveUp(delivery: Delivery, reason: string): void {
    const attempts = this.#queues.get(delivery.channel)?.drop(delivery) ?? delivery.attempts;
    queueMicrotask(() => this.#report(delivery, { kind: 'given-up', reason }, attempts));
  }

  forget(keys: ReadonlySet<string>): void {
    for (const queue of this.#queues.values()) queue.forget(keys);
  }

  /** Of each channel: what it holds, for metrics and health. */
  view(): readonly ChannelView[] {
    return [...this.#queues.values()].map((queue) => queue.view());
  }

  /**
   * Takes nothing more and begins no try. Those on their way may end within the limit, and are reported; then they are aborted. What is not sent stays
   * `pending` in alert-state, for who takes it over. Never rejects.
   */
  async close(limitMs: number): Promise<void> {
    const done = new AbortController();
    const idle = Promise.all([...this.#queues.values()].map((queue) => queue.close()));
    await Promise.race([idle, this.#clock.sleep(limitMs, done.signal)]);
    done.abort();
    for (const queue of this.#queues.values()) queue.abort();
    await Promise.all(
      this.#notifiers.map((notifier) => notifier.close().catch(() => undefined /* nothing hangs on it: the process ends */)),
    );
  }
}
