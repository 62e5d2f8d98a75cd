import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { TAILRACE } from '../observe/command.ts';
import type { Publisher } from '../publish/contract.ts';
import { partitionKey } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import { type KeptPosition, positionRecord, readPositionRecord } from './position-record.ts';
import { readerMembership, readPartition } from './read-ranges.ts';

/** A group's positions by partition key, and how many records there could not be read. */
export interface ReadPositions {
  readonly positions: ReadonlyMap<string, KeptPosition>;
  readonly unreadable: number;
}

/** Where a group's positions are kept a second time: Kafka forgets the commits of a group without members. */
export interface PositionsPort {
  /** All that are kept, by a reading begun after the call. Rejects where the topic is missing or can not be read to its end. */
  read(): Promise<ReadPositions>;
  /** Resolves once they are durable. Rejects by the deadline at the latest; writing them again does no harm. */
  write(positions: readonly KeptPosition[], deadlineMs: number): Promise<void>;
}

export interface PositionsLogOptions {
  readonly group: string;
  /** The compacted topic; its first partition holds everything. */
  readonly topic: string;
  readonly publisher: Pick<Publisher, 'publish'>;
  /** A consumer of its own for each reading. */
  readonly consumer: () => BrokerConsumer;
}

const LOOK_UP_MS = 10_000;

/** The positions of one group on a real cluster. `publisher`: one of its own, or a missing topic would hold up what else goes through it. */
export function positionsLog(settings: KafkaSettings, options: Omit<PositionsLogOptions, 'consumer'>): PositionsPort {
  // By the group's own name, which it joins not: a name of its own would need a right of its own.
  const membership = { ...readerMembership(settings), group: options.group };
  return positionsLogWith({ ...options, consumer: () => createNativeConsumer(settings, membership) });
}

export function positionsLogWith({ group, topic, publisher, consumer }: PositionsLogOptions): PositionsPort {
  const place = { topic, partition: 0 };
  return {
    async read() {
      const positions = new Map<string, KeptPosition>();
      let unreadable = 0;
      try {
        for await (const records of readPartition(consumer(), place, LOOK_UP_MS)) {
          for (const record of records) {
            const said = readPositionRecord(record, group);
            if (said.kind === 'position') positions.set(partitionKey(said.position), said.position);
            else if (said.kind === 'dropped') positions.delete(partitionKey(said.partition));
            else if (said.kind === 'unreadable') unreadable += 1;
          }
        }
      } catch (cause) {
        throw positionsFault({ group, topic }, 'read from', cause);
      }
      return { positions, unreadable };
    },
    async write(positions, deadlineMs) {
      const records = positions.map((position) => positionRecord(place, group, position));
      const fates = await publisher.publish(records, { deadlineMs });
      for (const fate of fates) if (fate.kind !== 'acknowledged') throw positionsFault({ group, topic }, 'written to', fate.reason);
    },
  };
}

/** In one sentence: whose positions, which topic, why, and what to do. */
export function positionsFault(
  { group, topic }: Pick<PositionsLogOptions, 'group' | 'topic'>,
  what: 'read from' | 'written to',
  why: unknown,
): Error {
  return new Error(
    `The positions of group ${group} can not be ${what} topic ${topic}: ${why instanceof Error ? why.message : String(why)} (if it is missing, run: ${TAILRACE} topics apply)`,
    { cause: why },
  );
}
