import type { RawRecord, TopicPartition } from '../records.ts';
import type { Clock } from '../time/clock.ts';
import { MemoryConsumer } from './memory-consumer.ts';
import { MemoryGroup } from './memory-group.ts';
import { MemoryLog, type NewRecord } from './memory-log.ts';

interface Topic {
  readonly incarnation: string;
  readonly logs: readonly MemoryLog[];
}

/** How long an answer of this cluster takes. */
const REQUEST_MS = 2;

/**
 * Kafka in memory, for the kit's own unit tests: topics, groups and their commits, and what goes wrong with them.
 * It is held to the same conformance suite as the real one; everything else is tested on real Kafka.
 */
export class MemoryCluster {
  readonly clock: Clock;
  readonly #topics = new Map<string, Topic>();
  readonly #groups = new Map<string, MemoryGroup>();
  readonly #consumers: MemoryConsumer[] = [];
  #incarnations = 0;
  /** While true, requests fail, nothing is fetched, and no commit arrives. */
  down = false;
  /** What a client did that a real one does not survive. A test ends by looking here. */
  readonly violations: string[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  createTopic(name: string, partitions: number): void {
    if (this.#topics.has(name)) throw new Error(`topic ${name} exists`);
    this.#incarnations += 1;
    const logs = Array.from({ length: partitions }, (_, partition) => new MemoryLog(name, partition));
    this.#topics.set(name, { incarnation: `mem${String(this.#incarnations).padStart(5, '0')}`, logs });
    for (const group of this.#groups.values()) group.rebalance();
    this.wake();
  }

  /** The groups' offsets go along, at once. Members keep what they own, as with the classic protocol: the harder case. */
  deleteTopic(name: string): void {
    this.#topics.delete(name);
    for (const group of this.#groups.values()) group.forget(name);
  }

  recreateTopic(name: string): void {
    const partitions = this.topic(name).logs.length;
    this.#topics.delete(name);
    for (const group of this.#groups.values()) group.forget(name);
    this.createTopic(name, partitions);
  }

  findTopic(name: string): Topic | undefined {
    return this.#topics.get(name);
  }

  topic(name: string): Topic {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw new Error(`topic ${name} does not exist`);
    return topic;
  }

  log({ topic, partition }: TopicPartition): MemoryLog {
    const log = this.topic(topic).logs[partition];
    if (log === undefined) throw new Error(`${topic} has no partition ${partition}`);
    return log;
  }

  append(tp: TopicPartition, ...records: NewRecord[]): void {
    for (const record of records) this.log(tp).append(record, this.clock.nowMs());
    this.wake();
  }

  records(tp: TopicPartition): readonly RawRecord[] {
    return this.log(tp).all();
  }

  group(name: string): MemoryGroup {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new MemoryGroup((topic) => this.#topics.get(topic)?.logs.map(({ partition }) => ({ topic, partition })) ?? []);
      this.#groups.set(name, group);
    }
    return group;
  }

  /** A member to be: it joins when it connects. */
  consumer(group: string): MemoryConsumer {
    const consumer = new MemoryConsumer(this, this.group(group), `${group}-${this.#consumers.length}`);
    this.#consumers.push(consumer);
    return consumer;
  }

  /** Takes a request's time, then fails while the cluster is down. */
  async request(): Promise<void> {
    await this.clock.sleep(REQUEST_MS);
    if (this.down) throw new Error('the cluster does not answer');
  }

  /** Ends the waits of polls: something may be there for them. */
  wake(): void {
    for (const consumer of this.#consumers) consumer.wake();
  }
}
