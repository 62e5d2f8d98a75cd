import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { partitionKey } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import { type ChannelPosition, channelRecord, readChannelRecord } from './channel-record.ts';
import { type PositionsLogOptions, positionsFault } from './positions-log.ts';
import { readerMembership, readPartition } from './read-ranges.ts';

/** What the positions' topic says of a group's side channels. */
export interface ChannelStates {
  /** Where its consumer stands, by partition key. */
  readonly positions: ReadonlyMap<string, ChannelPosition>;
  /** Plans that are being sent, or whose receipt does not stand yet, by partition key. */
  readonly sent: ReadonlyMap<string, ReadonlySet<string>>;
  /** Records that could not be understood. */
  readonly unreadable: number;
}

/** Where the consumer of side channels keeps what became of its records. */
export interface ChannelPort {
  /** All that is kept, by a reading begun after the call. Rejects where the topic is missing or can not be read to its end. */
  read(): Promise<ChannelStates>;
  /** Resolves once they are durable. Rejects by the deadline at the latest; writing them again does no harm. */
  write(positions: readonly ChannelPosition[], deadlineMs: number): Promise<void>;
}

const LOOK_UP_MS = 10_000;

/** Of one group that reads side channels (its own name, as `indexer.replay`), on a real cluster. `publisher`: as for `positionsLog`. */
export function channelLog(settings: KafkaSettings, options: Omit<PositionsLogOptions, 'consumer'>): ChannelPort {
  const membership = { ...readerMembership(settings), group: options.group };
  return channelLogWith({ ...options, consumer: () => createNativeConsumer(settings, membership) });
}

export function channelLogWith({ group, topic, publisher, consumer }: PositionsLogOptions): ChannelPort {
  const place = { topic, partition: 0 };
  return {
    async read() {
      try {
        return await readStates(consumer(), place, group);
      } catch (cause) {
        throw positionsFault({ group, topic }, 'read from', cause);
      }
    },
    async write(positions, deadlineMs) {
      const records = positions.map((position) => channelRecord(place, group, position));
      const fates = await publisher.publish(records, { deadlineMs });
      for (const fate of fates) if (fate.kind !== 'acknowledged') throw positionsFault({ group, topic }, 'written to', fate.reason);
    },
  };
}

async function readStates(
  consumer: BrokerConsumer,
  place: { readonly topic: string; readonly partition: number },
  group: string,
): Promise<ChannelStates> {
  const positions = new Map<string, ChannelPosition>();
  const sent = new Map<string, Set<string>>();
  let unreadable = 0;
  for await (const records of readPartition(consumer, place, LOOK_UP_MS)) {
    for (const record of records) {
      const said = readChannelRecord(record);
      if (said.kind === 'channel' && said.group === group) positions.set(partitionKey(said.position), said.position);
      else if (said.kind === 'sent') {
        const key = partitionKey(said.sent);
        sent.set(key, (sent.get(key) ?? new Set()).add(said.sent.plan));
      } else if (said.kind === 'sent-dropped') sent.get(partitionKey(said.sent))?.delete(said.sent.plan);
      else if (said.kind === 'unreadable') unreadable += 1;
    }
  }
  return { positions, sent, unreadable };
}
