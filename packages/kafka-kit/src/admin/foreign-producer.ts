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

/** For tests: writes what the native client can not, such as empty keys and values, or times of its own. */
export class ForeignProducer {
  readonly #producer: Producer<Buffer, Buffer, Buffer, Buffer>;

  constructor(settings: KafkaSettings) {
    this.#producer = new Producer<Buffer, Buffer, Buffer, Buffer>(adminOptions(settings));
  }

  /** Resolves when the log has them. */
  async send(topic: string, records: readonly ForeignRecord[]): Promise<void> {
    const messages = records.map(({ partition, key, value, headers, timestampMs }) => ({
      topic,
      partition,
      // Its types know no tombstones; its protocol does.
      key: key as Buffer,
      value: value as Buffer,
      headers: new Map(headers),
      ...(timestampMs === undefined ? {} : { timestamp: timestampMs }),
    }));
    await this.#producer.send({ messages });
  }

  close(): Promise<void> {
    return this.#producer.close();
  }
}

/** As `ForeignProducer`, once. */
export async function produceForeign(settings: KafkaSettings, topic: string, records: readonly ForeignRecord[]): Promise<void> {
  const producer = new ForeignProducer(settings);
  try {
    await producer.send(topic, records);
  } finally {
    await producer.close();
  }
}
