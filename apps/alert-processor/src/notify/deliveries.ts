import type { Notification } from './notification.ts';
import type { SendOutcome } from './notifier.ts';

/** One notification that must reach one channel. Its `send pending` is written and acknowledged already. */
export interface Delivery {
  readonly notification: Notification;
  readonly channel: string;
  /** Tries before this process took it over. */
  readonly attempts: number;
}

/** Told after each try; `retry` means that another one follows by itself. */
export type DeliveryReport = (
  delivery: Delivery,
  outcome: SendOutcome | { readonly kind: 'given-up'; readonly reason: string },
  attempts: number,
) => void;

/** Sends in the background, each channel for itself: a slow or dead one delays neither the others nor who hands over. */
export interface DeliveryPort {
  readonly channels: readonly string[];
  deliver(delivery: Delivery): void;
  /** Lets go of what is not sent yet: its partition went to another member, who sends it under the same key. */
  forget(keys: ReadonlySet<string>): void;
}
