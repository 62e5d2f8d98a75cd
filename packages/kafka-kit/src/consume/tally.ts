import type { RuntimeEvent } from '../observe/runtime-events.ts';
import type { StuckLane } from './options.ts';

/** Counts, from what a runtime tells, what its report must say (I3). */
export class Tally {
  readonly #observe: (event: RuntimeEvent) => void;
  settled = 0;
  abandoned = 0;
  /** Of the drain that ended last. */
  stuck: readonly StuckLane[] = [];

  constructor(observe: (event: RuntimeEvent) => void) {
    this.#observe = observe;
  }

  see(event: RuntimeEvent): void {
    if (event.kind === 'drained' || event.kind === 'lane-reopened') this.abandoned += event.abandonedRecords;
    if (event.kind === 'drained') this.stuck = event.stuck;
    else if (event.kind === 'settled') this.settled += event.stored + event.skipped;
    else if (event.kind === 'dead-lettered') this.settled += event.records;
    else if (event.kind === 'unsendable') this.settled += 1;
    this.#observe(event);
  }
}
