import type { Clock } from '../time/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly fire: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #nowMs: number;
  /** In the order in which they fall due; of equal ones the first set comes first. */
  #timers: Timer[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        signal?.removeEventListener('abort', done);
        this.#timers = this.#timers.filter((each) => each !== timer);
        resolve();
      };
      const timer: Timer = { dueMs: this.#nowMs + Math.max(0, ms), fire: done };
      const behind = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
      this.#timers.splice(behind < 0 ? this.#timers.length : behind, 0, timer);
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  /** Moves time on, stopping at every timer on the way, so that what it wakes can set the next one in time. */
  async advance(ms: number): Promise<void> {
    const targetMs = this.#nowMs + ms;
    await settlePromises();
    for (;;) {
      const next = this.#timers[0];
      if (next === undefined || next.dueMs > targetMs) break;
      this.#nowMs = next.dueMs;
      next.fire();
      await settlePromises();
    }
    this.#nowMs = targetMs;
  }

  /** Moves time on until the condition holds. Throws when it does not within `limitMs` of this clock's time. */
  async until(condition: () => boolean, what: string, limitMs = 60_000): Promise<void> {
    const deadlineMs = this.#nowMs + limitMs;
    await settlePromises();
    while (!condition()) {
      if (this.#nowMs >= deadlineMs) throw new Error(`${what}: not so after ${limitMs} ms of manual time`);
      await this.advance(Math.min(10, deadlineMs - this.#nowMs));
    }
  }
}

/** Everything that can go on without time passing has gone on when a turn of the event loop begins anew. */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
