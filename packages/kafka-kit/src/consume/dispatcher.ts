import { type Gap, type Outcome, StandsStill } from './contract.ts';
import type { GapNews, LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { RecordBatch } from './record-batch.ts';

const MAX_DETAIL_CHARACTERS = 500;

/** What a sink's answer means for the records of its batch. */
interface Settled {
  readonly retry: readonly { readonly index: number; readonly reason: string; readonly cause: unknown }[];
  readonly dead: { readonly offset: number; readonly reason: string } | undefined;
}

/** Hands closed batches to the sink, in offset order per lane, and settles what it answers. */
export class Dispatcher {
  readonly #context: LoopContext;
  readonly #reopen: (lane: LaneState, cause: unknown) => void;
  readonly #passed: (lane: LaneState, gap: Gap) => void;

  /** `passed`: the sink knows of the gap, which has left the queue. */
  constructor(context: LoopContext, reopen: (lane: LaneState, cause: unknown) => void, passed: (lane: LaneState, gap: Gap) => void) {
    this.#context = context;
    this.#reopen = reopen;
    this.#passed = passed;
  }

  /** Hands over what may be handed over now. */
  dispatch(lane: LaneState, nowMs: number): void {
    if (lane.phase.kind === 'opening' || lane.phase.kind === 'draining' || lane.tellingGap) return;
    // One at a time while the sink is out, and none before its time: it is asked whether it works again, not flooded.
    if (lane.outage !== undefined && (nowMs < lane.outage.retryAtMs || lane.inFlight.size > 0)) return;
    const limit = lane.outage === undefined ? this.#context.options.inFlightPerLane : 1;
    while (lane.inFlight.size < limit) {
      // Closed by age only when it can be handed over: cut into pieces while it waits, a slow sink would never catch up.
      if (lane.queue.length === 0) lane.closeDue(nowMs);
      const item = lane.queue[0];
      if (item === undefined) return;
      if (!(item instanceof RecordBatch)) {
        this.#tellGap(lane, item);
        return;
      }
      lane.queue.shift();
      this.#handOver(lane, item);
    }
  }

  #handOver(lane: LaneState, batch: RecordBatch): void {
    const { clock, options, observe } = this.#context;
    lane.inFlight.add(batch);
    batch.handedOverMs = clock.nowMs();
    observe({ kind: 'handed-over', lane: lane.tp, records: batch.length, closedBy: batch.closedBy });
    // An async wrapper, so that a sink that throws before its first await is an outage like any other.
    void (async () => options.sink.write(batch, lane.abort.signal))().then(
      (outcomes) => this.#context.enter(() => this.#finished(lane, batch, outcomes)),
      (cause: unknown) => this.#context.enter(() => this.#failed(lane, batch, cause)),
    );
  }

  #finished(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): void {
    if (!this.#context.owns(lane)) return;
    const nonsense = whatIsWrong(outcomes, batch.length);
    if (nonsense !== undefined) {
      this.#failed(lane, batch, new Error(`sink ${this.#context.options.sink.name} answered ${nonsense} for ${batch.length} records`));
      return;
    }
    lane.inFlight.delete(batch);
    lane.owed.delete(batch);
    if (!batch.released) lane.letGo(batch.heldBytes);
    const settled = this.#settle(lane, batch, outcomes);
    if (lane.phase.kind === 'draining') return;
    const [first] = settled.retry;
    if (first !== undefined) {
      const cause = new Error(first.reason, { cause: first.cause });
      if (batch.released) {
        // Its bytes are gone: read again, where the sink should have tried again by itself.
        this.#reopen(lane, cause);
        return;
      }
      const again = batch.pick(settled.retry.map(({ index }) => index));
      lane.hold(again.heldBytes);
      lane.owe(again);
      this.#context.outage(lane, 'retry', cause);
    }
    if (settled.dead !== undefined) this.#haltAtDead(lane, settled.dead);
    if (lane.owed.size === 0 && lane.outage?.why !== 'gap') this.#context.recovered(lane, 'outage');
  }

  #settle(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): Settled {
    const retry: { index: number; reason: string; cause: unknown }[] = [];
    const skipped = new Map<string, number>();
    let firstDead: Settled['dead'];
    let dead = 0;
    let stored = 0;
    outcomes.forEach((outcome, index) => {
      const offset = batch.offset(index);
      if (outcome.kind === 'retry') retry.push({ index, reason: outcome.reason, cause: outcome.cause });
      else if (outcome.kind === 'dead') {
        firstDead ??= { offset, reason: detailed(outcome.reason, outcome.cause) };
        dead += 1;
      } else {
        lane.ledger.settle(offset);
        if (!batch.released) lane.settledMs = batch.timestampMs(index);
        if (outcome.kind === 'stored') stored += 1;
        else skipped.set(outcome.reason, (skipped.get(outcome.reason) ?? 0) + 1);
      }
    });
    if (batch.released) lane.settledMs = batch.firstTimestampMs;
    if (retry.length + dead < batch.length) lane.reopenings = 0;
    const { observe } = this.#context;
    let skippedRecords = 0;
    for (const [reason, records] of skipped) {
      skippedRecords += records;
      observe({ kind: 'skipped', lane: lane.tp, reason, records });
    }
    observe({ kind: 'settled', lane: lane.tp, stored, skipped: skippedRecords, retried: retry.length, dead });
    return { retry, dead: firstDead };
  }

  #failed(lane: LaneState, batch: RecordBatch, cause: unknown): void {
    if (!this.#context.owns(lane)) return;
    lane.inFlight.delete(batch);
    lane.owed.delete(batch);
    if (lane.phase.kind === 'draining') {
      // Not settled, so not committed: the next owner reads it again, and the drain's report counts it.
      if (!batch.released) lane.letGo(batch.heldBytes);
      return;
    }
    // A lane that halts would be handed what it owes without a pause.
    if (batch.released || cause instanceof StandsStill) {
      this.#reopen(lane, cause);
      return;
    }
    lane.owe(batch.again());
    this.#context.outage(lane, 'sink', cause);
  }

  /** Dead letters come with their topics; until then a bad record stops its lane, by name, instead of being passed over. */
  #haltAtDead(lane: LaneState, dead: { offset: number; reason: string }): void {
    // What stands before it and must be handed over again still is.
    lane.dropQueue(dead.offset, 'drain');
    const where = `${lane.topic}, partition ${lane.partition}, offset ${dead.offset}`;
    const sentence = `Group ${this.#context.options.group} can not process the record at ${where}: ${dead.reason}.`;
    this.#context.halt(lane, { kind: 'dead', ...dead, sentence });
  }

  #tellGap(lane: LaneState, news: GapNews): void {
    const { sink } = this.#context.options;
    const { gap } = news;
    const done = (): void => {
      lane.tellingGap = false;
      // By name: a batch before the gap may have failed meanwhile, and stands at the head again.
      lane.queue = lane.queue.filter((item) => item !== news);
      if (lane.outage?.why === 'gap') this.#context.recovered(lane, 'outage');
      this.#passed(lane, gap);
    };
    const { facts } = lane;
    if (sink.gap === undefined || facts === undefined) {
      done();
      return;
    }
    lane.tellingGap = true;
    this.#ask(lane, gap, sink.gap.bind(sink, facts), done);
  }

  #ask(lane: LaneState, gap: Gap, tell: (gap: Gap) => Promise<void>, done: () => void): void {
    const stillOwned = (change: () => void): void => this.#context.enter(() => this.#context.owns(lane) && change());
    void (async () => tell(gap))().then(
      () => stillOwned(done),
      (cause: unknown) =>
        stillOwned(() => {
          lane.tellingGap = false;
          // A sink with a position of its own may have given up its lane: only an assignment lets it go on.
          if (this.#context.options.sink.assign !== undefined || cause instanceof StandsStill) this.#reopen(lane, cause);
          else this.#context.outage(lane, 'gap', cause);
        }),
    );
  }
}

/** The sink's short word with what it knows besides, bounded: it goes into logs and into readiness. */
function detailed(reason: string, cause: unknown): string {
  if (cause === undefined) return reason;
  const detail = cause instanceof Error ? cause.message : String(cause);
  return `${reason} (${detail.length > MAX_DETAIL_CHARACTERS ? `${detail.slice(0, MAX_DETAIL_CHARACTERS)}…` : detail})`;
}

/** What makes an answer useless; undefined when it has one outcome for each record. A hole in the array would leave its record unsettled for ever. */
function whatIsWrong(outcomes: unknown, length: number): string | undefined {
  if (!Array.isArray(outcomes)) return typeof outcomes;
  if (outcomes.length !== length) return `${outcomes.length} outcomes`;
  for (let i = 0; i < length; i += 1) if (!isOutcome(outcomes[i])) return `no outcome at ${i}`;
  return undefined;
}

function isOutcome(outcome: unknown): boolean {
  if (typeof outcome !== 'object' || outcome === null || !('kind' in outcome)) return false;
  if (outcome.kind === 'stored') return true;
  const named = 'reason' in outcome && typeof outcome.reason === 'string';
  return named && (outcome.kind === 'skipped' || outcome.kind === 'retry' || outcome.kind === 'dead');
}
