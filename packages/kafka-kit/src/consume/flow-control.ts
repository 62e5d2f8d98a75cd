import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { HOLD_BEFORE_PAUSE_MS } from './options.ts';

/** A lane that holds so much more than an equal share of the memory is paused alone, while memory is scarce. */
const HOG_SHARES = 1.5;
/** Below this part of an equal share a lane may read whenever there is room at all. */
const THIN_SHARES = 0.5;

/**
 * Pauses and resumes lanes by the bytes they hold (I4). Memory is one for all lanes, so a lane whose sink is slow is kept from
 * taking all of it: the others would stand still for as long as it does.
 */
export class FlowControl {
  readonly #context: LoopContext;
  readonly #hogs = new WeakSet<LaneState>();
  #holdingSinceMs: number | undefined;
  #paused = false;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  /** Whether records take as much memory as they may. */
  get full(): boolean {
    return this.#context.totals.usedBytes >= this.#context.options.buffer.pauseAtBytes;
  }

  /** Says whether to poll now. Over the bound it first only stops polling, since a pause drops the client's prefetch. */
  balance(nowMs: number): boolean {
    this.#decide(nowMs);
    const pause: LaneState[] = [];
    const resume: LaneState[] = [];
    for (const lane of this.#context.lanes.values()) {
      if (lane.phase.kind === 'opening' || lane.phase.kind === 'draining') continue;
      const wanted = lane.phase.kind !== 'running' || lane.outage !== undefined || this.#holdsTooMuch(lane);
      if (wanted !== lane.paused) (wanted ? pause : resume).push(lane);
      lane.paused = wanted;
    }
    if (pause.length > 0) this.#context.broker.pause(pause);
    if (resume.length > 0) this.#context.broker.resume(resume);
    return this.#paused || this.#holdingSinceMs === undefined;
  }

  #decide(nowMs: number): void {
    const { usedBytes } = this.#context.totals;
    const { pauseAtBytes, resumeAtBytes } = this.#context.options.buffer;
    if (usedBytes < (this.#paused ? resumeAtBytes : pauseAtBytes)) {
      this.#holdingSinceMs = undefined;
      this.#paused = false;
    } else if (!this.#paused) {
      this.#holdingSinceMs ??= nowMs;
      this.#paused = nowMs - this.#holdingSinceMs >= HOLD_BEFORE_PAUSE_MS;
    }
  }

  #holdsTooMuch(lane: LaneState): boolean {
    const { lanes, options, totals } = this.#context;
    const share = options.buffer.pauseAtBytes / lanes.size;
    const scarce = totals.usedBytes >= options.buffer.resumeAtBytes;
    if (scarce && lane.bufferedBytes >= share * HOG_SHARES) this.#hogs.add(lane);
    else if (lane.bufferedBytes < share * THIN_SHARES) this.#hogs.delete(lane);
    return this.#hogs.has(lane) || (this.#paused && (this.full || lane.bufferedBytes >= share * THIN_SHARES));
  }
}
