/** One partition of a topic. */
export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** Where a record stands for ever. `incarnation` is one life of a topic: the first 8 characters of its topic id in base64url. */
export interface Coordinates extends TopicPartition {
  readonly incarnation: string;
  readonly offset: number;
  readonly timestampMs: number;
}

/** A list, not a map: Kafka allows repeated names, and values are bytes. */
export type Headers = readonly (readonly [name: string, value: Buffer | null])[];

/** One record as the broker delivers it. A null value is a tombstone. */
export interface RawRecord extends TopicPartition {
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
  /** Bytes of the headers, where they are known without reading them. */
  readonly headerBytes?: number;
}

/** A map key for a partition. */
export function partitionKey(tp: TopicPartition): string {
  return `${tp.topic}/${tp.partition}`;
}
