import type { Notification } from './notification.ts';

/** What a try came to. `retry`: a fault of the moment. `refused`: the receiver will never take this one. */
export type SendOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs?: number }
  | { readonly kind: 'refused'; readonly reason: string };

/** One channel to people or to a system that pages them. `send` never rejects and ends soon after `signal` aborts. */
export interface Notifier {
  readonly name: string;
  /** How long a try may take, where the receivers of this kind are slower than others. */
  readonly tryMs?: number;
  send(notification: Notification, signal: AbortSignal): Promise<SendOutcome>;
  close(): Promise<void>;
}
