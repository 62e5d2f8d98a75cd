import type { Clock } from '@tailrace/kafka-kit';

/** Does something again and again, by the clock and not behind its end: what takes long must not thin out what is watched by it. */
export class Rounds {
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  /** `round` must not reject, and ends soon after its signal aborts. */
  constructor(clock: Clock, everyMs: number, round: (signal: AbortSignal) => Promise<void>) {
    this.#running = this.#run(clock, everyMs, round);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(clock: Clock, everyMs: number, round: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const begunMs = clock.nowMs();
      await round(signal);
      await clock.sleep(Math.max(0, everyMs - (clock.nowMs() - begunMs)), signal);
    }
  }
}
