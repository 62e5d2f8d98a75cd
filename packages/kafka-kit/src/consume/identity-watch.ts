import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { IDENTITY_CHECK_MS, LOOKUP_TIMEOUT_MS } from './options.ts';

/** Errors of the broker may come many times a second; topic ids are compared at most this often. */
const MIN_INTERVAL_MS = 1000;

/**
 * Compares the ids of the topics that are read with those that their lanes were opened with, every 10 s and after every broker error.
 * Of a topic of which nothing is owned it looks whether it is there: else a member without a partition could not say why.
 */
export class IdentityWatch {
  readonly #context: LoopContext;
  readonly #suspect: (lane: LaneState) => void;
  readonly #asking = new Set<string>();
  #lastMs: number;
  #dueMs: number;

  constructor(context: LoopContext, suspect: (lane: LaneState) => void) {
    this.#context = context;
    this.#suspect = suspect;
    this.#lastMs = context.clock.nowMs();
    this.#dueMs = this.#lastMs + IDENTITY_CHECK_MS;
  }

  turn(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    this.#lastMs = nowMs;
    this.#dueMs = nowMs + IDENTITY_CHECK_MS;
    for (const topic of this.#context.options.topics) this.#compare(topic);
  }

  hurry(nowMs: number): void {
    this.#dueMs = Math.min(this.#dueMs, Math.max(nowMs, this.#lastMs + MIN_INTERVAL_MS));
  }

  #compare(topic: string): void {
    const { broker, lanes, missingTopics, observe } = this.#context;
    const owned = [...lanes.values()].filter((lane) => lane.topic === topic);
    const running = owned.filter(reads);
    // What is delivered behind the begin of the look-up may be the next life's.
    const delivered = new Map(running.map((lane) => [lane, lane.expected]));
    // A cluster that does not answer would otherwise collect one more request at every turn.
    if ((running.length === 0 && owned.length > 0) || this.#asking.has(topic)) {
      // Nobody asks any more: then silence says nothing.
      if (!this.#asking.has(topic)) this.#context.silentSinceMs = undefined;
      return;
    }
    this.#asking.add(topic);
    this.#context.silentSinceMs ??= this.#context.clock.nowMs();
    void broker.incarnation(topic, LOOKUP_TIMEOUT_MS).then(
      (incarnation) =>
        this.#context.enter(() => {
          this.#asking.delete(topic);
          this.#context.topicsAnsweredMs = this.#context.clock.nowMs();
          this.#context.silentSinceMs = undefined;
          if (incarnation === undefined) missingTopics.add(topic);
          else missingTopics.delete(topic);
          for (const [lane, end] of delivered) {
            if (lane.facts?.incarnation === incarnation) lane.proves(end);
            else if (reads(lane) && this.#context.owns(lane)) this.#suspect(lane);
          }
        }),
      (cause: unknown) => {
        this.#asking.delete(topic);
        // Safe: an id that could not be asked for is asked for again at the next interval, and the broker's fault is told.
        observe({ kind: 'broker-error', cause });
      },
    );
  }
}

/** Whether it settles records of the topic, from wherever they come. */
function reads({ phase }: LaneState): boolean {
  return phase.kind === 'running' || phase.kind === 'restoring';
}
