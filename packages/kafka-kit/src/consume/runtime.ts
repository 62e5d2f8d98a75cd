/**
 * The consumer runtime: one loop is the only mutator. Invariants, each with a test that carries its number:
 * I1 never commit past an unsettled record. I2 commits only grow within one ownership. I3 every delivered record is settled
 * exactly once or reported abandoned. I4 buffered bytes stay under the bound plus one poll. I5 no commit for a lane after its
 * revoke is answered. I6 `stop()` returns by its deadline with the truth in its report. I7 no record leaves by retry or dead
 * letter without an ack. I8 every rebalance event is answered exactly once. I9 a lane never passes a hole in silence.
 */
import { BrokerError } from '../broker/broker-consumer.ts';
import type { RawRecord, TopicPartition } from '../records.ts';
import type { ConsumerRuntime, RuntimeState } from './consumer-runtime.ts';
import { Dispatcher } from './dispatcher.ts';
import { FetchWatch } from './fetch-watch.ts';
import { FlowControl } from './flow-control.ts';
import { type IdleMember, Idleness } from './idle-member.ts';
import type { LaneState } from './lane.ts';
import { type LaneView, viewLane } from './lane-view.ts';
import { LoopContext } from './loop-context.ts';
import {
  type ConsumerOptions,
  checkOptions,
  type DrainReport,
  leaveMs,
  MAX_POLL_RECORDS,
  POLL_TIMEOUT_MS,
  type RuntimePorts,
} from './options.ts';
import { Positioning } from './positioning.ts';
import { Rebalances } from './rebalances.ts';
import { Tally } from './tally.ts';

/** How long a client may take to end that never connected: whoever tries again waits for it. */
const UNCONNECTED_CLOSE_MS = 1000;
/** Kept of a caller's time for a stop. */
const STOP_MARGIN_SHARE = 0.02;

/** Makes a runtime; nothing happens before `start`. Throws RangeError on options that contradict each other. */
export function createConsumerRuntime(options: ConsumerOptions, ports: RuntimePorts): ConsumerRuntime {
  checkOptions(options, ports);
  return new Runtime(options, ports);
}

class Runtime implements ConsumerRuntime {
  readonly #context: LoopContext;
  readonly #rebalances: Rebalances;
  readonly #idleness: Idleness;
  readonly #positioning: Positioning;
  readonly #dispatcher: Dispatcher;
  readonly #flow: FlowControl;
  readonly #fetches: FetchWatch;
  readonly #tally: Tally;
  readonly finished: Promise<DrainReport>;
  #finish: { resolve: (report: DrainReport) => void; reject: (error: Error) => void } = { resolve: () => {}, reject: () => {} };
  #state: RuntimeState = { kind: 'idle' };
  /** Ends the watch over a stop's deadline. */
  readonly #ended = new AbortController();
  #lastPollMs: number;
  #stopMs: number;

  constructor(options: ConsumerOptions, ports: RuntimePorts) {
    this.#tally = new Tally(ports.observe);
    this.#context = new LoopContext(options, { ...ports, observe: (event) => this.#tally.see(event) });
    this.#rebalances = new Rebalances(this.#context);
    this.#idleness = new Idleness(this.#context);
    this.#positioning = new Positioning(
      this.#context,
      () => this.#rebalances.unanswered,
      (lane) => this.#dispatcher.dispatch(lane, ports.clock.nowMs()),
    );
    this.#dispatcher = new Dispatcher(
      this.#context,
      (lane, cause) => this.#positioning.reopen(lane, cause),
      (lane, news) => this.#positioning.passed(lane, news),
    );
    this.#flow = new FlowControl(this.#context);
    this.#fetches = new FetchWatch(this.#context);
    this.#lastPollMs = ports.clock.nowMs();
    this.#stopMs = options.drain.stopMs;
    this.finished = new Promise((resolve, reject) => {
      this.#finish = { resolve, reject };
    });
    // A fatal end is told to whoever asks; without a listener it must not end the process by itself.
    this.finished.catch(() => {});
  }

  get state(): RuntimeState {
    return this.#state;
  }

  lanes(): readonly LaneView[] {
    return [...this.#context.lanes.values()].map((lane) => viewLane(lane, this.#context.broker.cachedLogEnd(lane)));
  }

  idle(): IdleMember | undefined {
    return this.#idleness.view();
  }

  silentSinceMs(): number | undefined {
    return this.#context.silentSinceMs;
  }

  async start(): Promise<void> {
    if (this.#state.kind !== 'idle') throw new Error('a runtime is started once');
    this.#state = { kind: 'running' };
    const { broker, options } = this.#context;
    try {
      await broker.connect(options.topics, {
        rebalance: (event) => this.#rebalances.enqueue(event),
        commit: (result) => this.#context.committed(result, this.#state.kind === 'running'),
        log: (line) => this.#context.observe({ kind: 'client-log', line }),
      });
    } catch (fault) {
      // Ended here, or the client would go on trying behind our back, and a stop would wait for a loop that never began.
      const error = fault instanceof Error ? fault : new Error(String(fault));
      this.#end(error, 0, await this.#close(UNCONNECTED_CLOSE_MS, this.#closeable(UNCONNECTED_CLOSE_MS).slice(0, 1)));
      throw error;
    }
    void this.#loop().catch((error: unknown) => this.#fail(error));
  }

  stop(withinMs = Number.POSITIVE_INFINITY): Promise<DrainReport> {
    if (this.#state.kind === 'idle') this.#end(undefined, 0, true);
    if (this.#state.kind === 'running') {
      const { clock, options } = this.#context;
      // A little less than the caller's time: whoever waits for just so long would call a report that comes with it late.
      const stopMs = Math.min(options.drain.stopMs, Math.max(0, withinMs * (1 - STOP_MARGIN_SHARE)));
      this.#stopMs = stopMs;
      this.#state = { kind: 'stopping', deadlineMs: clock.nowMs() + stopMs };
      this.#context.enter(() => {});
      // Whatever the loop waits for, a poll that never returns included: the caller has its report by the deadline (I6).
      void clock.sleep(stopMs, this.#ended.signal).then(() => this.#end(undefined, stopMs, false));
    }
    return this.finished.catch(() => (this.#state.kind === 'failed' ? this.#state.report : this.#report(0, false)));
  }

  async #loop(): Promise<void> {
    while (this.#state.kind === 'running') await this.#turn();
    if (this.#state.kind === 'stopping') await this.#drainAndLeave(this.#state.deadlineMs);
    // A stop that gave up waiting for the first connection left it to be closed here.
    else await this.#close(UNCONNECTED_CLOSE_MS);
  }

  /** The client is broken: nothing can be committed any more, so nothing is drained. */
  async #fail(error: unknown): Promise<void> {
    const { observe, options } = this.#context;
    observe({ kind: 'broker-error', cause: error });
    this.#tally.abandoned += this.#rebalances.abandon();
    const closed = await this.#close(options.drain.stopMs);
    this.#end(error instanceof Error ? error : new Error(String(error)), 0, closed);
  }

  /** One turn, in the order that the invariants need. */
  async #turn(): Promise<void> {
    const { clock } = this.#context;
    this.#rebalances.turn(clock.nowMs());
    this.#context.runEntered();
    this.#idleness.turn(clock.nowMs());
    this.#positioning.turn(clock.nowMs());
    this.#context.store(this.#context.lanes.values());
    if (this.#flow.balance(clock.nowMs())) this.#take(await this.#poll());
    else await this.#context.waitForWork(POLL_TIMEOUT_MS / 10);
    const nowMs = clock.nowMs();
    this.#fetches.turn(nowMs);
    for (const lane of this.#context.lanes.values()) {
      if (this.#flow.full) lane.closeForSpace();
      this.#dispatcher.dispatch(lane, nowMs);
    }
  }

  async #poll(): Promise<readonly RawRecord[]> {
    const { clock, observe } = this.#context;
    const sinceLastPollMs = clock.nowMs() - this.#lastPollMs;
    try {
      const records = await this.#context.poll(MAX_POLL_RECORDS, POLL_TIMEOUT_MS);
      observe({ kind: 'polled', records: records.length, sinceLastPollMs });
      return records;
    } catch (error) {
      if (error instanceof BrokerError && error.fatal) throw error;
      // Safe: a poll that rejects has delivered nothing, so nothing is passed over; the client goes on by itself.
      observe({ kind: 'broker-error', cause: error });
      this.#positioning.doubt(clock.nowMs());
      await clock.sleep(POLL_TIMEOUT_MS);
      return [];
    } finally {
      this.#lastPollMs = clock.nowMs();
    }
  }

  #take(records: readonly RawRecord[]): void {
    const nowMs = this.#context.clock.nowMs();
    let lane: LaneState | undefined;
    let last: TopicPartition | undefined;
    for (const record of records) {
      // Records come in runs of one partition: one look-up a run.
      if (last === undefined || record.partition !== last.partition || record.topic !== last.topic) {
        lane = this.#context.lane(record);
        last = record;
      }
      if (lane === undefined) continue;
      if (lane.phase.kind === 'running') {
        if (record.offset === lane.expected) {
          lane.accept(record, nowMs);
        } else this.#positioning.unexpected(lane, record);
      } else if (lane.phase.kind === 'checking') this.#positioning.holdBack(lane, record);
      // Opening, restoring, ending, halted and draining lanes take nothing: what is delivered for them was never tracked and is read again.
    }
  }

  async #drainAndLeave(deadlineMs: number): Promise<void> {
    const { broker, clock } = this.#context;
    const startedMs = clock.nowMs();
    const drainUntilMs = deadlineMs - leaveMs(this.#stopMs);
    // A revoke that is under way is finished and answered first: its drain is shorter than a stop's.
    while (!this.#rebalances.idle && clock.nowMs() < drainUntilMs) await this.#turn();
    let drained = false;
    this.#rebalances.stop(drainUntilMs, clock.nowMs(), () => {
      drained = true;
    });
    while (!drained || !this.#rebalances.idle) await this.#turn();
    broker.commitStored();
    while (this.#context.unconfirmed.size > 0 && clock.nowMs() < deadlineMs - leaveMs(this.#stopMs) / 2) await this.#turn();
    // A revoke that the last poll brought: unanswered it would hang the client's disconnect.
    this.#rebalances.turn(clock.nowMs());
    const closed = await this.#close(Math.max(deadlineMs - clock.nowMs(), 0));
    this.#end(undefined, clock.nowMs() - startedMs, closed);
  }

  /** Closes client and sink side by side: a client that does not leave must not keep the sink's files open. */
  async #close(ms: number, what = this.#closeable(ms)): Promise<boolean> {
    const { clock, observe } = this.#context;
    const timer = new AbortController();
    const late = clock.sleep(ms, timer.signal).then(() => 'late' as const);
    const closing = what.map(async ({ name, close }) => {
      // Safe to go on: everything was settled and committed before; the report says that it did not close.
      const fault = await Promise.race([
        late,
        (async () => close())().then(
          () => undefined,
          (cause: unknown) => ({ cause }),
        ),
      ]);
      if (fault !== undefined)
        observe({ kind: 'broker-error', cause: fault === 'late' ? new Error(`${name} did not close in time`) : fault.cause });
      return fault === undefined;
    });
    const closed = await Promise.all(closing);
    timer.abort();
    return closed.every(Boolean);
  }

  #closeable(ms: number): { readonly name: string; readonly close: () => Promise<void> | undefined }[] {
    const { broker, options, positions } = this.#context;
    return [
      { name: 'the Kafka client', close: () => broker.close(ms) },
      { name: 'positions', close: () => positions?.flush(ms / 2) },
      { name: `sink ${options.sink.name}`, close: () => options.sink.close?.() },
    ];
  }

  #report(tookMs: number, closed: boolean): DrainReport {
    const { lanes, totals, unconfirmed } = this.#context;
    let { abandoned } = this.#tally;
    // Lanes that are still there at the end were not drained.
    for (const lane of lanes.values()) abandoned += lane.ledger.unsettled;
    return {
      tookMs,
      deliveredRecords: totals.deliveredRecords,
      settledRecords: this.#tally.settled,
      abandonedRecords: abandoned,
      committed: unconfirmed.size === 0,
      closed,
      stuck: this.#tally.stuck,
    };
  }

  #end(error: Error | undefined, tookMs: number, closed: boolean): void {
    if (this.#state.kind === 'stopped' || this.#state.kind === 'failed') return;
    this.#ended.abort();
    const report = this.#report(tookMs, closed);
    this.#state = error === undefined ? { kind: 'stopped', report } : { kind: 'failed', error, report };
    if (error === undefined) this.#finish.resolve(report);
    else this.#finish.reject(error);
  }
}
