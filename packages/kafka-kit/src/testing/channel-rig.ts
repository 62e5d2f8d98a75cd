import { createPublisher } from '../publish/publisher.ts';
import { channelLogWith } from '../recover/channel-log.ts';
import {
  type ChannelPosition,
  channelRecord,
  readChannelRecord,
  type SentPosition,
  sentRecord,
  sentTombstone,
} from '../recover/channel-record.ts';
import { addDigest, checksumText, replayDigest } from '../recover/digest.ts';
import { encodeSideRecord } from '../recover/side-record.ts';
import { MemoryProducer } from './memory-producer.ts';
import { POSITIONS } from './positions-rig.ts';
import { GROUP, RuntimeRig, TOPIC } from './runtime-rig.ts';

const PLACE = { topic: POSITIONS, partition: 0 };
export const INCARNATION = 'mem00001';

/** A rig whose topic is a side channel, with the means of its sender. */
export class ChannelRig extends RuntimeRig {
  readonly producer = new MemoryProducer(this.cluster);
  /** How many readings of the positions' topic were begun. */
  readings = 0;

  static async open(partitions = 1, settings: ConstructorParameters<typeof RuntimeRig>[1] = {}): Promise<ChannelRig> {
    const rig = new ChannelRig(partitions, settings);
    rig.cluster.createTopic(POSITIONS, 1);
    const opening = createPublisher({ producers: [rig.producer], maxInFlightBytes: 1_000_000, clock: rig.clock, log: () => {} });
    await rig.clock.advance(10);
    const port = channelLogWith({
      group: GROUP,
      topic: POSITIONS,
      publisher: await opening,
      consumer: () => rig.cluster.consumer('channel-readers'),
    });
    rig.channel = {
      write: port.write,
      read: () => {
        rig.readings += 1;
        return port.read();
      },
    };
    return rig;
  }

  /** The sender's record: the plan is open. */
  open(plan: number | string, partition = 0): void {
    const { key, value } = sentRecord(PLACE, { ...this.#sentKey(plan, partition), ...NOTHING_SENT });
    this.cluster.append(PLACE, { key, value });
  }

  /** The plan's receipt stands. */
  receipt(plan: number | string, partition = 0): void {
    this.cluster.append(PLACE, { key: sentTombstone(PLACE, this.#sentKey(plan, partition)).key, value: null });
  }

  /** Puts records of these origin offsets on the channel; `plan` undefined: they come from dead letters. */
  send(plan: number | string | undefined, offsets: readonly number[], partition = 0): void {
    const notes = plan === undefined ? [] : ([['replay.plan', Buffer.from(String(plan))]] as const);
    for (const offset of offsets) {
      const origin = { topic: 'events.live', partition, incarnation: 'liveABC1', offset, timestampMs: 1 };
      this.cluster.append(this.tp(partition), encodeSideRecord({ origin, notes, key: KEY, value: bytesOf(offset), headers: [] }));
    }
  }

  /** Puts the consumer's record there, as an earlier member. */
  keep(position: Pick<ChannelPosition, 'nextToRead' | 'plans'> & Partial<ChannelPosition>, partition = 0): void {
    const { key, value } = channelRecord(PLACE, GROUP, { ...this.tp(partition), incarnation: INCARNATION, ...position });
    this.cluster.append(PLACE, { key, value });
  }

  /** Every record of the consumer for a partition, in order. */
  kept(partition = 0): ChannelPosition[] {
    return this.cluster.records(PLACE).flatMap((record) => {
      const said = readChannelRecord(record);
      return said.kind === 'channel' && said.group === GROUP && said.position.partition === partition ? [said.position] : [];
    });
  }

  #sentKey(plan: number | string, partition: number): Pick<SentPosition, 'group' | 'plan' | 'topic' | 'partition'> {
    return { group: 'live', plan: String(plan), topic: TOPIC, partition };
  }
}

const KEY = Buffer.from('k');
const NOTHING_SENT = { incarnation: INCARNATION, sideNext: 0, through: -1, records: 0, bytes: 0, checksum: '0'.repeat(16) };

function bytesOf(offset: number): Buffer {
  return Buffer.from(`value of ${offset}`);
}

/** The checksum of these origin offsets as `send` puts them there. */
export function checksumOf(offsets: Iterable<number>): string {
  let sum = 0n;
  for (const offset of offsets) sum = addDigest(sum, BigInt(`0x${replayDigest(offset, KEY, bytesOf(offset))}`));
  return checksumText(sum);
}
