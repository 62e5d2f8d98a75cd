import { addDigest, checksumText, replayDigest } from '@tailrace/kafka-kit/digest';
import { kafkaSettings, LAKE, type ServerEndpoints, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { countDocuments, type TimeSpan } from '../proof/index-documents.ts';
import { walkLog } from '../proof/kafka-log.ts';
import { walkLake } from '../proof/lake-rows.ts';

/** What a place holds of a window: how many records, and where they stand in each partition. */
export interface Held {
  readonly records: number;
  /** By partition, in order. */
  readonly offsets: ReadonlyMap<number, readonly number[]>;
  /** As a receipt adds it up: the sum of the records' replay digests. */
  readonly checksum: string;
}

class Holding implements Held {
  readonly offsets = new Map<number, number[]>();
  records = 0;
  #sum = 0n;

  add(partition: number, offset: number, key: Buffer | null, value: Buffer | null): void {
    this.records += 1;
    const own = this.offsets.get(partition) ?? [];
    own.push(offset);
    this.offsets.set(partition, own);
    this.#sum = addDigest(this.#sum, BigInt(`0x${replayDigest(offset, key, value)}`));
  }

  get checksum(): string {
    return checksumText(this.#sum);
  }
}

function isIn({ fromMs, toMs }: TimeSpan, timestampMs: number): boolean {
  return fromMs <= timestampMs && timestampMs < toMs;
}

/** What Kafka holds of it now, record by record. */
export async function heldByKafka(endpoints: ServerEndpoints, span: TimeSpan): Promise<Held> {
  const held = new Holding();
  await walkLog(kafkaSettings(endpoints), TOPIC, () => ({ partition, offset, timestampMs, key, value }) => {
    if (isIn(span, timestampMs)) held.add(partition, offset, key, value);
  });
  return held;
}

/** What the lake holds of it now, row by row. */
export async function heldByLake(endpoints: ServerEndpoints, span: TimeSpan): Promise<Held> {
  const held = new Holding();
  await walkLake(s3Settings(endpoints), LAKE, ({ partition }, { offset, timestampMs, key, value }) => {
    if (isIn(span, timestampMs)) held.add(partition, offset, key, value);
  });
  return held;
}

export function heldByIndex({ opensearchUrl }: ServerEndpoints, span: TimeSpan): Promise<number> {
  return countDocuments(opensearchUrl, TOPIC, span);
}
