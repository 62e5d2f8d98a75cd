import { createHmac } from 'node:crypto';
import type { Clock } from '@tailrace/kafka-kit';
import type { Lookup } from './address-guard.ts';
import { sendOverHttp } from './http-post.ts';
import type { Notification } from './notification.ts';
import type { Notifier, SendOutcome } from './notifier.ts';
import { webhookBody } from './webhook-body.ts';

export interface WebhookOptions {
  readonly url: URL;
  /** Signs each post; absent: posts are not signed. */
  readonly secret?: string;
  readonly allowPrivate: boolean;
  readonly lookup?: Lookup;
}

/** Posts the whole notification as JSON. The body of a notification is the same bytes at every try; the signature is of the try. */
export class Webhook implements Notifier {
  readonly name: string;
  readonly #options: WebhookOptions;
  readonly #clock: Clock;

  constructor(name: string, options: WebhookOptions, clock: Clock) {
    this.name = name;
    this.#options = options;
    this.#clock = clock;
  }

  send(notification: Notification, signal: AbortSignal): Promise<SendOutcome> {
    const { secret, ...post } = this.#options;
    const body = webhookBody(notification);
    const timestamp = String(Math.floor(this.#clock.nowMs() / 1000));
    const signed = secret === undefined ? {} : { 'x-tailrace-signature': `sha256=${signatureOf(secret, timestamp, body)}` };
    const headers = { 'idempotency-key': notification.key, 'x-tailrace-timestamp': timestamp, ...signed };
    return sendOverHttp({ ...post, body, headers, signal }, () => this.#clock.nowMs());
  }

  async close(): Promise<void> {}
}

/** HMAC-SHA256 in hex over `<timestamp>.<body>`: with the time in it, a post that somebody recorded can not be used again later. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}
