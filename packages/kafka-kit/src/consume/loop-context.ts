import type { BrokerConsumer, CommitResult, Position } from '../broker/broker-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import { partitionKey, type RawRecord, type TopicPartition } from '../records.ts';
import { backoffMs } from '../recover/backoff.ts';
import type { RecordHistory } from '../recover/record-history.ts';
import type { Clock } from '../time/clock.ts';
import { StandsStill } from './contract.ts';
import type { DeadLetterPort } from './dead-letters.ts';
import { KeptPositions } from './kept-positions.ts';
import { LaneState, type LaneTotals, type TopicLife } from './lane.ts';
import type { HaltReason, Outage } from './lane-phase.ts';
import type { ConsumerOptions, RuntimePorts } from './options.ts';
import { StoreGate } from './store-gate.ts';

/** What the parts of one runtime share. Lanes are changed only inside a turn of the loop: callbacks come in through `enter`. */
export class LoopContext {
  readonly options: ConsumerOptions;
  readonly broker: BrokerConsumer;
  readonly clock: Clock;
  readonly observe: (event: RuntimeEvent) => void;
  readonly deadLetters: DeadLetterPort | undefined;
  readonly positions: KeptPositions | undefined;
  readonly gate: StoreGate | undefined;
  readonly history: RecordHistory | undefined;
  readonly lanes = new Map<string, LaneState>();
  readonly totals: LaneTotals = { usedBytes: 0, deliveredRecords: 0 };
  /** What was stored and not yet confirmed by the broker, by partition. */
  readonly unconfirmed = new Map<string, number>();
  /** The life of its topic that a partition was read in last, by this process. */
  readonly lives = new Map<string, TopicLife>();
  /** Topics that the cluster does not have, as of the last look for one of which nothing is owned. */
  readonly missingTopics = new Set<string>();
  /** When the cluster last told an id of a topic, or that there is none. */
  topicsAnsweredMs: number | undefined;
  /** When the first question about the topics was asked that was not answered, nor any behind it; undefined while answers come. */
  silentSinceMs: number | undefined;
  #entered: (() => void)[] = [];
  #wake: AbortController | undefined;
  #polling = false;

  constructor(options: ConsumerOptions, ports: RuntimePorts) {
    this.options = options;
    this.broker = ports.broker;
    this.clock = ports.clock;
    this.observe = ports.observe;
    this.deadLetters = ports.deadLetters;
    this.history = ports.history;
    this.positions = ports.positions && new KeptPositions(this, ports.positions);
    this.gate = ports.keeper && new StoreGate(this, ports.keeper);
  }

  /** Runs `change` in the next turn of the loop, and ends a wait for it. */
  enter(change: () => void): void {
    this.#entered.push(change);
    this.#wake?.abort();
    this.#wake = undefined;
  }

  /** Like `enter`, for a change that calls no broker: made at once while the loop waits for a poll, unless another one waits for the turn. */
  enterBesidePoll(change: () => void): void {
    if (this.#polling && this.#entered.length === 0) change();
    else this.enter(change);
  }

  /** Polls the broker. */
  async poll(maxRecords: number, timeoutMs: number): Promise<readonly RawRecord[]> {
    this.#polling = true;
    try {
      return await this.broker.poll(maxRecords, timeoutMs);
    } finally {
      this.#polling = false;
    }
  }

  runEntered(): void {
    const changes = this.#entered;
    this.#entered = [];
    for (const change of changes) change();
  }

  /** Waits up to `ms`, or until something enters. */
  async waitForWork(ms: number): Promise<void> {
    if (this.#entered.length > 0) return;
    this.#wake = new AbortController();
    await this.clock.sleep(ms, this.#wake.signal);
  }

  /** Stores what these lanes have settled, for the client's timer to commit. */
  store(lanes: Iterable<LaneState>): void {
    const positions: Position[] = [];
    this.gate?.turn(this.clock.nowMs());
    for (const lane of lanes) {
      const nextToRead = lane.takeStorable(this.gate?.limit(lane));
      if (nextToRead === undefined) continue;
      positions.push({ topic: lane.topic, partition: lane.partition, nextToRead });
      this.unconfirmed.set(partitionKey(lane), nextToRead);
    }
    if (positions.length > 0) this.broker.store(positions);
  }

  /** Takes the broker's answer to a commit. A refused one of a partition that went to another member is not waited for any more. */
  committed(result: CommitResult, running: boolean): void {
    this.observe({ kind: 'commit', result });
    for (const position of result.positions) {
      const key = partitionKey(position);
      if (result.kind === 'committed') this.#keep(position);
      const confirmed = result.kind === 'committed' && (this.unconfirmed.get(key) ?? Number.POSITIVE_INFINITY) <= position.nextToRead;
      const given = result.kind === 'failed' && running && !this.lanes.has(key);
      if (confirmed || given) this.unconfirmed.delete(key);
    }
  }

  /** A late answer may be about the topic's earlier life: what was stored last in this one is never exceeded. */
  #keep({ topic, partition, nextToRead }: Position): void {
    const key = partitionKey({ topic, partition });
    const stored = this.unconfirmed.get(key);
    const incarnation = this.lives.get(key)?.facts.incarnation;
    if (stored === undefined || incarnation === undefined) return;
    this.positions?.committed({ topic, partition, incarnation, nextToRead: Math.min(stored, nextToRead) });
  }

  /** Has the client read on at an offset. */
  read(lane: LaneState, at: number): void {
    this.broker.unassign([lane]);
    this.broker.assign([{ topic: lane.topic, partition: lane.partition, nextToRead: at }]);
    // The pause outlives the assignment that it was made for.
    this.broker.resume([lane]);
    lane.paused = false;
  }

  lane(tp: TopicPartition): LaneState | undefined {
    return this.lanes.get(partitionKey(tp));
  }

  addLane(tp: TopicPartition, before?: LaneState): LaneState {
    const lane = new LaneState(tp, this.options.batch, this.totals, this.options.sideChannels?.includes(tp.topic) === true, before);
    this.lanes.set(partitionKey(tp), lane);
    return lane;
  }

  removeLane(lane: LaneState): void {
    this.lanes.delete(partitionKey(lane));
  }

  /** Whether this lane is still the one that owns its partition: late answers for another one settle nothing (I5). */
  owns(lane: LaneState): boolean {
    return this.lanes.get(partitionKey(lane)) === lane;
  }

  /** Notes that something needs another try, or halts where none can help. `attemptsBefore`: those of a lane that this one replaces. */
  outage(lane: LaneState, why: Outage['why'], cause: unknown, attemptsBefore = 0): void {
    if (cause instanceof StandsStill) {
      this.halt(lane, { kind: 'sink', sentence: cause.message });
      return;
    }
    const nowMs = this.clock.nowMs();
    const slot = why === 'open' || why === 'history' ? 'lookUp' : 'outage';
    const attempts = (lane[slot]?.attempts ?? attemptsBefore) + 1;
    lane[slot] = {
      why,
      reason: cause instanceof Error ? cause.message : String(cause),
      sinceMs: lane[slot]?.sinceMs ?? nowMs,
      attempts,
      retryAtMs: nowMs + backoffMs(this.options.backoff, attempts - 1),
    };
    this.observe({ kind: 'outage', lane: lane.tp, attempts, cause });
  }

  recovered(lane: LaneState, slot: 'outage' | 'lookUp'): void {
    const outage = lane[slot];
    if (outage === undefined) return;
    lane[slot] = undefined;
    this.observe({ kind: 'recovered', lane: lane.tp, afterMs: this.clock.nowMs() - outage.sinceMs });
  }

  /** Reads no further. What was delivered before is handed over all the same. */
  halt(lane: LaneState, why: HaltReason): void {
    lane.phase = { kind: 'halted', why };
    lane.lookUp = undefined;
    this.observe({ kind: 'lane-halted', lane: lane.tp, why });
  }
}
