import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, DEFAULT_BACKOFF } from '@tailrace/kafka-kit';
import type { Service } from '@tailrace/service';

/**
 * Tries until it works: a service that starts while a server is away waits for it, and says so in its readiness and its log. `what`
 * names the server. Rejects on a stop, and on a fault that no waiting mends.
 */
export async function untilReached<T>(
  { log, health, signal }: Pick<Service, 'log' | 'health' | 'signal'>,
  what: string,
  attempt: () => Promise<T>,
  isFinal: (fault: unknown) => boolean = () => false,
): Promise<T> {
  let missing = `${what} was not reached yet.`;
  health.set(what, () => ({ state: 'not-ready', sentence: missing }));
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      const reached = await attempt();
      health.set(what, () => ({ state: 'ok', sentence: `${what} was reached.` }));
      return reached;
    } catch (fault) {
      if (signal.aborted || isFinal(fault)) throw fault;
      const why = fault instanceof Error ? fault.message : String(fault);
      missing = `${what} was not reached yet: ${why}`;
      log.warn({ tries }, `${what} can not be reached yet: ${why}`);
    }
    await sleep(backoffMs(DEFAULT_BACKOFF, tries), undefined, { signal });
  }
}
