import { reasonsOf } from '../observe/reasons.ts';
import { whatIsWrong } from './answers.ts';
import { type Gap, type Outcome, StandsStill } from './contract.ts';
import { DeadLetters, type DeadRecord } from './dead-letters.ts';
import type { GapNews, LaneState } from './lane.ts';
import type { HaltReason } from './lane-phase.ts';
import type { LoopContext } from './loop-context.ts';
import { RecordBatch } from './record-batch.ts';

const MAX_DETAIL_CHARACTERS = 500;

/** What a sink's answer means for the records of its batch. */
interface Settled {
  readonly retry: readonly { readonly index: number; readonly reason: string; readonly cause: unknown }[];
  readonly dead: readonly DeadRecord[];
}

/** Hands closed batches to the sink, in offset order per lane, and settles what it answers. */
export class Dispatcher {
  readonly #context: LoopContext;
  readonly #reopen: (lane: LaneState, cause: unknown) => void;
  readonly #passed: (lane: LaneState, news: GapNews) => void;
  readonly #deadLetters: DeadLetters | undefined;

  /** `passed`: the sink knows of the gap, which has left the queue. */
  constructor(context: LoopContext, reopen: (lane: LaneState, cause: unknown) => void, passed: (lane: LaneState, news: GapNews) => void) {
    this.#context = context;
    this.#reopen = reopen;
    this.#passed = passed;
    const port = context.deadLetters;
    this.#deadLetters = port && new DeadLetters(context, port, (lane, batch) => this.#buried(lane, batch));
  }

  /** Hands over what may be handed over now. Calls no broker. */
  dispatch(lane: LaneState, nowMs: number): void {
    this.#deadLetters?.turn(lane, nowMs);
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
      (outcomes) => this.#answered(lane, batch, outcomes),
      (cause: unknown) => this.#context.enter(() => this.#failed(lane, batch, cause)),
    );
  }

  #answered(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): void {
    const nonsense = whatIsWrong(outcomes, batch.length);
    if (nonsense !== undefined) {
      const cause = new Error(`sink ${this.#context.options.sink.name} answered ${nonsense} for ${batch.length} records`);
      this.#context.enter(() => this.#failed(lane, batch, cause));
    } else if (outcomes.every(isSettling)) {
      // Were the next batch handed over only in the next turn, small ones would wait for a poll each.
      this.#context.enterBesidePoll(() => {
        this.#finished(lane, batch, outcomes);
        if (this.#context.owns(lane)) this.dispatch(lane, this.#context.clock.nowMs());
      });
    } else this.#context.enter(() => this.#finished(lane, batch, outcomes));
  }

  #finished(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): void {
    if (!this.#context.owns(lane)) return;
    lane.owed.delete(batch);
    const settled = this.#settle(lane, batch, outcomes);
    const burial = this.#bury(lane, batch, settled.dead);
    if (burial !== 'begun') {
      lane.inFlight.delete(batch);
      if (!batch.released) lane.letGo(batch.heldBytes);
    }
    if (lane.phase.kind === 'draining') return;
    const [first] = [...settled.retry, ...(burial === 'bytes-gone' ? settled.dead : [])];
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
    if (typeof burial === 'object') {
      // What stands before it and must be handed over again still is.
      lane.dropQueue(batch.offset(settled.dead[0]?.index ?? 0), 'drain');
      this.#context.halt(lane, burial);
    }
    this.#recover(lane);
  }

  /** Ends the outage when nothing of it is left: no batch that must be handed over again, no dead record that is not kept. */
  #recover(lane: LaneState): void {
    if (lane.owed.size === 0 && this.#deadLetters?.waits(lane) !== true && lane.outage?.why !== 'gap')
      this.#context.recovered(lane, 'outage');
  }

  /** Sends dead records on their way: `begun` while the batch must stay in flight for them. Or says why the lane must stop before the first of them. */
  #bury(lane: LaneState, batch: RecordBatch, dead: readonly DeadRecord[]): 'none' | 'begun' | 'bytes-gone' | HaltReason {
    const [first] = dead;
    if (first === undefined) return 'none';
    // A lane that has stopped for this already buries no more.
    if (lane.phase.kind === 'halted' && lane.phase.why.kind === 'budget') return 'none';
    const offset = batch.offset(first.index);
    if (this.#deadLetters === undefined) {
      // Without a place for dead letters a bad record stops its lane, by name, instead of being passed over.
      const where = `${lane.topic}, partition ${lane.partition}, offset ${offset}`;
      const reason = detailed(first);
      return {
        kind: 'dead',
        offset,
        reason,
        sentence: `Group ${this.#context.options.group} can not process the record at ${where}: ${reason}.`,
      };
    }
    if (batch.released) return 'bytes-gone';
    const verdict = this.#deadLetters.take(lane, batch, dead);
    return verdict === undefined ? 'begun' : { kind: 'budget', sentence: this.#deadLetters.sentence(lane, verdict) };
  }

  /** The dead records of a batch are kept, or their lane is given back before they were. */
  #buried(lane: LaneState, batch: RecordBatch): void {
    lane.inFlight.delete(batch);
    if (!batch.released) lane.letGo(batch.heldBytes);
    if (lane.phase.kind !== 'draining') this.#recover(lane);
  }

  #settle(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): Settled {
    const retry: { index: number; reason: string; cause: unknown }[] = [];
    const skipped = new Map<string, number>();
    const dead: DeadRecord[] = [];
    let stored = 0;
    // By runs: offsets that follow one another are settled in one step.
    let from = 0;
    let to = 0;
    let last: number | undefined;
    outcomes.forEach((outcome, index) => {
      if (outcome.kind === 'retry') retry.push({ index, reason: outcome.reason, cause: outcome.cause });
      else if (outcome.kind === 'dead') dead.push({ index, reason: outcome.reason, cause: outcome.cause });
      else {
        const offset = batch.offset(index);
        if (offset !== to) {
          if (from < to) lane.ledger.settle(from, to);
          from = offset;
        }
        to = offset + 1;
        last = index;
        if (outcome.kind === 'stored') stored += 1;
        else skipped.set(outcome.reason, (skipped.get(outcome.reason) ?? 0) + 1);
      }
    });
    if (from < to) lane.ledger.settle(from, to);
    if (last !== undefined) {
      lane.settledMs = batch.released ? batch.firstTimestampMs : batch.timestampMs(last);
      lane.reopenings = 0;
    }
    const { observe } = this.#context;
    let skippedRecords = 0;
    for (const [reason, records] of skipped) {
      skippedRecords += records;
      observe({ kind: 'skipped', lane: lane.tp, reason, records });
    }
    observe({ kind: 'settled', lane: lane.tp, stored, skipped: skippedRecords, retried: retry.length, dead: dead.length });
    if (dead.length === 0) this.#deadLetters?.well(lane, stored + skippedRecords);
    return { retry, dead };
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

  #tellGap(lane: LaneState, news: GapNews): void {
    const { sink } = this.#context.options;
    const { gap } = news;
    const done = (): void => {
      lane.tellingGap = false;
      // By name: a batch before the gap may have failed meanwhile, and stands at the head again.
      lane.queue = lane.queue.filter((item) => item !== news);
      if (lane.outage?.why === 'gap') this.#context.recovered(lane, 'outage');
      this.#passed(lane, news);
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
function detailed({ reason, cause }: DeadRecord): string {
  if (cause === undefined) return reason;
  const detail = reasonsOf(cause);
  return `${reason} (${detail.length > MAX_DETAIL_CHARACTERS ? `${detail.slice(0, MAX_DETAIL_CHARACTERS)}…` : detail})`;
}

function isSettling({ kind }: Outcome): boolean {
  return kind === 'stored' || kind === 'skipped';
}
