import type { BrokerConsumer, CommitResult, RebalanceEvent } from '../broker/broker-consumer.ts';
import type { RawRecord, TopicPartition } from '../records.ts';
import type { NewRecord } from './memory-log.ts';

/** What the suite needs of a cluster beside its consumers. */
export interface BrokerHarness {
  /** Makes a topic with a fresh name. */
  topic(partitions: number): Promise<string>;
  /** Deletes the topic and makes it anew. */
  remake(topic: string, partitions: number): Promise<void>;
  write(tp: TopicPartition, records: readonly NewRecord[]): Promise<void>;
  deleteBefore(tp: TopicPartition, offset: number): Promise<void>;
  /** The group's commit, as somebody else sees it. */
  committed(group: string, tp: TopicPartition): Promise<number | null>;
  member(group: string): BrokerConsumer;
  /** Lets time go on until the work is done. */
  run<T>(work: Promise<T>): Promise<T>;
  group(): string;
}

/** One member and all that its client told. Answers assigned events at once, at `startAt`, unless told to wait. */
export class Member {
  readonly consumer: BrokerConsumer;
  readonly records: RawRecord[] = [];
  readonly commits: CommitResult[] = [];
  readonly events: RebalanceEvent[] = [];
  readonly unanswered: RebalanceEvent[] = [];
  /** Where assigned partitions begin; undefined leaves every event to the test. */
  startAt: number | undefined = 0;
  readonly #harness: BrokerHarness;

  constructor(harness: BrokerHarness, group: string) {
    this.#harness = harness;
    this.consumer = harness.member(group);
  }

  async join(topic: string): Promise<void> {
    const rebalance = (event: RebalanceEvent): void => {
      this.events.push(event);
      this.unanswered.push(event);
    };
    const commit = (result: CommitResult): void => {
      this.commits.push(result);
    };
    await this.#harness.run(this.consumer.connect([topic], { rebalance, commit, log: () => {} }));
  }

  async joined(topic: string): Promise<void> {
    await this.join(topic);
    await this.until(() => this.events.some(({ kind, partitions }) => kind === 'assigned' && partitions.length > 0), 'an assignment');
    this.answer();
  }

  answer(): void {
    const { startAt } = this;
    if (startAt === undefined) return;
    for (const { kind, partitions } of this.unanswered.splice(0)) {
      if (kind === 'assigned') this.consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: startAt })));
      else this.consumer.unassign(partitions);
    }
  }

  async turn(): Promise<void> {
    this.records.push(...(await this.#harness.run(this.consumer.poll(1000, 50))));
    this.answer();
  }

  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.turn();
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    for (let i = 0; i < 600; i += 1) {
      if (condition()) return;
      await this.turn();
    }
    throw new Error(`${what}: not seen in 600 polls`);
  }

  offsets(partition = 0): number[] {
    return this.records.filter((record) => record.partition === partition).map(({ offset }) => offset);
  }
}
