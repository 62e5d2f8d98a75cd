import type { Notification } from '../notification.ts';
import type { Notifier, SendOutcome } from '../notifier.ts';

interface Held {
  readonly notification: Notification;
  readonly signal: AbortSignal;
  answer(outcome: SendOutcome): void;
}

/** A notifier whose tries wait until the test answers them. */
export class HeldNotifier implements Notifier {
  readonly name: string;
  readonly tries: Held[] = [];
  closed = false;

  constructor(name = 'oncall') {
    this.name = name;
  }

  send(notification: Notification, signal: AbortSignal): Promise<SendOutcome> {
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve({ kind: 'retry', reason: 'aborted' }), { once: true });
      this.tries.push({ notification, signal, answer: resolve });
    });
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
