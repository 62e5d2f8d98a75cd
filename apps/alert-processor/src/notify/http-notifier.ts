import type { Clock } from '@tailrace/kafka-kit';
import type { Lookup } from './address-guard.ts';
import { sendOverHttp } from './http-post.ts';
import type { Notification } from './notification.ts';
import type { Notifier, SendOutcome } from './notifier.ts';

/** What one kind of receiver wants to be posted. */
export interface HttpMessage {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpOptions {
  readonly url: URL;
  readonly allowPrivate: boolean;
  /** The system's, but in tests. */
  readonly lookup?: Lookup;
}

/** A channel that takes one post a notification. */
export class HttpNotifier implements Notifier {
  readonly name: string;
  readonly #options: HttpOptions;
  readonly #clock: Clock;
  readonly #message: (notification: Notification, nowMs: number) => HttpMessage;

  /** `message` may not throw, and gives the same body for the same notification. */
  constructor(name: string, options: HttpOptions, clock: Clock, message: (notification: Notification, nowMs: number) => HttpMessage) {
    this.name = name;
    this.#options = options;
    this.#clock = clock;
    this.#message = message;
  }

  send(notification: Notification, signal: AbortSignal): Promise<SendOutcome> {
    return sendOverHttp({ ...this.#options, ...this.#message(notification, this.#clock.nowMs()), signal }, () => this.#clock.nowMs());
  }

  async close(): Promise<void> {}
}
