import { replayGroupName, sideTopicName } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectPublisher,
  countGroupMembers,
  decodeSideRecord,
  type KafkaSettings,
  type OutgoingRecord,
  type Published,
  type Publisher,
  type RawRecord,
  readRanges,
  TAILRACE,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import { lifeKey, sideKey } from '@tailrace/lake';
import { ConfigError } from '@tailrace/service';

const LOOK_UP_MS = 10_000;
const MIB = 1024 * 1024;
const IN_FLIGHT_BYTES = 32 * MIB;
/** Above what any topic takes: the broker decides, on compressed bytes, what is too large for it. */
const MAX_MESSAGE_BYTES = 16 * MIB;
/** Kafka may be away for long, and the order must hold: what is on its way is sent for as long as it takes. */
const DAY_MS = 86_400_000;
const CLOSE_MS = 5000;

/** What a sender asks of the side channels of one consumer. Keys are `sideKey`s. */
export interface ReplayChannel {
  readonly consumer: string;
  /** The group that reads them. */
  readonly group: string;
  topicOf(topic: string): string;
  /** The life of a side topic, as it was when the channel was opened. */
  incarnationOf(sideTopic: string): string;
  /** Resolves when all are acknowledged. A throw: one is not, and what came of it may not be known. */
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  /** Where each partition of the side topics ends, by a look-up begun after the call. */
  ends(): Promise<ReadonlyMap<string, number>>;
  read(sideTopic: string, partition: number, from: number, to: number): AsyncIterable<readonly RawRecord[]>;
}

/** A record was not acknowledged, for another reason than that Kafka is away. What stands in the side channel tells what to go on with. */
export class NotTaken extends Error {
  constructor(record: OutgoingRecord, reason: string) {
    super(notTakenSentence(record, reason));
    this.name = 'NotTaken';
  }
}

/** A record of a side channel is named by where it stood at first: there somebody can look at it. */
function notTakenSentence(record: OutgoingRecord, reason: string): string {
  const { topic, partition } = record;
  const origin = decodeSideRecord({ ...record, headers: record.headers ?? [] })?.origin;
  if (origin === undefined) return `A record for ${topic}, partition ${partition}, was not taken: ${reason}.`;
  const named = `Offset ${origin.offset} of ${origin.topic}, partition ${origin.partition}, was not taken by the side channel ${topic} (${reason})`;
  if (!TOO_LARGE.test(reason)) return `${named}.`;
  return `${named}: raise max.message.bytes of ${topic} with Kafka's kafka-configs.sh, run the plan again, which goes on there, and put the setting back with ${TAILRACE} topics apply.`;
}

const TOO_LARGE = /too large/i;

/** The record for which the others did not get through, if there is one: that it is refused is its own fault. */
export function firstNotTaken(records: readonly OutgoingRecord[], fates: readonly Published[]): NotTaken | undefined {
  const failed = records.flatMap((record, i) => {
    const fate = fates[i];
    return fate === undefined || fate.kind === 'acknowledged' ? [] : [{ record, fate }];
  });
  const worst = failed.find(({ fate }) => fate.kind === 'refused') ?? failed[0];
  return worst && new NotTaken(worst.record, worst.fate.reason);
}

/** The side channels of one consumer on a real cluster. */
export class KafkaReplayChannel implements ReplayChannel {
  readonly consumer: string;
  readonly group: string;
  readonly #settings: KafkaSettings;
  readonly #admin: ClusterAdmin;
  readonly #publisher: Publisher;
  readonly #incarnations: ReadonlyMap<string, string>;

  private constructor(
    consumer: string,
    settings: KafkaSettings,
    admin: ClusterAdmin,
    publisher: Publisher,
    incarnations: ReadonlyMap<string, string>,
  ) {
    this.consumer = consumer;
    this.group = replayGroupName(consumer);
    this.#settings = settings;
    this.#admin = admin;
    this.#publisher = publisher;
    this.#incarnations = incarnations;
  }

  /** Looks the side topics up. Throws ConfigError where one is missing, or has not the partitions of its origin. */
  static async open(
    consumer: string,
    settings: KafkaSettings,
    admin: ClusterAdmin,
    origins: readonly { readonly topic: string; readonly partition: number }[],
  ): Promise<KafkaReplayChannel> {
    const topics = [...new Set(origins.map(({ topic }) => topic))];
    const sides = topics.map((topic) => sideTopicName(topic, consumer, 'replay'));
    const found = await admin.readTopics([...topics, ...sides]);
    const incarnations = new Map<string, string>();
    const identity = new TopicIdentity(settings);
    try {
      for (const [i, side] of sides.entries()) {
        const partitions = found.find(({ name }) => name === side)?.partitions;
        const incarnation = partitions === undefined ? undefined : await identity.lookUp(side, LOOK_UP_MS);
        if (partitions === undefined || incarnation === undefined)
          throw new ConfigError([`The side channel ${side} is missing: run ${TAILRACE} topics apply.`]);
        const topic = topics[i] ?? '';
        const needed = Math.max(...origins.filter((each) => each.topic === topic).map(({ partition }) => partition + 1));
        const present = found.find(({ name }) => name === topic)?.partitions ?? needed;
        if (present !== partitions || needed > partitions)
          throw new ConfigError([
            `The side channel ${side} has ${partitions} partitions, and ${topic} has ${Math.max(present, needed)}: a record goes into the partition with its origin's number, so the two must have as many.`,
          ]);
        incarnations.set(side, incarnation);
      }
    } finally {
      identity.close();
    }
    const publisher = await connectPublisher(settings, {
      producers: 1,
      maxInFlightBytes: IN_FLIGHT_BYTES,
      log: () => {},
      producer: { maxMessageBytes: MAX_MESSAGE_BYTES, messageTimeoutMs: DAY_MS },
    });
    return new KafkaReplayChannel(consumer, settings, admin, publisher, incarnations);
  }

  topicOf(topic: string): string {
    return sideTopicName(topic, this.consumer, 'replay');
  }

  incarnationOf(sideTopic: string): string {
    return this.#incarnations.get(sideTopic) ?? '';
  }

  async publish(records: readonly OutgoingRecord[]): Promise<void> {
    const fates = await this.#publisher.publish(records, { deadlineMs: DAY_MS });
    const refused = firstNotTaken(records, fates);
    if (refused !== undefined) throw refused;
  }

  async ends(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.#lags()).map(({ topic, partition, logEnd }) => [sideKey(topic, partition), logEnd]));
  }

  /** How many records the consumer has yet to read. `positions`: where it says that it stands, by `lifeKey`, which counts as its commit does. */
  async unread(positions: ReadonlyMap<string, { readonly nextToRead: number }>): Promise<number> {
    return (await this.#lags()).reduce((sum, { topic, partition, committed, logStart, logEnd }) => {
      const own = positions.get(lifeKey(topic, this.incarnationOf(topic), partition))?.nextToRead ?? 0;
      return sum + Math.max(0, logEnd - Math.max(committed ?? 0, own, logStart));
    }, 0);
  }

  async isRead(): Promise<boolean> {
    return (await countGroupMembers(this.#settings, this.group, LOOK_UP_MS)) > 0;
  }

  async *read(topic: string, partition: number, from: number, to: number): AsyncGenerator<readonly RawRecord[]> {
    // Below the log's start a client finds nothing to begin at, and waits.
    const logStart = (await this.#lags()).find((each) => each.topic === topic && each.partition === partition)?.logStart ?? 0;
    yield* readRanges(this.#settings, [{ topic, partition, from: Math.max(from, logStart), to }]);
  }

  async close(): Promise<void> {
    await this.#publisher.close(CLOSE_MS);
  }

  async #lags() {
    return await this.#admin.groupLag(this.group, [...this.#incarnations.keys()]);
  }
}
