import { ALERT_PARTIALS_TOPIC, ALERT_STATE_TOPIC, decideGroupName } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  countGroupMembers,
  type KafkaSettings,
  type LogRange,
  readRanges,
  reasonsOf,
  TAILRACE,
} from '@tailrace/kafka-kit';
import { kafkaVariables, loadConfig } from '@tailrace/service';
import { encodeMessage } from '../messages/codec.ts';
import type { Silence } from '../messages/message.ts';
import type { Ports } from './ports.ts';
import { StateFold } from './state-fold.ts';

/** Under which Kafka knows these commands. No group is joined, and nothing is committed. */
const CLIENT = 'tailrace-alerts';
const ANSWER_MS = 10_000;
const IN_FLIGHT_BYTES = 1024 * 1024;

/** What the deciding stage works on; tests have their own. */
export interface AlertTopics {
  /** The group that decides. */
  readonly group: string;
  readonly partials: string;
  readonly state: string;
}

export const ALERT_TOPICS: AlertTopics = {
  group: decideGroupName('alert-processor'),
  partials: ALERT_PARTIALS_TOPIC,
  state: ALERT_STATE_TOPIC,
};

/** What the commands know of alerts, and how a silence gets to the processors. */
export class AlertsKafka {
  readonly #admin: ClusterAdmin;
  readonly #settings: KafkaSettings;
  readonly #topics: AlertTopics;

  constructor(admin: ClusterAdmin, settings: KafkaSettings, topics: AlertTopics) {
    this.#admin = admin;
    this.#settings = settings;
    this.#topics = topics;
  }

  /** What stands in alert-state now. */
  async states(): Promise<StateFold> {
    const fold = new StateFold();
    for await (const records of readRanges(this.#settings, await this.stateRanges())) for (const record of records) fold.take(record);
    return fold;
  }

  /** Of each partition of alert-state what it holds now. */
  async stateRanges(): Promise<readonly LogRange[]> {
    const ranges = await this.#admin.groupLag(this.#topics.group, [this.#topics.state]);
    if (ranges.length === 0) throw missing(this.#topics.state);
    return ranges.map(({ topic, partition, logStart, logEnd }) => ({ topic, partition, from: logStart, to: logEnd }));
  }

  /** Reads on: what was written behind these ranges. Answers where it has read to. */
  async more(fold: StateFold, since: readonly LogRange[]): Promise<readonly LogRange[]> {
    const now = await this.stateRanges();
    const behind = now.map((range) => ({ ...range, from: Math.max(range.from, since[range.partition]?.to ?? 0) }));
    for await (const records of readRanges(this.#settings, behind)) for (const record of records) fold.take(record);
    return now;
  }

  /** How many processes decide about alerts now. */
  async deciders(): Promise<number> {
    return await countGroupMembers(this.#settings, this.#topics.group, ANSWER_MS);
  }

  /** Whether anybody has ever decided here: who begins for the first time reads only what rules reach back to. */
  async everDecided(): Promise<boolean> {
    return (await this.#admin.groupLag(this.#topics.group, [this.#topics.partials])).some(({ committed }) => committed !== null);
  }

  /** Tells a silence to every partition. Resolves when all have acknowledged it. */
  async tell(silence: Silence): Promise<void> {
    const [topic] = await this.#admin.readTopics([this.#topics.partials]);
    if (topic === undefined) throw missing(this.#topics.partials);
    const publisher = await connectPublisher(this.#settings, { producers: 1, maxInFlightBytes: IN_FLIGHT_BYTES, log: () => {} });
    try {
      const value = encodeMessage({ kind: 'silence', silence });
      const records = Array.from({ length: topic.partitions }, (_, partition) => ({ topic: topic.name, partition, key: null, value }));
      const fates = await publisher.publish(records, { deadlineMs: ANSWER_MS });
      for (const [partition, fate] of fates.entries())
        if (fate.kind !== 'acknowledged')
          throw new Error(
            `The silence could not be written to partition ${partition} of ${topic.name} (${fate.reason}): it may hold in some partitions, so give the command again.`,
          );
    } finally {
      await publisher.close(ANSWER_MS);
    }
  }
}

function missing(topic: string): Error {
  return new Error(`There is no topic ${topic}: make it with ${TAILRACE} topics apply.`);
}

/** Works on the cluster of the environment. Rejects with one sentence where it can not be reached. @throws ConfigError */
export async function withAlerts<T>(ports: Ports, topics: AlertTopics, work: (kafka: AlertsKafka) => Promise<T>): Promise<T> {
  const { kafka } = loadConfig({ kafka: kafkaVariables }, ports.environment);
  const settings = { ...kafka, clientId: CLIENT };
  const admin = await connectAdmin(settings);
  try {
    await admin.brokerCount().catch((cause: unknown) => {
      throw new Error(
        `Kafka at ${settings.bootstrapServers} could not be asked (${reasonsOf(cause)}): see whether it runs, and try again.`,
        { cause },
      );
    });
    return await work(new AlertsKafka(admin, settings, topics));
  } finally {
    await admin.close();
  }
}
