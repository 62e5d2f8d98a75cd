import type { RebalanceEvent } from '../broker/broker-consumer.ts';
import { partitionKey, type TopicPartition } from '../records.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import type { StuckLane } from './options.ts';

/** Lanes that hand over nothing more, until what is in flight has settled or the deadline has passed. */
interface Drain {
  readonly why: 'revoke' | 'stop';
  readonly lanes: readonly LaneState[];
  readonly startedMs: number;
  readonly deadlineMs: number;
  /** Whether the sink has done what it could for these lanes. */
  flushed: boolean;
  readonly done: (abandonedRecords: number) => void;
}

/** Takes rebalance events in the order in which they came, and answers each exactly once (I8). Draining is a state, never an await. */
export class Rebalances {
  readonly #context: LoopContext;
  readonly #queue: RebalanceEvent[] = [];
  #drain: Drain | undefined;
  #stopping = false;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  /** Called from the client's callback: only queues. */
  enqueue(event: RebalanceEvent): void {
    this.#queue.push(event);
    this.#context.enter(() => {});
  }

  /** Whether an event waits for its answer. */
  get unanswered(): boolean {
    return this.#queue.length > 0 || this.#drain?.why === 'revoke';
  }

  turn(nowMs: number): void {
    this.#finishDrain(nowMs);
    while (this.#drain === undefined) {
      const event = this.#queue.shift();
      if (event === undefined) return;
      this.#take(event, nowMs);
      this.#finishDrain(nowMs);
    }
  }

  /** Drains every lane. `done` is called with the number of abandoned records, at the latest at `deadlineMs` (I6). */
  stop(deadlineMs: number, nowMs: number, done: (abandonedRecords: number) => void): void {
    this.#stopping = true;
    this.#finishDrain(nowMs, true);
    this.#begin('stop', [...this.#context.lanes.values()], deadlineMs, nowMs, done);
  }

  /** Gives up every lane at once: the client is broken. Returns how many records are abandoned. */
  abandon(): number {
    this.#stopping = true;
    this.#drain = undefined;
    return this.#drop([...this.#context.lanes.values()]);
  }

  get idle(): boolean {
    return this.#drain === undefined && this.#queue.length === 0;
  }

  #take(event: RebalanceEvent, nowMs: number): void {
    const { broker, options, observe } = this.#context;
    const { partitions } = event;
    observe({ kind: 'rebalanced', how: event.kind, partitions });
    const owned = partitions.flatMap((tp) => this.#context.lane(tp) ?? []);
    if (event.kind === 'assigned') {
      // Paused: the answer is not kept waiting, and nothing is read before the lane knows where to begin. At an offset that needs no
      // look-up: the late answer to one was seen to move the lane that was opened meanwhile.
      broker.assign(partitions.map(({ topic, partition }) => ({ topic, partition, nextToRead: 0 })));
      if (partitions.length > 0) broker.pause(partitions);
      if (!this.#stopping) for (const tp of partitions) this.#context.addLane(tp);
    } else if (event.kind === 'lost') {
      // Somebody else may own them already: nothing is stored, so nothing of theirs is overwritten.
      const abandoned = this.#drop(owned);
      // What was stored for them is not committed any more: a stop must not wait for it.
      for (const tp of partitions) {
        this.#context.unconfirmed.delete(partitionKey(tp));
        this.#context.positions?.forget(tp);
      }
      broker.unassign(partitions);
      observe({ kind: 'drained', why: 'revoke', tookMs: 0, abandonedRecords: abandoned, stuck: [] });
    } else {
      this.#begin('revoke', owned, nowMs + options.drain.revokeMs, nowMs, () => broker.unassign(partitions));
    }
  }

  #begin(why: Drain['why'], lanes: readonly LaneState[], deadlineMs: number, nowMs: number, done: Drain['done']): void {
    const { options, observe } = this.#context;
    for (const lane of lanes) {
      lane.phase = { kind: 'draining' };
      lane.dropQueue(Number.NEGATIVE_INFINITY, 'drain');
    }
    const drain: Drain = { why, lanes, startedMs: nowMs, deadlineMs, flushed: true, done };
    this.#drain = drain;
    if (options.sink.flush === undefined || lanes.length === 0) return;
    drain.flushed = false;
    const flush = options.sink.flush.bind(options.sink);
    const flushed = (): void => {
      drain.flushed = true;
    };
    const tps: TopicPartition[] = lanes.map((lane) => lane.tp);
    void (async () => flush(why, tps))().then(
      () => this.#context.enter(flushed),
      (cause: unknown) => {
        // Safe: what could not be flushed stays unsettled, is not committed, and is counted as abandoned.
        observe({ kind: 'flush-failed', cause });
        this.#context.enter(flushed);
      },
    );
  }

  #finishDrain(nowMs: number, atOnce = false): void {
    const drain = this.#drain;
    if (drain === undefined) return;
    const settled = drain.flushed && drain.lanes.every((lane) => lane.inFlight.size === 0);
    const kept = this.#context.gate?.isKept(drain.lanes) !== false;
    if (!(settled && kept) && !atOnce && nowMs < drain.deadlineMs) return;
    this.#drain = undefined;
    this.#context.store(drain.lanes);
    const stuck = settled ? [] : drain.lanes.flatMap((lane) => stuckLane(lane, drain.flushed) ?? []);
    const abandonedRecords = this.#drop(drain.lanes);
    drain.done(abandonedRecords);
    this.#context.observe({ kind: 'drained', why: drain.why, tookMs: nowMs - drain.startedMs, abandonedRecords, stuck });
  }

  #drop(lanes: readonly LaneState[]): number {
    let abandoned = 0;
    for (const lane of lanes) {
      abandoned += lane.drop();
      this.#context.removeLane(lane);
    }
    return abandoned;
  }
}

/** What holds a lane up whose time to drain is over; undefined for one that has settled all it was handed. */
function stuckLane(lane: LaneState, flushed: boolean): StuckLane | undefined {
  let records = 0;
  for (const batch of lane.inFlight) records += batch.length;
  if (records === 0 && (flushed || lane.ledger.unsettled === 0)) return undefined;
  const where =
    records === 0
      ? 'its flush has not ended'
      : `${records} ${records === 1 ? 'record' : 'records'} from offset ${lane.ledger.nextToRead} on`;
  return { ...lane.tp, reason: lane.outage === undefined ? where : `${where}; ${lane.outage.reason}` };
}
