import type { RawRecord, TopicPartition } from '../records.ts';

/** What the group coordinator asks for. Every event is answered exactly once, by `assign` or `unassign`. */
export interface RebalanceEvent {
  readonly kind: 'assigned' | 'revoked' | 'lost';
  readonly partitions: readonly TopicPartition[];
}

/** The next offset to read of a partition. Never "the last one processed". */
export interface Position extends TopicPartition {
  readonly nextToRead: number;
}

/** The broker's answer to a commit: the only confirmation there is. */
export type CommitResult =
  | { readonly kind: 'committed'; readonly positions: readonly Position[] }
  | { readonly kind: 'failed'; readonly positions: readonly Position[]; readonly reason: string };

export interface BrokerHandlers {
  /** Called from the client's callback: must only queue. */
  rebalance(event: RebalanceEvent): void;
  commit(result: CommitResult): void;
  log(line: ClientLogLine): void;
}

/** A line of the client library's own log. `severity` is syslog's, 0 to 7. */
export interface ClientLogLine {
  readonly severity: number;
  readonly facility: string;
  readonly message: string;
}

/** A fault told by the client. `fatal`: this client will never work again and must be made anew. */
export class BrokerError extends Error {
  readonly code: number;
  readonly fatal: boolean;
  constructor(message: string, code: number, fatal: boolean) {
    super(message);
    this.name = 'BrokerError';
    this.code = code;
    this.fatal = fatal;
  }
}

/** One look-up of a partition, all taken after it was asked for. `committed` is null where the group has none. */
export interface PartitionFacts {
  readonly incarnation: string;
  readonly committed: number | null;
  readonly logStart: number;
  readonly logEnd: number;
}

/**
 * A group member, as the runtime needs it. Two implementations pass one conformance suite: the native client and the
 * memory broker. `poll` is never called twice at a time; everything else is called between polls.
 */
export interface BrokerConsumer {
  /** Without topics it joins no group, and reads only what `assign` names. */
  connect(topics: readonly string[], handlers: BrokerHandlers): Promise<void>;
  /** Up to `maxRecords` records, waiting up to `timeoutMs` for the first. Rejects with BrokerError; a rejection loses no record. */
  poll(maxRecords: number, timeoutMs: number): Promise<readonly RawRecord[]>;
  /** Adds partitions to the assignment, each at an explicit offset. Answers an `assigned` event. Never at a logical one: the client was seen to
   * apply the late answer of its look-up to a later assignment of the same partition. */
  assign(positions: readonly Position[]): void;
  /** Removes partitions; what was stored for them is committed first. Answers `revoked` and `lost`. */
  unassign(partitions: readonly TopicPartition[]): void;
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  /** Stores what the client's timer commits next. */
  store(positions: readonly Position[]): void;
  /** Commits what is stored now; the answer comes through `handlers.commit`. */
  commitStored(): void;
  facts(partition: TopicPartition, timeoutMs: number): Promise<PartitionFacts>;
  /** The topic's present incarnation, by a look-up begun after the call; undefined where the topic does not exist. */
  incarnation(topic: string, timeoutMs: number): Promise<string | undefined>;
  /** The partition's end as the client last heard it, without a request; undefined when it has not heard yet. */
  cachedLogEnd(partition: TopicPartition): number | undefined;
  /** Up to which offset the client has read, records and voids alike, as of a few seconds ago and since the last `assign`; undefined when it has
   * not told since. */
  fetchPosition(partition: TopicPartition): number | undefined;
  /** Leaves the group. Rebalance events that come while it closes are answered inside. */
  close(timeoutMs: number): Promise<void>;
}
