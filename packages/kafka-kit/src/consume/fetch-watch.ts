import type { PartitionFacts } from '../broker/broker-consumer.ts';
import { type Backoff, backoffMs } from '../recover/backoff.ts';
import { gapAt } from '../recover/position.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { LOOKUP_TIMEOUT_MS } from './options.ts';

/** How often the lanes are looked at: without a request. */
const LOOK_MS = 1000;
/** A lane that got nothing for so long is held against the log's end, and once more after so long again. */
const SILENT_MS = 10_000;
const REREADS: Backoff = { firstMs: SILENT_MS, factor: 2, maxMs: 300_000, jitter: 0 };

interface Watched {
  expected: number;
  sinceMs: number;
  askedMs: number;
  /** The last look-up found records behind the position, and so far the client had read then. */
  behind: { readonly fetched: number | undefined } | undefined;
  /** Whether it was read again since it got its last record, because the client says that nothing is there. */
  readAgain: boolean;
  /** Read twice up to here without a record: markers of transactions, or compacted away. */
  voidUpTo: number;
}

/**
 * Sees a lane that gets nothing although the log has more, and has it read again from its position: the client was seen to fetch a
 * partition no more, and to pass over its last records, without a word. Costs one look-up at a time, and only for silent lanes.
 * What a reader may not see yet (an open transaction) lies behind the end that the look-up tells.
 */
export class FetchWatch {
  readonly #context: LoopContext;
  readonly #watched = new WeakMap<LaneState, Watched>();
  #asking = false;
  #dueMs = 0;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  turn(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + LOOK_MS;
    const { lanes, options, totals } = this.#context;
    // The client's queue is one for all lanes: while it waits for memory, nobody's silence means anything.
    const scarce = totals.usedBytes >= options.buffer.resumeAtBytes;
    let longest: { readonly lane: LaneState; readonly watched: Watched } | undefined;
    for (const lane of lanes.values()) {
      const watched = this.#watch(lane, scarce, nowMs);
      if (watched === undefined || nowMs < watched.askedMs + SILENT_MS || nowMs < (lane.stall?.retryAtMs ?? 0)) continue;
      if (watched.askedMs < (longest?.watched.askedMs ?? Number.POSITIVE_INFINITY)) longest = { lane, watched };
    }
    if (longest !== undefined && !this.#asking) this.#ask(longest.lane, longest.watched);
  }

  /** What is known of a lane that should get records; undefined for one that is not read now. */
  #watch(lane: LaneState, scarce: boolean, nowMs: number): Watched | undefined {
    const watched = this.#watched.get(lane);
    const went = watched !== undefined && watched.expected !== lane.expected;
    if (watched !== undefined && went) this.#goesOn(lane, watched, nowMs);
    // Being looked up, perhaps on our own order: neither silent nor well.
    if (lane.phase.kind === 'checking' && !went) return undefined;
    const read = lane.phase.kind === 'running' && !lane.paused && !scarce;
    if (watched !== undefined && !went && read) return watched;
    this.#watched.set(lane, {
      expected: lane.expected,
      sinceMs: nowMs,
      askedMs: nowMs,
      behind: undefined,
      readAgain: false,
      voidUpTo: watched?.voidUpTo ?? 0,
    });
    lane.stall = undefined;
    return undefined;
  }

  #goesOn(lane: LaneState, { expected, sinceMs, readAgain }: Watched, nowMs: number): void {
    const { observe } = this.#context;
    // Only now is it known that the client had passed over records.
    if (readAgain && lane.stall === undefined)
      observe({ kind: 'stalled', lane: lane.tp, position: expected, end: lane.expected, sinceMs, attempts: 1 });
    if (readAgain || lane.stall !== undefined) observe({ kind: 'recovered', lane: lane.tp, afterMs: nowMs - sinceMs });
    lane.stall = undefined;
  }

  #ask(lane: LaneState, watched: Watched): void {
    const { broker, clock, observe } = this.#context;
    this.#asking = true;
    void broker.facts(lane, LOOKUP_TIMEOUT_MS).then(
      (facts) =>
        this.#context.enter(() => {
          this.#asking = false;
          this.#answer(lane, watched, facts, clock.nowMs());
        }),
      (cause: unknown) =>
        this.#context.enter(() => {
          this.#asking = false;
          // A cluster that does not answer delivers nothing either: that is its outage, not the lane's.
          watched.askedMs = clock.nowMs();
          watched.behind = undefined;
          observe({ kind: 'broker-error', cause });
        }),
    );
  }

  #answer(lane: LaneState, watched: Watched, facts: PartitionFacts, nowMs: number): void {
    const { broker } = this.#context;
    const { logEnd } = facts;
    watched.askedMs = nowMs;
    const silent = this.#context.owns(lane) && lane.phase.kind === 'running' && !lane.paused && lane.expected === watched.expected;
    if (!silent || this.#watched.get(lane) !== watched) return;
    // The client jumps in silence where its offset is gone, and tells nothing before the next record comes.
    if (gapAt(facts, lane.expected) !== undefined) {
      this.#readAgain(lane);
      return;
    }
    const fetched = broker.fetchPosition(lane);
    const before = watched.behind;
    watched.behind = logEnd > Math.max(lane.expected, watched.voidUpTo) ? { fetched } : undefined;
    // Believed when a second look-up finds the same: a broker that has just come back has answers before it has fetches.
    if (watched.behind === undefined || before === undefined || before.fetched !== fetched) return;
    if (fetched !== undefined && fetched >= logEnd) this.#nothingThere(lane, watched, fetched);
    else this.#stalled(lane, watched, logEnd, nowMs);
  }

  /** The client says that it has read to the end and found no record. Believed when a second reading says so too. */
  #nothingThere(lane: LaneState, watched: Watched, fetched: number): void {
    watched.behind = undefined;
    if (watched.readAgain) {
      watched.voidUpTo = fetched;
      lane.stall = undefined;
      watched.readAgain = false;
    } else {
      watched.readAgain = true;
      this.#readAgain(lane);
    }
  }

  #stalled(lane: LaneState, { sinceMs }: Watched, end: number, nowMs: number): void {
    const attempts = (lane.stall?.attempts ?? 0) + 1;
    lane.stall = { sinceMs, position: lane.expected, end, attempts, retryAtMs: nowMs + backoffMs(REREADS, attempts - 1) };
    this.#context.observe({ kind: 'stalled', lane: lane.tp, position: lane.expected, end, sinceMs, attempts });
    this.#readAgain(lane);
  }

  /** As after an unexpected offset: the log is looked up, a gap is named, else the lane is assigned anew at its position. */
  #readAgain(lane: LaneState): void {
    lane.phase = { kind: 'checking', held: [] };
  }
}
