import type { Gap, Outcome } from './contract.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { RecordBatch } from './record-batch.ts';

/** Hands closed batches to the sink, in offset order per lane, and settles what it answers. */
export class Dispatcher {
  readonly #context: LoopContext;
  readonly #reopen: (lane: LaneState, cause: unknown) => void;
  /** Batches that must be handed over again; while a lane owes one, nothing behind it is handed over. */
  readonly #owed = new WeakMap<LaneState, Set<RecordBatch>>();

  constructor(context: LoopContext, reopen: (lane: LaneState, cause: unknown) => void) {
    this.#context = context;
    this.#reopen = reopen;
  }

  /** Hands over what may be handed over now. */
  dispatch(lane: LaneState, nowMs: number): void {
    if (lane.phase.kind === 'opening' || lane.phase.kind === 'draining') return;
    lane.closeDue(nowMs);
    if (lane.tellingGap) return;
    // One at a time while the sink is out, and none before its time: it is asked whether it works again, not flooded.
    if (lane.outage !== undefined && (nowMs < lane.outage.retryAtMs || lane.inFlight.size > 0)) return;
    const limit = lane.outage === undefined ? this.#context.options.inFlightPerLane : 1;
    while (lane.inFlight.size < limit) {
      const item = lane.queue[0];
      if (item === undefined) return;
      if (!(item instanceof RecordBatch)) {
        this.#tellGap(lane, item.gap);
        return;
      }
      lane.queue.shift();
      this.#handOver(lane, item);
    }
  }

  #handOver(lane: LaneState, batch: RecordBatch): void {
    const { options, observe } = this.#context;
    lane.inFlight.add(batch);
    observe({ kind: 'handed-over', lane: lane.tp, records: batch.length, closedBy: batch.closedBy });
    // An async wrapper, so that a sink that throws before its first await is an outage like any other.
    void (async () => options.sink.write(batch, lane.abort.signal))().then(
      (outcomes) => this.#context.enter(() => this.#finished(lane, batch, outcomes)),
      (cause: unknown) => this.#context.enter(() => this.#failed(lane, batch, cause)),
    );
  }

  #finished(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]): void {
    if (!this.#context.owns(lane)) return;
    if (!Array.isArray(outcomes) || outcomes.length !== batch.length || !outcomes.every(isOutcome)) {
      const told = Array.isArray(outcomes) ? `${outcomes.length} outcomes` : typeof outcomes;
      this.#failed(lane, batch, new Error(`sink ${this.#context.options.sink.name} answered ${told} for ${batch.length} records`));
      return;
    }
    lane.inFlight.delete(batch);
    if (!batch.released) lane.letGo(batch.heldBytes);
    const settled = this.#settle(lane, batch, outcomes);
    const owed = this.#owed.get(lane);
    owed?.delete(batch);
    const draining = lane.phase.kind === 'draining';
    if (settled.retry.length > 0 && !draining) {
      const again = batch.pick(settled.retry.map(({ index }) => index));
      lane.hold(again.heldBytes);
      this.#owe(lane, again);
      this.#context.outage(lane, 'retry', new Error(settled.retry[0]?.reason));
    } else if (owed?.size === 0) this.#context.recovered(lane);
    if (settled.dead !== undefined && !draining) this.#haltAtDead(lane, settled.dead);
  }

  #settle(lane: LaneState, batch: RecordBatch, outcomes: readonly Outcome[]) {
    const retry: { index: number; reason: string }[] = [];
    const skipped = new Map<string, number>();
    let dead: { offset: number; reason: string } | undefined;
    let deadRecords = 0;
    let stored = 0;
    outcomes.forEach((outcome, index) => {
      const offset = batch.offset(index);
      if (outcome.kind === 'retry') retry.push({ index, reason: outcome.reason });
      else if (outcome.kind === 'dead') {
        dead ??= { offset, reason: outcome.reason };
        deadRecords += 1;
      } else {
        lane.ledger.settle(offset);
        lane.settledMs = batch.timestampMs(index);
        if (outcome.kind === 'stored') stored += 1;
        else skipped.set(outcome.reason, (skipped.get(outcome.reason) ?? 0) + 1);
      }
    });
    const { observe } = this.#context;
    let skippedRecords = 0;
    for (const [reason, records] of skipped) {
      skippedRecords += records;
      observe({ kind: 'skipped', lane: lane.tp, reason, records });
    }
    observe({ kind: 'settled', lane: lane.tp, stored, skipped: skippedRecords, retried: retry.length, dead: deadRecords });
    return { retry, dead };
  }

  #failed(lane: LaneState, batch: RecordBatch, cause: unknown): void {
    if (!this.#context.owns(lane)) return;
    lane.inFlight.delete(batch);
    if (lane.phase.kind === 'draining') {
      // Not settled, so not committed: the next owner reads it again, and the drain's report counts it.
      if (!batch.released) lane.letGo(batch.heldBytes);
      return;
    }
    if (batch.released) {
      this.#reopen(lane, cause);
      return;
    }
    this.#owe(lane, batch);
    this.#context.outage(lane, 'sink', cause);
  }

  #owe(lane: LaneState, batch: RecordBatch): void {
    let owed = this.#owed.get(lane);
    if (owed === undefined) {
      owed = new Set();
      this.#owed.set(lane, owed);
    }
    owed.add(batch);
    lane.giveBack(batch);
  }

  /** Dead letters come with their topics; until then a bad record stops its lane, by name, instead of being passed over. */
  #haltAtDead(lane: LaneState, dead: { offset: number; reason: string }): void {
    lane.dropQueue();
    const where = `${lane.topic}, partition ${lane.partition}, offset ${dead.offset}`;
    const sentence = `Group ${this.#context.options.group} can not process the record at ${where}: ${dead.reason}.`;
    this.#context.halt(lane, { kind: 'dead', ...dead, sentence });
  }

  #tellGap(lane: LaneState, gap: Gap): void {
    const { sink } = this.#context.options;
    const done = (): void => {
      lane.tellingGap = false;
      lane.queue.shift();
      this.#context.observe({ kind: 'gap', lane: lane.tp, gap });
      if (lane.outage?.why === 'gap') this.#context.recovered(lane);
    };
    const { facts } = lane;
    if (sink.gap === undefined || facts === undefined) {
      done();
      return;
    }
    lane.tellingGap = true;
    const tell = sink.gap.bind(sink);
    const stillOwned = (change: () => void): void => this.#context.enter(() => this.#context.owns(lane) && change());
    void (async () => tell(facts, gap))().then(
      () => stillOwned(done),
      (cause: unknown) =>
        stillOwned(() => {
          lane.tellingGap = false;
          this.#context.outage(lane, 'gap', cause);
        }),
    );
  }
}

function isOutcome(outcome: unknown): boolean {
  if (typeof outcome !== 'object' || outcome === null || !('kind' in outcome)) return false;
  const { kind } = outcome;
  return kind === 'stored' || kind === 'skipped' || kind === 'retry' || kind === 'dead';
}
