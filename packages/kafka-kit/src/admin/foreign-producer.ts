import { Producer } from '@platformatic/kafka';
import type { KafkaSettings } from '../settings.ts';
import { adminOptions } from './cluster-admin.ts';

/** A record as others may write it. A Map: this client repeats no header. */
export interface ForeignRecord {
  readonly partition: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<Buffer, Buffer>;
  /** Any 64 bits, on a topic of `message.timestamp.type=CreateTime`. Now when absent. */
  readonly timestampMs?: bigint;
}

/** For tests: writes what the native client can not, such as empty keys and values, and waits until the log has it. */
export async function produceForeign(settings: KafkaSettings, topic: string, records: readonly ForeignRecord[]): Promise<void> {
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>(adminOptions(settings));
  try {
    const messages = records.map(({ partition, key, value, headers, timestampMs }) => ({
      topic,
      partition,
      // Its types know no tombstones; its protocol does.
      key: key as Buffer,
      value: value as Buffer,
      headers: new Map(headers),
      ...(timestampMs === undefined ? {} : { timestamp: timestampMs }),
    }));
    await producer.send({ messages });
  } finally {
    await producer.close();
  }
}
