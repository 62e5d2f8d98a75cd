import {
  type ClusterAdmin,
  connectAdmin,
  firstTimes,
  type KafkaSettings,
  partitionKey,
  reasonsOf,
  TopicIdentity,
} from '@tailrace/kafka-kit';
import type { LogExtent } from './compare-log.ts';
import { type ChainId, chainText } from './records.ts';

const LOOKUP_MS = 10_000;

/** What who looks at the lake asks of Kafka. It joins no group and commits nothing. */
export interface KafkaExtents {
  /** Every partition of those topics that exist, with its log up to the high watermark: what is acknowledged, also inside an open transaction. */
  logs(topics: readonly string[]): Promise<readonly LogExtent[]>;
  /** The broker time of the first record at or above each offset, by `chainText`; without those of which none came. */
  firstTimes(positions: readonly (ChainId & { readonly first: number })[]): Promise<ReadonlyMap<string, number>>;
  /** Of each partition the first offset whose broker time is at or behind `timeMs`, by `chainText`; without those that have none. */
  offsetsAt(logs: readonly ChainId[], timeMs: number): Promise<ReadonlyMap<string, number>>;
}

/** Kafka did not answer. One sentence that says what to do. */
class KafkaAway extends Error {
  constructor(servers: string, way: string, cause: unknown) {
    super(`Kafka at ${servers} could not be asked (${reasonsOf(cause)}): ${way}.`, { cause });
    this.name = 'KafkaAway';
  }
}

/** Asks Kafka while `work` runs. What Kafka does not answer rejects with one sentence, which ends with `way`: what to do. */
export async function withKafka<T>(
  settings: KafkaSettings,
  group: string,
  way: string,
  work: (kafka: KafkaExtents) => Promise<T>,
): Promise<T> {
  const asking = async <R>(ask: () => Promise<R>): Promise<R> => {
    try {
      return await ask();
    } catch (fault) {
      throw fault instanceof TopicChanging ? fault : new KafkaAway(settings.bootstrapServers, way, fault);
    }
  };
  const admin = await asking(() => connectAdmin(settings));
  const identity = new TopicIdentity(settings);
  try {
    return await work({
      logs: (topics) => asking(() => logs(admin, identity, group, topics)),
      firstTimes: (positions) => asking(() => firstTimesOf(settings, `${group}.audit`, positions)),
      offsetsAt: (chains, timeMs) => asking(() => offsetsAt(admin, identity, chains, timeMs)),
    });
  } finally {
    identity.close();
    await admin.close();
  }
}

class TopicChanging extends Error {
  constructor(topic: string, what: 'deleted' | 'made anew') {
    super(`The topic ${topic} was ${what} while it was looked at: run the command again.`);
  }
}

async function logs(admin: ClusterAdmin, identity: TopicIdentity, group: string, topics: readonly string[]): Promise<readonly LogExtent[]> {
  const extents: LogExtent[] = [];
  for (const topic of topics) {
    // First by the client that says at once when nobody listens.
    const partitions = await admin.groupLag(group, [topic]);
    if (partitions.length === 0) continue;
    const incarnation = await identity.lookUp(topic, LOOKUP_MS);
    if (incarnation === undefined) throw new TopicChanging(topic, 'deleted');
    // Once more under the id that is known now: what was asked before may have been an earlier topic's.
    const again = await admin.groupLag(group, [topic]);
    if ((await identity.lookUp(topic, LOOKUP_MS)) !== incarnation) throw new TopicChanging(topic, 'made anew');
    extents.push(...again.map(({ partition, logStart, logEnd }) => ({ topic, incarnation, partition, logStart, logEnd })));
  }
  return extents;
}

async function offsetsAt(
  admin: ClusterAdmin,
  identity: TopicIdentity,
  chains: readonly ChainId[],
  timeMs: number,
): Promise<ReadonlyMap<string, number>> {
  const lives = new Map(chains.map(({ topic, incarnation }) => [topic, incarnation]));
  const found = await admin.offsetsAt([...lives.keys()], timeMs);
  for (const [topic, incarnation] of lives)
    if ((await identity.lookUp(topic, LOOKUP_MS)) !== incarnation) throw new TopicChanging(topic, 'made anew');
  return new Map(
    found.flatMap(({ topic, partition, offset }) => {
      const incarnation = lives.get(topic);
      return offset === undefined || incarnation === undefined ? [] : [[chainText({ topic, incarnation, partition }), offset] as const];
    }),
  );
}

async function firstTimesOf(
  settings: KafkaSettings,
  group: string,
  positions: readonly (ChainId & { readonly first: number })[],
): Promise<ReadonlyMap<string, number>> {
  const times = await firstTimes(settings, group, positions);
  return new Map(
    positions.flatMap((position) => {
      const timeMs = times.get(partitionKey(position));
      return timeMs === undefined ? [] : [[chainText(position), timeMs] as const];
    }),
  );
}
