import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs, DEFAULT_BACKOFF } from './backoff.ts';

/** What the waiting tells: a log, and a readiness check by name. */
export interface WaitingRoom {
  readonly log: { warn(fields: object, sentence: string): void };
  readonly health: { set(name: string, check: () => { readonly state: 'ok' | 'not-ready'; readonly sentence: string }): void };
  /** Aborted when the process is to stop. */
  readonly signal: AbortSignal;
}

/** A server by the name of its readiness check and by where it is. */
export interface WaitedFor {
  readonly name: string;
  readonly at: string;
}

/** As a person reads it. */
export function placed({ name, at }: WaitedFor): string {
  return `${name} at ${at}`;
}

/**
 * Tries until it works: a service that starts while a server is away waits for it, and says so in its readiness and its log. Once it was
 * reached the check says when, since it does not look again. Rejects on a stop, and on a fault that no waiting mends.
 */
export async function untilReached<T>(
  { log, health, signal }: WaitingRoom,
  server: WaitedFor,
  attempt: () => Promise<T>,
  isFinal: (fault: unknown) => boolean = () => false,
  backoff: Backoff = DEFAULT_BACKOFF,
): Promise<T> {
  const { name } = server;
  const what = placed(server);
  let missing = `${what} was not reached yet.`;
  health.set(name, () => ({ state: 'not-ready', sentence: missing }));
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    try {
      const reached = await attempt();
      const reachedMs = performance.now();
      health.set(name, () => ({ state: 'ok', sentence: `${what} was reached at the start, ${secondsSince(reachedMs)} s ago.` }));
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

function secondsSince(thenMs: number): number {
  return Math.floor((performance.now() - thenMs) / 1000);
}
