import { encodeSideRecord, type Headers, type HistoryRecord, type OutgoingRecord } from '@tailrace/kafka-kit';
import type { ChainId, OffsetRange, PlannedPartition, ReplayPart, ReplaySource } from '@tailrace/lake';
import { NOTHING_SENT, SentCount, type SentSoFar } from './sent-state.ts';

export interface PartitionSenderPorts {
  /** Reads origin records, in order; a throw is a fault of the moment or an end. */
  read(chain: ChainId, range: OffsetRange): AsyncIterable<ReplayPart>;
  isWanted(record: HistoryRecord): boolean;
  /** Resolves when so much may be sent; rejects when nothing more is to be. */
  admit(records: number, bytes: number): Promise<void>;
  /** Resolves when all are acknowledged. A throw ends the sending: what came of them is not known. */
  publish(records: readonly OutgoingRecord[]): Promise<void>;
  /** Of one call of the publisher. */
  readonly chunk: { readonly records: number; readonly bytes: number };
}

/**
 * A record so large is the last of its call: were it refused as too large with others behind it, these would stand in the side channel in front of it,
 * and the consumer would never count it.
 */
const MAY_BE_REFUSED_BYTES = 64 * 1024;

/** What was passed, beside what was sent, since this process began. */
export interface Passed {
  fromLake: number;
  fromKafka: number;
  lost: number;
  beforeArchive: number;
  voids: number;
  /** Records that the plan's ranges hold and its window does not. */
  leftOut: number;
  /** Of the plan's offsets, in all. */
  offsets: number;
}

/** How far earlier senders of a partition got. */
export interface Reached {
  /** What they wrote down. */
  readonly before: SentSoFar;
  /** Origin offsets above that which stand in the side channel: they are counted and not sent again. */
  readonly there: ReadonlySet<number>;
}

export const FROM_THE_BEGINNING: Reached = { before: NOTHING_SENT, there: new Set() };

/** Sends one partition of a plan in the order of its offsets, one call at a time: so what stands in the side channel is a prefix. */
export class PartitionSender {
  readonly planned: PlannedPartition;
  readonly passed: Passed = { fromLake: 0, fromKafka: 0, lost: 0, beforeArchive: 0, voids: 0, leftOut: 0, offsets: 0 };
  readonly #sideTopic: string;
  readonly #notes: Headers;
  readonly #ports: PartitionSenderPorts;
  readonly #there: ReadonlySet<number>;
  readonly #count: SentCount;
  #acknowledged: SentSoFar;
  /** The next origin offset to read. */
  #at: number;
  #chunk: OutgoingRecord[] = [];
  #chunkBytes = 0;
  #chunkFrom: Record<ReplaySource, number> = { lake: 0, kafka: 0 };
  #inFlight: Promise<void> = Promise.resolve();
  /** Set while nothing is to be on its way. */
  #held: Promise<void> | undefined;

  /** `reached`: how far an earlier sender got. */
  constructor(
    planned: PlannedPartition,
    { before, there }: Reached,
    target: { readonly topic: string; readonly notes: Headers },
    ports: PartitionSenderPorts,
  ) {
    this.planned = planned;
    this.#sideTopic = target.topic;
    this.#notes = target.notes;
    this.#ports = ports;
    this.#there = there;
    this.#count = new SentCount(before);
    this.#acknowledged = before;
    this.#at = before.through + 1;
    this.passed.offsets = this.#offsetsBefore(this.#at);
  }

  get sideTopic(): string {
    return this.#sideTopic;
  }

  /** What is acknowledged, and so stands in the side channel. */
  get acknowledged(): SentSoFar {
    return this.#acknowledged;
  }

  /** Resolves when nothing is on its way, and nothing sets out until the function that it gives is called. */
  async hold(): Promise<() => void> {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held = held;
    // Safe: what became of it is told by `run`.
    await this.#inFlight.catch(() => {});
    return () => {
      this.#held = undefined;
      release();
    };
  }

  /** Sends what is left. After a throw it may be called again when that was a fault of the reading. */
  async run(): Promise<void> {
    try {
      for (const range of this.planned.ranges) {
        if (range.next <= this.#at) continue;
        const rest = { first: Math.max(range.first, this.#at), next: range.next };
        for await (const part of this.#ports.read(this.planned, rest)) await this.#take(part);
        this.#at = Math.max(this.#at, range.next);
      }
      await this.#send();
    } finally {
      // Also behind a fault: what is on its way is waited for, or it would be counted by nobody.
      await this.#inFlight;
    }
  }

  async #take(part: ReplayPart): Promise<void> {
    if (part.kind !== 'records') {
      const kind = part.kind === 'before-archive' ? 'beforeArchive' : part.kind === 'void' ? 'voids' : 'lost';
      this.passed[kind] += part.to - part.from;
      this.passed.offsets += part.to - part.from;
      this.#at = part.to;
      return;
    }
    for (const record of part.records) {
      this.#at = record.offset + 1;
      this.passed.offsets += 1;
      if (!this.#ports.isWanted(record)) {
        this.passed.leftOut += 1;
        continue;
      }
      if (!this.#count.add(record)) continue;
      this.#chunkFrom[part.source] += 1;
      if (this.#there.has(record.offset)) continue;
      this.#chunk.push(this.#sideRecord(record));
      const size = sizeBytes(record);
      this.#chunkBytes += size;
      const { records, bytes } = this.#ports.chunk;
      if (this.#chunk.length >= records || this.#chunkBytes >= bytes || size >= MAY_BE_REFUSED_BYTES) await this.#send();
    }
  }

  #sideRecord(record: HistoryRecord): OutgoingRecord {
    const { topic, incarnation, partition } = this.planned;
    const { offset, timestampMs, key, value, headers } = record;
    const origin = { topic, incarnation, partition, offset, timestampMs };
    return { topic: this.#sideTopic, partition, ...encodeSideRecord({ origin, notes: this.#notes, key, value, headers }) };
  }

  /** Sends the chunk behind the one before it; the next one is read meanwhile. */
  async #send(): Promise<void> {
    const records = this.#chunk;
    const from = this.#chunkFrom;
    const counted = this.#count.now;
    if (records.length > 0) await this.#ports.admit(records.length, this.#chunkBytes);
    this.#chunk = [];
    this.#chunkBytes = 0;
    this.#chunkFrom = { lake: 0, kafka: 0 };
    await this.#inFlight;
    while (this.#held !== undefined) await this.#held;
    this.#inFlight = (records.length > 0 ? this.#ports.publish(records) : Promise.resolve()).then(() => {
      this.#acknowledged = counted;
      this.passed.fromLake += from.lake;
      this.passed.fromKafka += from.kafka;
    });
    // It is awaited by the next call or at the end: until then its fault is nobody's yet.
    this.#inFlight.catch(() => {});
  }

  #offsetsBefore(at: number): number {
    return this.planned.ranges.reduce((sum, { first, next }) => sum + Math.max(0, Math.min(at, next) - first), 0);
  }
}

function sizeBytes({ key, value, headers }: HistoryRecord): number {
  return headers.reduce((sum, [name, bytes]) => sum + name.length + (bytes?.length ?? 0), (key?.length ?? 0) + (value?.length ?? 0));
}
