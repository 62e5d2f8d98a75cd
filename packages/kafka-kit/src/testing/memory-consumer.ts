import {
  type BrokerConsumer,
  BrokerError,
  type BrokerHandlers,
  type CommitResult,
  type PartitionFacts,
  type Position,
  type RebalanceEvent,
} from '../broker/broker-consumer.ts';
import { partitionKey, type RawRecord, type TopicPartition } from '../records.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import type { MemoryGroup, MemoryMember } from './memory-group.ts';

interface Assigned {
  readonly tp: TopicPartition;
  position: number;
  paused: boolean;
  stored: number | undefined;
  committed: number | undefined;
  seenEnd: number | undefined;
}

const COMMIT_INTERVAL_MS = 1000;
/** A poll takes time, also when records are there: else a loop of them would never let time pass. */
const FETCH_MS = 1;
/** librdkafka's code for a call that the state does not allow. */
const STATE = -172;

/** A group member on the memory cluster, as `BrokerConsumer` describes it. Callbacks are served by `poll`, as the native client does. */
export class MemoryConsumer implements BrokerConsumer, MemoryMember {
  readonly id: string;
  readonly #cluster: MemoryCluster;
  readonly #group: MemoryGroup;
  readonly #assigned = new Map<string, Assigned>();
  readonly #events: RebalanceEvent[] = [];
  readonly #results: CommitResult[] = [];
  readonly #faults: BrokerError[] = [];
  readonly #deaf = new Map<string, number>();
  readonly #closed = new AbortController();
  #wake = new AbortController();
  #handlers: BrokerHandlers | undefined;
  #told: RebalanceEvent | undefined;
  #polling = false;
  #killed = false;
  #turn = 0;
  topics: readonly string[] = [];
  /** While true, commits are sent and never answered. */
  commitsUnanswered = false;
  /** While true, `close` does not return. */
  closeHangs = false;

  constructor(cluster: MemoryCluster, group: MemoryGroup, id: string) {
    this.#cluster = cluster;
    this.#group = group;
    this.id = id;
  }

  async connect(topics: readonly string[], handlers: BrokerHandlers): Promise<void> {
    await this.#cluster.request();
    this.#handlers = handlers;
    this.topics = topics;
    if (topics.length > 0) this.#group.join(this);
    void this.#commitByTimer();
  }

  async poll(maxRecords: number, timeoutMs: number): Promise<readonly RawRecord[]> {
    this.#between('poll');
    this.#polling = true;
    const deadlineMs = this.#cluster.clock.nowMs() + timeoutMs;
    try {
      for (;;) {
        await this.#alive();
        this.#serve();
        const fault = this.#faults.shift();
        if (fault !== undefined) throw fault;
        const records = this.#cluster.down ? [] : this.#fetch(maxRecords);
        const leftMs = deadlineMs - this.#cluster.clock.nowMs();
        this.#wake = new AbortController();
        if (records.length > 0 || leftMs <= 0) {
          await this.#cluster.clock.sleep(records.length > 0 ? FETCH_MS : 0);
          await this.#alive();
          return records;
        }
        await this.#cluster.clock.sleep(leftMs, this.#wake.signal);
      }
    } finally {
      this.#polling = false;
    }
  }

  assign(positions: readonly Position[]): void {
    this.#between('assign');
    for (const { topic, partition, nextToRead } of positions) {
      const tp = { topic, partition };
      const key = partitionKey(tp);
      if (this.#assigned.has(key)) this.#violation(`assigns ${key}, which is assigned`);
      this.#deaf.set(key, (this.#deaf.get(key) ?? 0) - 1);
      if (!Number.isSafeInteger(nextToRead)) this.#violation(`assigns ${key} at ${nextToRead}`);
      this.#assigned.set(key, { tp, position: nextToRead, paused: false, stored: undefined, committed: undefined, seenEnd: undefined });
    }
    this.#answer(['assigned'], positions);
  }

  unassign(partitions: readonly TopicPartition[]): void {
    this.#between('unassign');
    const removed = partitions.flatMap((tp) => this.#assigned.get(partitionKey(tp)) ?? []);
    if (removed.length < partitions.length) this.#violation('unassigns what is not assigned');
    for (const { tp } of removed) this.#assigned.delete(partitionKey(tp));
    // What was lost may be another member's by now: the client does not commit it.
    if (this.#told?.kind !== 'lost' && !this.#group.isFenced(this.id)) this.#commit(removed);
    this.#answer(['revoked', 'lost'], partitions);
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#between('pause');
    for (const each of this.#each(partitions)) each.paused = true;
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#between('resume');
    for (const each of this.#each(partitions)) each.paused = false;
  }

  store(positions: readonly Position[]): void {
    this.#between('store');
    for (const { topic, partition, nextToRead } of positions) {
      const assigned = this.#assigned.get(partitionKey({ topic, partition }));
      if (assigned === undefined) throw new BrokerError(`stores ${topic}/${partition}, which is not assigned`, STATE, false);
      assigned.stored = nextToRead;
    }
  }

  commitStored(): void {
    this.#between('commitStored');
    this.#commit([...this.#assigned.values()]);
  }

  async facts(tp: TopicPartition): Promise<PartitionFacts> {
    await this.#alive();
    await this.#cluster.request();
    const { start, stableEnd } = this.#cluster.log(tp);
    const { incarnation } = this.#cluster.topic(tp.topic);
    return { incarnation, committed: this.#group.committed(tp), logStart: start, logEnd: stableEnd };
  }

  async incarnation(topic: string): Promise<string | undefined> {
    await this.#alive();
    await this.#cluster.request();
    return this.#cluster.findTopic(topic)?.incarnation;
  }

  cachedLogEnd(tp: TopicPartition): number | undefined {
    return this.#assigned.get(partitionKey(tp))?.seenEnd;
  }

  fetchPosition(tp: TopicPartition): number | undefined {
    return this.#assigned.get(partitionKey(tp))?.position;
  }

  async close(timeoutMs: number): Promise<void> {
    this.#between('close');
    if (this.#told !== undefined) this.#violation(`closes with a ${this.#told.kind} event unanswered: its disconnect would hang`);
    if (this.closeHangs) {
      await this.#cluster.clock.sleep(timeoutMs);
      throw new Error(`the client did not leave within ${timeoutMs} ms`);
    }
    if (!this.#group.isFenced(this.id)) this.#commit([...this.#assigned.values()]);
    this.#closed.abort();
    this.#assigned.clear();
    this.#group.leave(this.id);
  }

  /** For the group: an event for the next poll. */
  deliver(event: RebalanceEvent): void {
    this.#events.push(event);
    this.wake();
  }

  wake(): void {
    this.#wake.abort();
  }

  /** The process is gone without a word: nothing it asked for is ever answered. Its partitions are free when the session ends. */
  kill(): void {
    this.#killed = true;
    this.#closed.abort();
    this.wake();
  }

  /** The coordinator gives up on the member: what it owns is lost, or free when it was killed. */
  endSession(): void {
    if (this.#killed) this.#group.leave(this.id);
    else this.#group.lose(this.id);
  }

  /** The next poll rejects. */
  failPoll(error: BrokerError): void {
    this.#faults.push(error);
    this.wake();
  }

  /** The client goes to another offset without being told to: a fault of its own, seen with the native one. */
  stray(tp: TopicPartition, position: number): void {
    for (const each of this.#each([tp])) each.position = position;
    this.wake();
  }

  /** The client stops to fetch a partition without a word, until it has been assigned anew so often. */
  goDeaf(tp: TopicPartition, assigns = 1): void {
    this.#deaf.set(partitionKey(tp), assigns);
  }

  #fetch(maxRecords: number): readonly RawRecord[] {
    const assigned = [...this.#assigned.values()];
    this.#turn += 1;
    const records: RawRecord[] = [];
    for (let i = 0; i < assigned.length && records.length < maxRecords; i += 1) {
      const from = assigned[(i + this.#turn) % assigned.length];
      if (from === undefined || from.paused || (this.#deaf.get(partitionKey(from.tp)) ?? 0) > 0) continue;
      const log = this.#cluster.findTopic(from.tp.topic)?.logs[from.tp.partition];
      if (log === undefined) continue;
      // auto.offset.reset=earliest: out of range goes on at the log's start, in silence.
      if (from.position < log.start || from.position > log.end) from.position = log.start;
      const read = log.read(from.position, maxRecords - records.length);
      from.position = read.next;
      from.seenEnd = log.end;
      records.push(...read.records);
    }
    return records;
  }

  /** Sends what is stored and was not sent before. A lower position than the last one is never sent. */
  #commit(assigned: readonly Assigned[]): void {
    const due = assigned.filter(({ stored, committed }) => stored !== undefined && stored > (committed ?? -1));
    const positions = due.map(({ tp, stored }) => ({ ...tp, nextToRead: stored ?? 0 }));
    if (positions.length === 0 || this.#killed || this.commitsUnanswered) return;
    if (this.#cluster.down || this.#group.isFenced(this.id)) {
      this.#results.push({ kind: 'failed', positions, reason: this.#cluster.down ? 'no answer' : 'unknown member' });
      return;
    }
    this.#group.commit(this.id, positions);
    for (const each of due) each.committed = each.stored;
    this.#results.push({ kind: 'committed', positions });
  }

  async #commitByTimer(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await this.#cluster.clock.sleep(COMMIT_INTERVAL_MS, signal);
      if (!signal.aborted) this.#commit([...this.#assigned.values()]);
    }
  }

  #serve(): void {
    for (const result of this.#results.splice(0)) this.#handlers?.commit(result);
    const event = this.#told === undefined ? this.#events.shift() : undefined;
    if (event === undefined) return;
    this.#told = event;
    this.#handlers?.rebalance(event);
  }

  #answer(kinds: readonly RebalanceEvent['kind'][], partitions: readonly TopicPartition[]): void {
    const told = this.#told;
    if (told === undefined) return;
    const keys = (tps: readonly TopicPartition[]): string => tps.map(partitionKey).sort().join(' ');
    if (!kinds.includes(told.kind) || keys(told.partitions) !== keys(partitions)) {
      this.#violation(`answers a ${told.kind} event for ${keys(told.partitions)} with another call for ${keys(partitions)}`);
    }
    this.#told = undefined;
    this.#group.answered(this.id);
  }

  #each(partitions: readonly TopicPartition[]): Assigned[] {
    return partitions.flatMap((tp) => this.#assigned.get(partitionKey(tp)) ?? []);
  }

  #between(call: string): void {
    if (this.#polling) this.#violation(`${call} during a poll`);
  }

  #violation(what: string): void {
    this.#cluster.violations.push(`${this.id} ${what}`);
  }

  #alive(): Promise<void> {
    return this.#killed ? new Promise(() => {}) : Promise.resolve();
  }
}
