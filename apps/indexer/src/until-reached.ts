import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs, DEFAULT_BACKOFF } from '@tailrace/kafka-kit';
import type { Check, Logger } from '@tailrace/service';

export interface Attempts {
  /** What is tried, as it stands in a sentence: "OpenSearch", "Kafka". */
  readonly what: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Whether a fault is for good. Everything else is an outage, and is tried again for as long as it takes. */
  readonly isFinal?: (fault: unknown) => boolean;
  readonly setHealth: (check: () => Check) => void;
}

/** Tries until it works: a service that starts while a server is away waits for it, and says so. Rejects on a stop and on a final fault. */
export async function untilReached<T>(attempts: Attempts, attempt: () => Promise<T>): Promise<T> {
  const { what, log, signal, isFinal, setHealth } = attempts;
  setHealth(() => ({ state: 'not-ready', sentence: `${what} was not reached yet.` }));
  for (let tries = 0; ; tries++) {
    signal.throwIfAborted();
    try {
      const reached = await attempt();
      setHealth(() => ({ state: 'ok', sentence: `${what} was reached.` }));
      return reached;
    } catch (fault) {
      if (signal.aborted || isFinal?.(fault) === true) throw fault;
      const why = fault instanceof Error ? fault.message : String(fault);
      setHealth(() => ({ state: 'not-ready', sentence: `${what} was not reached yet: ${why}` }));
      log.warn({ tries }, `${what} can not be reached yet: ${why}`);
      await sleep(backoffMs(DEFAULT_BACKOFF, tries), undefined, { signal });
    }
  }
}
