/**
 * The consumer runtime: one loop is the only mutator. Invariants, each with a test that carries its number:
 * I1 never commit past an unsettled record. I2 commits only grow within one ownership. I3 every delivered record is settled
 * exactly once or reported abandoned. I4 buffered bytes stay under the bound plus one poll. I5 no commit for a lane after its
 * revoke is answered. I6 `stop()` returns by its deadline with the truth in its report. I7 no record leaves by retry or dead
 * letter without an ack. I8 every rebalance event is answered exactly once. I9 a lane never passes a hole in silence.
 */
import { BrokerError, type CommitResult } from '../broker/broker-consumer.ts';
import { partitionKey, type RawRecord, type TopicPartition } from '../records.ts';
import { Dispatcher } from './dispatcher.ts';
import type { LaneState } from './lane.ts';
import { type LaneView, viewLane } from './lane-view.ts';
import { LoopContext } from './loop-context.ts';
import {
  type ConsumerOptions,
  checkOptions,
  type DrainReport,
  HOLD_BEFORE_PAUSE_MS,
  MAX_POLL_RECORDS,
  POLL_TIMEOUT_MS,
  type RuntimePorts,
} from './options.ts';
import { Positioning } from './positioning.ts';
import { Rebalances } from './rebalances.ts';

/** What the runtime is doing. */
export type RuntimeState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running' }
  | { readonly kind: 'stopping'; readonly deadlineMs: number }
  | { readonly kind: 'stopped'; readonly report: DrainReport }
  | { readonly kind: 'failed'; readonly error: Error; readonly report: DrainReport };

/** A group member that hands records to one sink. */
export interface ConsumerRuntime {
  readonly state: RuntimeState;
  /** Every owned partition with what is known of it. */
  lanes(): readonly LaneView[];
  /** Joins the group. Rejects when the first connection can not be made. */
  start(): Promise<void>;
  /** Settles and commits what it can by the deadline, then leaves. Callers share one promise; never rejects. */
  stop(): Promise<DrainReport>;
  /** Resolves after a stop; rejects when the client can not go on (a fatal error). */
  readonly finished: Promise<DrainReport>;
}

/** Makes a runtime; nothing happens before `start`. Throws RangeError on options that contradict each other. */
export function createConsumerRuntime(options: ConsumerOptions, ports: RuntimePorts): ConsumerRuntime {
  checkOptions(options);
  return new Runtime(options, ports);
}

class Runtime implements ConsumerRuntime {
  readonly #context: LoopContext;
  readonly #rebalances: Rebalances;
  readonly #positioning: Positioning;
  readonly #dispatcher: Dispatcher;
  readonly finished: Promise<DrainReport>;
  #finish: { resolve: (report: DrainReport) => void; reject: (error: Error) => void } = { resolve: () => {}, reject: () => {} };
  #state: RuntimeState = { kind: 'idle' };
  #settled = 0;
  #abandoned = 0;
  #holdingSinceMs: number | undefined;
  #pausedForBytes = false;
  #lastPollMs: number;

  constructor(options: ConsumerOptions, ports: RuntimePorts) {
    this.#context = new LoopContext(options, { ...ports, observe: (event) => this.#count(event, ports) });
    this.#rebalances = new Rebalances(this.#context);
    this.#positioning = new Positioning(this.#context, () => this.#rebalances.unanswered);
    this.#dispatcher = new Dispatcher(this.#context, (lane, cause) => this.#positioning.reopen(lane, cause));
    this.#lastPollMs = ports.clock.nowMs();
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

  async start(): Promise<void> {
    if (this.#state.kind !== 'idle') throw new Error('a runtime is started once');
    this.#state = { kind: 'running' };
    const { broker, options, observe } = this.#context;
    await broker.connect(options.topics, {
      rebalance: (event) => this.#rebalances.enqueue(event),
      commit: (result) => this.#committed(result),
      log: () => {},
    });
    void this.#loop().catch(async (error: unknown) => {
      observe({ kind: 'broker-error', cause: error });
      const closed = await this.#within(options.drain.stopMs, () => broker.close(options.drain.stopMs));
      this.#end(error instanceof Error ? error : new Error(String(error)), 0, closed);
    });
  }

  stop(): Promise<DrainReport> {
    if (this.#state.kind === 'idle') this.#end(undefined, 0, true);
    if (this.#state.kind === 'running') {
      this.#state = { kind: 'stopping', deadlineMs: this.#context.clock.nowMs() + this.#context.options.drain.stopMs };
      this.#context.enter(() => {});
    }
    return this.finished.catch(() => (this.#state.kind === 'failed' ? this.#state.report : this.#report(0, false)));
  }

  async #loop(): Promise<void> {
    while (this.#state.kind === 'running') await this.#turn();
    if (this.#state.kind !== 'stopping') return;
    await this.#drainAndLeave(this.#state.deadlineMs);
  }

  /** One turn, in the order that the invariants need. */
  async #turn(): Promise<void> {
    const { clock } = this.#context;
    this.#rebalances.turn(clock.nowMs());
    this.#context.runEntered();
    this.#positioning.turn(clock.nowMs());
    this.#context.store(this.#context.lanes.values());
    const poll = this.#balance(clock.nowMs());
    if (poll) this.#take(await this.#poll());
    else await this.#context.waitForWork(POLL_TIMEOUT_MS / 10);
    const nowMs = clock.nowMs();
    for (const lane of this.#context.lanes.values()) this.#dispatcher.dispatch(lane, nowMs);
  }

  /** Pauses and resumes lanes; says whether to poll now. Over the bound it first only stops polling, since a pause drops the prefetch. */
  #balance(nowMs: number): boolean {
    const { buffer } = this.#context.options;
    const { usedBytes } = this.#context.totals;
    if (usedBytes < (this.#pausedForBytes ? buffer.resumeAtBytes : buffer.pauseAtBytes)) {
      this.#holdingSinceMs = undefined;
      this.#pausedForBytes = false;
    } else if (!this.#pausedForBytes) {
      this.#holdingSinceMs ??= nowMs;
      this.#pausedForBytes = nowMs - this.#holdingSinceMs >= HOLD_BEFORE_PAUSE_MS;
    }
    const pause: LaneState[] = [];
    const resume: LaneState[] = [];
    for (const lane of this.#context.lanes.values()) {
      if (lane.phase.kind === 'opening' || lane.phase.kind === 'draining') continue;
      const wanted = this.#pausedForBytes || lane.phase.kind !== 'running' || lane.outage !== undefined;
      if (wanted !== lane.paused) (wanted ? pause : resume).push(lane);
      lane.paused = wanted;
    }
    if (pause.length > 0) this.#context.broker.pause(pause);
    if (resume.length > 0) this.#context.broker.resume(resume);
    return this.#pausedForBytes || this.#holdingSinceMs === undefined;
  }

  async #poll(): Promise<readonly RawRecord[]> {
    const { broker, clock, observe } = this.#context;
    const sinceLastPollMs = clock.nowMs() - this.#lastPollMs;
    try {
      const records = await broker.poll(MAX_POLL_RECORDS, POLL_TIMEOUT_MS);
      observe({ kind: 'polled', records: records.length, sinceLastPollMs });
      return records;
    } catch (error) {
      if (error instanceof BrokerError && error.fatal) throw error;
      // Safe: a poll that rejects has delivered nothing, so nothing is passed over; the client goes on by itself.
      observe({ kind: 'broker-error', cause: error });
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
      // Opening, halted and draining lanes take nothing: what is delivered for them was never tracked and is read again.
    }
  }

  async #drainAndLeave(deadlineMs: number): Promise<void> {
    const { broker, clock, options } = this.#context;
    const startedMs = clock.nowMs();
    // A revoke that is under way is finished and answered first: its drain is shorter than a stop's.
    while (!this.#rebalances.idle && clock.nowMs() < deadlineMs) await this.#turn();
    let drained = false;
    this.#rebalances.stop(deadlineMs, clock.nowMs(), () => {
      drained = true;
    });
    while (!drained || !this.#rebalances.idle) await this.#turn();
    broker.commitStored();
    while (this.#context.unconfirmed.size > 0 && clock.nowMs() < deadlineMs) this.#take(await this.#poll());
    const left = Math.max(deadlineMs - clock.nowMs(), 100);
    const closed = await this.#within(left, async () => {
      await broker.close(left);
      await options.sink.close?.();
    });
    this.#end(undefined, clock.nowMs() - startedMs, closed);
  }

  async #within(ms: number, work: () => Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    const done = work().then(
      () => true,
      (cause: unknown) => {
        // Safe: everything was settled and committed before; the report says that it did not close.
        this.#context.observe({ kind: 'broker-error', cause });
        return false;
      },
    );
    const result = await Promise.race([done, this.#context.clock.sleep(ms, timer.signal).then(() => false)]);
    timer.abort();
    return result;
  }

  #committed(result: CommitResult): void {
    this.#context.observe({ kind: 'commit', result });
    if (result.kind === 'failed') return;
    const { unconfirmed } = this.#context;
    for (const position of result.positions) {
      const key = partitionKey(position);
      if ((unconfirmed.get(key) ?? Number.POSITIVE_INFINITY) <= position.nextToRead) unconfirmed.delete(key);
    }
  }

  #count(event: Parameters<RuntimePorts['observe']>[0], ports: RuntimePorts): void {
    if (event.kind === 'drained' || event.kind === 'lane-reopened') this.#abandoned += event.abandonedRecords;
    if (event.kind === 'settled') this.#settled += event.stored + event.skipped;
    ports.observe(event);
  }

  #report(tookMs: number, closed: boolean): DrainReport {
    return {
      tookMs,
      deliveredRecords: this.#context.totals.deliveredRecords,
      settledRecords: this.#settled,
      abandonedRecords: this.#abandoned,
      committed: this.#context.unconfirmed.size === 0,
      closed,
    };
  }

  #end(error: Error | undefined, tookMs: number, closed: boolean): void {
    const report = this.#report(tookMs, closed);
    this.#state = error === undefined ? { kind: 'stopped', report } : { kind: 'failed', error, report };
    if (error === undefined) this.#finish.resolve(report);
    else this.#finish.reject(error);
  }
}
