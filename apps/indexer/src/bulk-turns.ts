import { Turns } from '@tailrace/kafka-kit';
import { unlessGivenUp } from './unless-given-up.ts';

/**
 * Lets so many bulks be built and sent at a time, over all partitions. Two for each of twelve partitions were more than a small
 * OpenSearch takes: it refused them with 429, and they were built and sent again.
 */
export class BulkTurns {
  readonly #turns: Turns;

  constructor(atOnce: number) {
    this.#turns = new Turns(atOnce);
  }

  /** Waits for a turn; returns what ends it. @throws NoAnswer when the partition is given up before. */
  async take(signal: AbortSignal): Promise<() => void> {
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const begun = new Promise<void>((resolve) => {
      void this.#turns.run(() => {
        resolve();
        return ended;
      });
    });
    try {
      await unlessGivenUp(signal, begun);
    } catch (givenUp) {
      // It keeps its place in the queue, and gives it back as soon as it comes.
      end();
      throw givenUp;
    }
    return end;
  }
}
