import type { HistoryPart, RecordHistory } from '../recover/record-history.ts';
import type { LaneState } from './lane.ts';
import type { Restore } from './lane-phase.ts';

/** What a pull came to. */
export type Pulled =
  | { readonly kind: 'part'; readonly part: HistoryPart }
  | { readonly kind: 'end' }
  | { readonly kind: 'failed'; readonly cause: unknown };

/** One reading of a history for a lane, pulled part by part, one at a time. */
export class HistoryReading {
  readonly restore: Restore;
  readonly #parts: AsyncIterator<HistoryPart>;
  readonly #abort = new AbortController();
  pulling = false;
  /** Since when it waits for the sink or for memory. */
  heldBackSinceMs: number | undefined;

  /** Begins at the lane's next expected offset. Ends by itself when the lane is given up. */
  constructor(history: RecordHistory, lane: LaneState, restore: Restore) {
    this.restore = restore;
    const of = { ...lane.tp, incarnation: lane.facts?.incarnation ?? '' };
    const signal = AbortSignal.any([this.#abort.signal, lane.abort.signal]);
    this.#parts = history.read(of, lane.expected, Number.MAX_SAFE_INTEGER, signal)[Symbol.asyncIterator]();
  }

  /** Asks for the next part. `pulled` is called once, also after a close. */
  pull(pulled: (what: Pulled) => void): void {
    this.pulling = true;
    this.heldBackSinceMs = undefined;
    const done = (what: Pulled): void => {
      this.pulling = false;
      pulled(what);
    };
    void this.#parts.next().then(
      ({ done: isOver, value }) => done(isOver === true ? { kind: 'end' } : { kind: 'part', part: value }),
      (cause: unknown) => done({ kind: 'failed', cause }),
    );
  }

  /** Aborts it, and lets its source put away what it has opened. */
  close(): void {
    this.#abort.abort();
    // Safe to swallow: nobody waits for what was given up.
    void this.#parts.return?.().catch(() => {});
  }
}
