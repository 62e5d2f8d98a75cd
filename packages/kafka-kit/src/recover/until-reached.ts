import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs, DEFAULT_BACKOFF } from './backoff.ts';

/** What the waiting tells: a log, and a readiness check by name. */
export interface WaitingRoom {
  readonly log: { warn(fields: object, sentence: string): void };
  readonly health: { set(name: string, check: () => { readonly state: 'ok' | 'not-ready'; readonly sentence: string }): void };
  /** Aborted when the process is to stop. */
  readonly signal: AbortSignal;
}

/**
 * Tries until it works: a service that starts while a server is away waits for it, and says so in its readiness and its log. `what`
 * names the server. Rejects on a stop, and on a fault that no waiting mends.
 */
export async function untilReached<T>(
  { log, health, signal }: WaitingRoom,
  what: string,
  attempt: () => Promise<T>,
  isFinal: (fault: unknown) => boolean = () => false,
  backoff: Backoff = DEFAULT_BACKOFF,
): Promise<T> {
  let missing = `${what} was not reached yet.`;
  health.set(what, () => ({ state: 'not-ready', sentence: missing }));
  for (let tries = 0; ; tries += 1) {
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
    await sleep(backoffMs(backoff, tries), undefined, { signal });
  }
}
