import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';

/** What a lane must ask of others before it can go on: asked beside the loop, one thing at a time a lane, answered inside a turn of it. */
export class LookUps {
  readonly #context: LoopContext;
  /** True while a rebalance event waits for its answer: an assign or unassign now would be taken for that answer. */
  readonly #unanswered: () => boolean;
  readonly #running = new WeakSet<LaneState>();
  readonly #deferred: (() => void)[] = [];

  constructor(context: LoopContext, unanswered: () => boolean) {
    this.#context = context;
    this.#unanswered = unanswered;
  }

  /** Gives the answers that had to wait. */
  turn(): void {
    if (!this.#unanswered()) for (const answer of this.#deferred.splice(0)) answer();
  }

  runsFor(lane: LaneState): boolean {
    return this.#running.has(lane);
  }

  /** `ask` changes nothing; what it resolves with may. Its failure is an outage of the lane, which asks again. */
  run(lane: LaneState, ask: () => Promise<() => void>): void {
    this.#running.add(lane);
    void ask().then(
      (answer) => this.#context.enter(() => this.#answer(lane, answer)),
      (cause: unknown) =>
        this.#context.enter(() => {
          this.#running.delete(lane);
          if (this.#context.owns(lane)) this.#context.outage(lane, 'open', cause);
        }),
    );
  }

  #answer(lane: LaneState, answer: () => void): void {
    const wanted = this.#context.owns(lane) && lane.phase.kind !== 'draining';
    if (wanted && this.#unanswered()) {
      this.#deferred.push(() => this.#answer(lane, answer));
      return;
    }
    // First: the answer may begin another one.
    this.#running.delete(lane);
    if (wanted) answer();
  }
}
