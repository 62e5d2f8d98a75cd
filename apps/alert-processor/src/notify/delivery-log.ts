import type { Logger } from '@tailrace/service';
import type { DeliveryReport } from './deliveries.ts';

/**
 * Says what somebody was not told, and when a channel goes wrong and is well again: once each, since a receiver that is away for an hour would fill the log
 * with its tries.
 */
export function loggedReport(log: Pick<Logger, 'info' | 'warn' | 'error'>, next: DeliveryReport): DeliveryReport {
  const failing = new Set<string>();
  return (delivery, outcome, attempts) => {
    const { channel, notification } = delivery;
    const { key, summary } = notification;
    if (outcome.kind === 'retry') {
      if (!failing.has(channel)) log.warn({ channel, key }, `${channel} could not be told, and is tried again: ${outcome.reason}`);
      failing.add(channel);
    } else if (outcome.kind === 'sent') {
      if (failing.delete(channel)) log.info({ channel, key }, `${channel} is told again.`);
    } else {
      const what = outcome.kind === 'refused' ? 'refused it' : 'was given up';
      log.error(
        { channel, key, attempts },
        `${channel} was not told of "${summary}": ${what} after ${attempts} ${attempts === 1 ? 'try' : 'tries'} (${outcome.reason})`,
      );
    }
    next(delivery, outcome, attempts);
  };
}
