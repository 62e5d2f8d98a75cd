import { readFileSync } from 'node:fs';
import type { Admin } from '@platformatic/kafka';
import { partitionKey, type TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import type { ActualTopic, TopicChange } from './topic-plan.ts';

/** Where a group stands on one partition. `committed` is null where it has no commit, and the lag then counts from the log's start. */
export interface PartitionLag extends TopicPartition {
  readonly committed: number | null;
  readonly logStart: number;
  readonly logEnd: number;
  readonly lag: number;
}

/** Where a point in time lies in a partition. */
export interface OffsetAt extends TopicPartition {
  readonly offset: number | undefined;
}

/** What Kafka's own tools do, and the native client can not: topic settings and groups’ offsets. */
export interface ClusterAdmin {
  /** The named topics as they are; those that do not exist are left out. */
  readTopics(names: readonly string[]): Promise<ActualTopic[]>;
  /** How many brokers answer for the cluster now. */
  brokerCount(): Promise<number>;
  /** How many partitions have fewer copies in sync than copies: until it is 0 again no other broker may go. */
  underReplicated(topics: readonly string[]): Promise<number>;
  /** Makes topics and sets settings; `refused` and `unreadable` are passed over. */
  apply(changes: readonly TopicChange[]): Promise<void>;
  groupLag(group: string, topics: readonly string[]): Promise<PartitionLag[]>;
  /** Of each partition the first offset whose broker time is at or behind `timeMs`; undefined where there is none yet. */
  offsetsAt(topics: readonly string[], timeMs: number): Promise<OffsetAt[]>;
  /** As `offsetsAt`, of single partitions, each at a time of its own: one request a broker. */
  offsetsAtTimes(questions: readonly (TopicPartition & { readonly timeMs: number })[]): Promise<OffsetAt[]>;
  /** By `partitionKey`, by a look-up begun after the call. One request a broker, cheap enough for several a second: leaders are looked up every few seconds. */
  logEnds(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, number>>;
  deleteTopics(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;
const EARLIEST = -2n;
const LATEST = -1n;
const AUTHORIZATION_ERRORS = new Set([29, 31]);

/** Loads the second client only when it is asked for: it costs 100 ms and services without admin work never need it. */
export async function connectAdmin(settings: KafkaSettings): Promise<ClusterAdmin> {
  const kafka = await import('@platformatic/kafka');
  return new SecondClientAdmin(new kafka.Admin(adminOptions(settings)));
}

/** `KafkaSettings` in the second client's names. */
export function adminOptions(settings: KafkaSettings): ConstructorParameters<typeof Admin>[0] {
  const { securityProtocol, saslMechanism, saslUsername, saslPassword, sslCaLocation } = settings;
  const secure = securityProtocol === 'ssl' || securityProtocol === 'sasl_ssl';
  const sasl = securityProtocol.startsWith('sasl_') && saslMechanism !== undefined;
  return {
    clientId: settings.clientId,
    bootstrapBrokers: settings.bootstrapServers.split(',').map((server) => server.trim()),
    timeout: REQUEST_TIMEOUT_MS,
    connectTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retries: 2,
    autocreateTopics: false,
    ...(secure ? { tls: sslCaLocation === undefined ? {} : { ca: readFileSync(sslCaLocation) } } : {}),
    ...(sasl ? { sasl: { mechanism: saslMechanism, username: saslUsername ?? '', password: saslPassword ?? '' } } : {}),
  };
}

class SecondClientAdmin implements ClusterAdmin {
  readonly #admin: Admin;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  async readTopics(names: readonly string[]): Promise<ActualTopic[]> {
    const existing = await this.#existing(names);
    if (existing.length === 0) return [];
    const { topics } = await this.#admin.metadata({ topics: existing, forceUpdate: true });
    const configs = await this.#configs(existing);
    return [...topics].map(([name, topic]) => ({
      name,
      partitions: topic.partitions.length,
      replicationFactor: topic.partitions[0]?.replicas.length ?? 0,
      configs: configs?.get(name),
    }));
  }

  async brokerCount(): Promise<number> {
    return (await this.#admin.metadata({ topics: [], forceUpdate: true })).brokers.size;
  }

  async underReplicated(topics: readonly string[]): Promise<number> {
    const { topics: found } = await this.#admin.metadata({ topics: [...topics], forceUpdate: true });
    return [...found.values()].flatMap(({ partitions }) => partitions).filter(({ isr, replicas }) => isr.length < replicas.length).length;
  }

  async apply(changes: readonly TopicChange[]): Promise<void> {
    for (const change of changes) {
      if (change.kind !== 'create') continue;
      const { name, partitions, replicationFactor, configs } = change.spec;
      const list = Object.entries(configs).map(([config, value]) => ({ name: config, value }));
      await this.#admin.createTopics({ topics: [name], partitions, replicas: replicationFactor, configs: list });
    }
    for (const change of changes) {
      if (change.kind !== 'set-config') continue;
      const configs = [{ name: change.name, configOperation: 0 as const, value: change.to }];
      await this.#admin.incrementalAlterConfigs({ resources: [{ resourceType: 2, resourceName: change.topic, configs }] });
    }
  }

  async groupLag(group: string, topics: readonly string[]): Promise<PartitionLag[]> {
    const existing = await this.#existing(topics);
    if (existing.length === 0) return [];
    const [starts, ends, commits] = await Promise.all([
      this.#offsets(existing, EARLIEST),
      this.#offsets(existing, LATEST),
      this.#commits(group, existing),
    ]);
    const lags = ends.flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex: partition, offset }) => {
        const logStart = Number(
          starts.find((topic) => topic.name === name)?.partitions.find((p) => p.partitionIndex === partition)?.offset ?? 0n,
        );
        const committed = commits.get(`${name}/${partition}`) ?? null;
        const logEnd = Number(offset);
        return { topic: name, partition, committed, logStart, logEnd, lag: Math.max(0, logEnd - (committed ?? logStart)) };
      }),
    );
    // The broker answers in an order of its own.
    return lags.sort((a, b) => existing.indexOf(a.topic) - existing.indexOf(b.topic) || a.partition - b.partition);
  }

  async offsetsAt(topics: readonly string[], timeMs: number): Promise<OffsetAt[]> {
    const existing = await this.#existing(topics);
    if (existing.length === 0) return [];
    return (await this.#offsets(existing, BigInt(timeMs))).flatMap(({ name, partitions }) =>
      partitions.map(({ partitionIndex: partition, offset }) => ({
        topic: name,
        partition,
        offset: offset < 0n ? undefined : Number(offset),
      })),
    );
  }

  async offsetsAtTimes(questions: readonly (TopicPartition & { readonly timeMs: number })[]): Promise<OffsetAt[]> {
    const found = await this.#listed(questions.map(({ topic, partition, timeMs }) => ({ topic, partition, timestamp: BigInt(timeMs) })));
    return questions.map(({ topic, partition }) => ({ topic, partition, offset: found.get(partitionKey({ topic, partition })) }));
  }

  logEnds(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, number>> {
    return this.#listed(partitions.map(({ topic, partition }) => ({ topic, partition, timestamp: LATEST })));
  }

  async deleteTopics(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#admin.deleteTopics({ topics: [...names] });
  }

  async close(): Promise<void> {
    await this.#admin.close();
  }

  /** Of each partition the offset that stands for a time, or for one of Kafka's words for its ends. */
  async #offsets(topics: readonly string[], timestamp: bigint) {
    const metadata = await this.#admin.metadata({ topics: [...topics], forceUpdate: true });
    return await this.#admin.listOffsets({
      topics: topics.map((name) => ({
        name,
        partitions: (metadata.topics.get(name)?.partitions ?? []).map((_, partitionIndex) => ({ partitionIndex, timestamp })),
      })),
    });
  }

  /** What the leaders answer, by `partitionKey`; without partitions that have no such offset. */
  async #listed(asked: readonly (TopicPartition & { readonly timestamp: bigint })[]): Promise<ReadonlyMap<string, number>> {
    if (asked.length === 0) return new Map();
    const names = [...new Set(asked.map(({ topic }) => topic))];
    const topics = names.map((name) => ({
      name,
      partitions: asked.flatMap(({ topic, partition, timestamp }) => (topic === name ? [{ partitionIndex: partition, timestamp }] : [])),
    }));
    try {
      const listed = await this.#admin.listOffsets({ topics });
      return new Map(
        listed.flatMap(({ name, partitions }) =>
          partitions.flatMap(({ partitionIndex: partition, offset }) =>
            offset < 0n ? [] : [[partitionKey({ topic: name, partition }), Number(offset)] as const],
          ),
        ),
      );
    } catch (fault) {
      // A leader may have moved: the next look-up asks who it is.
      this.#admin.clearMetadata();
      throw fault;
    }
  }

  /** Asked first: a metadata request for a topic that is not there is an error of the whole request. */
  async #existing(names: readonly string[]): Promise<string[]> {
    const all = new Set(await this.#admin.listTopics({ includeInternals: false }));
    return names.filter((name) => all.has(name));
  }

  async #configs(names: readonly string[]): Promise<Map<string, Record<string, string | null>> | undefined> {
    try {
      const resources = names.map((resourceName) => ({ resourceType: 2 as const, resourceName, configurationKeys: null }));
      const described = await this.#admin.describeConfigs({ resources });
      return new Map(
        described.map(({ resourceName, configs }) => [resourceName, Object.fromEntries(configs.map((c) => [c.name, c.value ?? null]))]),
      );
    } catch (error) {
      if (isUnauthorized(error)) return undefined;
      throw error;
    }
  }

  async #commits(group: string, topics: readonly string[]): Promise<Map<string, number>> {
    const [found] = await this.#admin.listConsumerGroupOffsets({ groups: [group] });
    const commits = new Map<string, number>();
    for (const topic of found?.topics ?? []) {
      if (!topics.includes(topic.name)) continue;
      for (const { partitionIndex, committedOffset } of topic.partitions) {
        if (committedOffset >= 0n) commits.set(`${topic.name}/${partitionIndex}`, Number(committedOffset));
      }
    }
    return commits;
  }
}

/** Whether the broker's answer, somewhere in the chain of causes, was "not allowed". */
function isUnauthorized(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('apiCode' in error && typeof error.apiCode === 'number' && AUTHORIZATION_ERRORS.has(error.apiCode)) return true;
  if ('errors' in error && Array.isArray(error.errors) && error.errors.some(isUnauthorized)) return true;
  return 'cause' in error && isUnauthorized(error.cause);
}
