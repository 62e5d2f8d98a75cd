import type { Logger } from '../logs/logger.ts';

/** The part that `stop()` leaves undone: parts that did not end in their time, and parts whose end failed. */
export interface StopReport {
  readonly hung: readonly string[];
  readonly failed: readonly string[];
}

/** Thrown to whoever wants to start a part after a stop was asked for. */
export class StopRequested extends Error {
  override readonly name = 'StopRequested';

  constructor(part: string) {
    super(`${part} is not started: the process is stopping`);
  }
}

interface Part {
  readonly name: string;
  close(limitMs: number): Promise<void>;
}

/** The share of the whole time that is kept for each part that is still to be stopped, so that one that hangs does not take it all. */
const RESERVED_SHARE = 0.1;

/**
 * Holds the running parts of a process: they start one after another and stop in reverse, each in a bounded time. When one
 * can not start, whoever started it calls `stop`, which rolls back exactly what stands.
 */
export class Supervisor {
  readonly #log: Logger;
  readonly #running: Part[] = [];
  readonly #stopping = new AbortController();
  #opening: { readonly name: string; readonly settled: Promise<unknown> } | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Aborted when a stop was asked for: a part that waits for a server while it starts gives up. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** The name of the part that is being started, for the readiness check. */
  get opening(): string | undefined {
    return this.#opening?.name;
  }

  /**
   * Opens a part and keeps its way back. `close` gets the milliseconds that it may take.
   * @throws StopRequested when a stop was asked for, and whatever `open` throws.
   */
  async start<T>(
    name: string,
    open: (signal: AbortSignal) => T | Promise<T>,
    close: (part: T, limitMs: number) => void | Promise<void>,
  ): Promise<T> {
    if (this.signal.aborted) throw new StopRequested(name);
    const begunMs = performance.now();
    const opened = (async () => {
      const part = await open(this.signal);
      // Kept in the same turn in which it opened: a stop that waits for this promise finds the part in the list.
      this.#running.push({ name, close: async (limitMs) => close(part, limitMs) });
      return part;
    })();
    this.#opening = { name, settled: opened.catch(() => undefined) }; // Its failure goes to the caller of `start`.
    try {
      const part = await opened;
      this.#log.debug({ part: name, tookMs: Math.round(performance.now() - begunMs) }, `${name} started`);
      return part;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Stops all parts in reverse order. Returns by `timeoutMs` with the truth about each; never throws. */
  async stop(timeoutMs: number): Promise<StopReport> {
    const endsAtMs = performance.now() + timeoutMs;
    const report = { hung: [] as string[], failed: [] as string[] };
    const reservedMs = timeoutMs * RESERVED_SHARE;
    this.#stopping.abort();
    const opening = this.#opening;
    if (opening !== undefined) {
      const limitMs = endsAtMs - performance.now() - reservedMs * this.#running.length;
      if (!(await settlesWithin(opening.settled, limitMs))) report.hung.push(opening.name);
    }
    for (let part = this.#running.pop(); part !== undefined; part = this.#running.pop()) {
      await this.#stopPart(part, endsAtMs - performance.now() - reservedMs * this.#running.length, report);
    }
    return report;
  }

  async #stopPart({ name, close }: Part, limitMs: number, report: { hung: string[]; failed: string[] }): Promise<void> {
    const begunMs = performance.now();
    const closed = close(Math.max(0, Math.floor(limitMs))).catch((fault: unknown) => {
      report.failed.push(name);
      this.#log.error({ part: name, err: fault }, `${name} did not stop cleanly`);
    });
    const tookMs = () => Math.round(performance.now() - begunMs);
    if (await settlesWithin(closed, limitMs)) {
      this.#log.debug({ part: name, tookMs: tookMs() }, `${name} stopped`);
    } else {
      report.hung.push(name);
      this.#log.error({ part: name, tookMs: tookMs() }, `${name} hangs: it did not stop in its time and is left behind`);
    }
  }
}

/** Whether a promise that never rejects settles in time. */
async function settlesWithin(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, limitMs));
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
