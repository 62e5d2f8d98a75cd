import { backoffMs } from '../recover/backoff.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import type { StoreKeeper } from './options.ts';

/** Positions are kept this often at most, while they move. */
const INTERVAL_MS = 1000;
/**
 * A lane at rest is kept again this often: a late write of the partition's owner before may have come behind its last one, and whoever waits for the
 * position that was reached would wait for ever.
 */
const AT_REST_MS = 60_000;
const KEEP_MS = 10_000;

/** Lets a position be stored only when all that must be durable before it is. What it must be is the keeper's business. */
export class StoreGate {
  readonly #context: LoopContext;
  readonly #keeper: StoreKeeper;
  readonly #kept = new WeakMap<LaneState, { readonly upTo: number; readonly atMs: number }>();
  #keeping = false;
  #failures = 0;
  #notBeforeMs = 0;

  constructor(context: LoopContext, keeper: StoreKeeper) {
    this.#context = context;
    this.#keeper = keeper;
  }

  /** How far the lane may be stored. */
  limit(lane: LaneState): number {
    return this.#kept.get(lane)?.upTo ?? lane.startedAt;
  }

  /** Whether nothing that these lanes reached is left to be kept. */
  isKept(lanes: readonly LaneState[]): boolean {
    return lanes.every((lane) => (lane.reached ?? -1) <= this.limit(lane));
  }

  /** Keeps what is due. That of a lane which is given back is due as soon as nothing of it is in flight. */
  turn(nowMs: number): void {
    if (this.#keeping) return;
    const lanes = [...this.#context.lanes.values()];
    const isLeaving = (lane: LaneState): boolean => lane.phase.kind === 'draining' && lane.inFlight.size === 0 && !this.isKept([lane]);
    if (nowMs < this.#notBeforeMs && (this.#failures > 0 || !lanes.some(isLeaving))) return;
    const due = lanes.filter((lane) => this.#isDue(lane, nowMs));
    if (due.length > 0) this.#keep(due, nowMs);
  }

  #isDue(lane: LaneState, nowMs: number): boolean {
    if (!this.isKept([lane])) return true;
    const kept = this.#kept.get(lane);
    return kept !== undefined && lane.reached !== undefined && nowMs - kept.atMs >= AT_REST_MS;
  }

  #keep(lanes: readonly LaneState[], nowMs: number): void {
    const { clock, observe, options } = this.#context;
    const reached = lanes.flatMap((lane) => (lane.reached === undefined ? [] : [{ lane, upTo: lane.reached }]));
    this.#keeping = true;
    this.#notBeforeMs = nowMs + INTERVAL_MS;
    const positions = reached.map(({ lane, upTo }) => ({ ...lane.tp, nextToRead: upTo }));
    // An async wrapper, so that a keeper that throws at once is tried again like any other.
    void (async () => this.#keeper.keep(positions, KEEP_MS))().then(
      () =>
        this.#context.enter(() => {
          this.#keeping = false;
          this.#failures = 0;
          for (const { lane, upTo } of reached) this.#kept.set(lane, { upTo, atMs: nowMs });
          observe({ kind: 'positions', outcome: 'written', count: positions.length, cause: undefined });
        }),
      (cause: unknown) =>
        this.#context.enter(() => {
          this.#keeping = false;
          this.#failures += 1;
          this.#notBeforeMs = clock.nowMs() + backoffMs(options.backoff, this.#failures - 1);
          observe({ kind: 'positions', outcome: 'not-written', count: positions.length, cause });
        }),
    );
  }
}
