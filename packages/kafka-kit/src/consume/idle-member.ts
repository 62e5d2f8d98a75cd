import type { LoopContext } from './loop-context.ts';

/**
 * A member without a partition. Whether it is still joining or spare can not be told: with KIP-848 the client gets no word as long as
 * there is no partition for it.
 */
export interface IdleMember {
  readonly sinceMs: number;
  /** When Kafka last answered a look at the group's topics, which is done every 10 s while nothing is owned; undefined before the first. */
  readonly answeredMs: number | undefined;
  /** Topics of the group that do not exist. */
  readonly missingTopics: readonly string[];
}

/** Knows since when nothing is owned. */
export class Idleness {
  readonly #context: LoopContext;
  #sinceMs: number | undefined;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  turn(nowMs: number): void {
    this.#sinceMs = this.#context.lanes.size > 0 ? undefined : (this.#sinceMs ?? nowMs);
  }

  /** Undefined while a partition is owned, and before the first turn. */
  view(): IdleMember | undefined {
    const { lanes, missingTopics, topicsAnsweredMs: answeredMs } = this.#context;
    if (this.#sinceMs === undefined || lanes.size > 0) return undefined;
    return { sinceMs: this.#sinceMs, answeredMs, missingTopics: [...missingTopics].sort() };
  }
}
