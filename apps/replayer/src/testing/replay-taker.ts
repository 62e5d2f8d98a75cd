import { replayGroupName, sideTopicName } from '@tailrace/events';
import {
  type Batch,
  type ConsumerRuntime,
  channelLog,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type KafkaSettings,
  type Outcome,
  type Publisher,
  SideChannel,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';

const MIB = 1024 * 1024;

/** A record as the consumer got it, with how often. */
export interface Taken {
  readonly partition: number;
  readonly offset: number;
  readonly value: string;
  readonly notes: Readonly<Record<string, string>>;
  times: number;
}

/** A consumer of a side channel as the indexer has one, with a sink that only remembers. */
export class ReplayTaker {
  readonly taken = new Map<string, Taken>();
  /** What becomes of a record, by its origin's offset. */
  outcome: (partition: number, offset: number) => Outcome = () => STORED;
  readonly #runtime: ConsumerRuntime;
  readonly #publisher: Publisher;

  private constructor(publisher: Publisher, make: (write: (batch: Batch) => Promise<readonly Outcome[]>) => ConsumerRuntime) {
    this.#publisher = publisher;
    this.#runtime = make((batch) => this.#write(batch));
  }

  static async start(settings: KafkaSettings, topic: string, positionsTopic: string): Promise<ReplayTaker> {
    const group = replayGroupName('indexer');
    const side = sideTopicName(topic, 'indexer', 'replay');
    const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: MIB, log: () => {} });
    const broker = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 });
    const taker = new ReplayTaker(publisher, (write) => {
      const channel = new SideChannel({ name: 'taker', write }, channelLog(settings, { group, topic: positionsTopic, publisher }));
      return createConsumerRuntime(
        {
          group,
          topics: [side],
          sideChannels: [side],
          sink: channel,
          start: 'earliest',
          batch: { maxRecords: 500, maxBytes: MIB, maxAgeMs: 50 },
          inFlightPerLane: 2,
          buffer: { pauseAtBytes: 8 * MIB, resumeAtBytes: 4 * MIB },
          backoff: DEFAULT_BACKOFF,
          drain: { revokeMs: 5000, stopMs: 5000 },
        },
        { broker, clock: systemClock, keeper: channel, observe: () => {} },
      );
    });
    await taker.#runtime.start();
    return taker;
  }

  /** The origin offsets that came, of one partition, in ascending order. */
  offsets(partition: number): readonly number[] {
    return [...this.taken.values()]
      .filter((each) => each.partition === partition)
      .map(({ offset }) => offset)
      .sort((a, b) => a - b);
  }

  async stop(): Promise<void> {
    await this.#runtime.stop(5000);
    await this.#publisher.close(1000);
  }

  async #write(batch: Batch): Promise<readonly Outcome[]> {
    return Array.from({ length: batch.length }, (_, i) => {
      const { partition, offset } = batch.origin(i);
      const key = `${partition}/${offset}`;
      const notes = Object.fromEntries(batch.notes(i).map(([name, value]) => [name, value?.toString() ?? '']));
      const before = this.taken.get(key);
      this.taken.set(key, { partition, offset, value: batch.value(i)?.toString() ?? '', notes, times: (before?.times ?? 0) + 1 });
      return this.outcome(partition, offset);
    });
  }
}
