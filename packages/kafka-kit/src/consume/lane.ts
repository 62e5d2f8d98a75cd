import type { RawRecord, TopicPartition } from '../records.ts';
import { Batcher, type BatchLimits } from './batcher.ts';
import type { Gap, Lane } from './contract.ts';
import { OffsetLedger } from './offset-ledger.ts';
import { heldBytes, RecordBatch } from './record-batch.ts';

/** Why a lane reads no further until a person acts or it is assigned anew. */
export type HaltReason =
  | { readonly kind: 'gap'; readonly gap: Gap; readonly sentence: string }
  | { readonly kind: 'dead'; readonly offset: number; readonly reason: string; readonly sentence: string };

/** `opening`: position not known yet. `checking`: something unexpected was delivered and is being looked up. */
export type LanePhase =
  | { readonly kind: 'opening' }
  | { readonly kind: 'running' }
  | { readonly kind: 'checking'; readonly held: RawRecord[] }
  | { readonly kind: 'halted'; readonly why: HaltReason }
  | { readonly kind: 'draining' };

/** The sink or the broker does not do what is needed; tried again at `retryAtMs`, for as long as it takes. */
export interface Outage {
  readonly why: 'sink' | 'retry' | 'gap' | 'open';
  readonly reason: string;
  readonly sinceMs: number;
  readonly attempts: number;
  readonly retryAtMs: number;
}

/** Sums over all lanes of a runtime: bytes buffered (I4) and records delivered (I3). */
export interface LaneTotals {
  usedBytes: number;
  deliveredRecords: number;
}

/** What a lane hands over next, in offset order: records, or news of a void between them. */
export type QueueItem = RecordBatch | { readonly gap: Gap };

/** All that is known of one owned partition. Only the runtime's loop changes it. */
export class LaneState implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** The bare coordinates, for events and requests. */
  readonly tp: TopicPartition;
  /** Aborted when the lane is given up: its writes in flight have nothing to settle any more. */
  readonly abort = new AbortController();
  readonly inFlight = new Set<RecordBatch>();
  phase: LanePhase = { kind: 'opening' };
  outage: Outage | undefined;
  paused = true;
  /** The next offset the client should deliver. */
  expected = 0;
  facts: Lane | undefined;
  queue: QueueItem[] = [];
  /** Whether a call of `sink.gap` for the head of the queue is under way. */
  tellingGap = false;
  /** A suspicion (truncated, recreated) that a second look-up must confirm. */
  suspectedSinceMs: number | undefined;
  /** Broker time of the record that was settled last. */
  settledMs: number | undefined;
  #ledger = new OffsetLedger(0);
  #batcher: Batcher;
  #storedUpTo: number;
  #held = 0;
  readonly #limits: BatchLimits;
  readonly #totals: LaneTotals;
  /** Where to open instead of at the commit: the first unsettled offset of the lane that this one replaces. */
  readonly reopenAt: number | undefined;

  /** `before`: the lane of the same ownership that this one replaces, after its sink gave back a batch that it had released. */
  constructor(tp: TopicPartition, limits: BatchLimits, totals: LaneTotals, before?: LaneState) {
    this.reopenAt = before?.ledger.nextToRead;
    this.#storedUpTo = before?.storedUpTo ?? -1;
    this.topic = tp.topic;
    this.partition = tp.partition;
    this.tp = { topic: tp.topic, partition: tp.partition };
    this.#limits = limits;
    this.#totals = totals;
    this.#batcher = this.#newBatcher();
  }

  get ledger(): OffsetLedger {
    return this.#ledger;
  }

  get bufferedBytes(): number {
    return this.#held;
  }

  get storedUpTo(): number {
    return this.#storedUpTo;
  }

  /** Broker time of the oldest delivered record that is not settled; where there is none, of the last settled one. */
  get behindSinceMs(): number | undefined {
    let oldest: RecordBatch | undefined;
    const see = (item: QueueItem): void => {
      if (item instanceof RecordBatch && (oldest === undefined || item.firstOffset < oldest.firstOffset)) oldest = item;
    };
    for (const batch of this.inFlight) see(batch);
    for (const item of this.queue) see(item);
    const timeMs = oldest?.timestampMs(0) ?? this.#batcher.first?.timestampMs ?? this.settledMs;
    return timeMs === undefined || timeMs < 0 ? undefined : timeMs;
  }

  /** Whether everything delivered was handed over and answered. */
  get idle(): boolean {
    return this.queue.length === 0 && this.#batcher.length === 0 && this.inFlight.size === 0;
  }

  /** Starts to read at `startAt`. Offsets at or below the group's commit are never stored again (I2). */
  begin(facts: Lane, startAt: number): void {
    this.facts = facts;
    this.expected = startAt;
    this.#ledger = new OffsetLedger(startAt);
    this.#storedUpTo = Math.max(this.#storedUpTo, facts.committed ?? -1);
    this.outage = undefined;
    this.suspectedSinceMs = undefined;
    this.phase = { kind: 'running' };
  }

  /** Takes the next record in order: tracked, counted, batched. */
  accept(record: RawRecord, nowMs: number): void {
    this.#ledger.track(record.offset);
    this.#totals.deliveredRecords += 1;
    this.expected = record.offset + 1;
    this.hold(heldBytes(record));
    this.#batcher.append(record, nowMs);
  }

  closeDue(nowMs: number): void {
    this.#batcher.closeIfDue(nowMs);
  }

  /** Puts news of a gap behind everything delivered before it. */
  enqueueGap(gap: Gap): void {
    this.#batcher.close('gap');
    this.queue.push({ gap });
  }

  /** Puts a batch that must be handed over again back to its place in offset order. */
  giveBack(batch: RecordBatch): void {
    const behind = this.queue.findIndex((item) => (item instanceof RecordBatch ? item.firstOffset : item.gap.from) > batch.firstOffset);
    this.queue.splice(behind < 0 ? this.queue.length : behind, 0, batch);
  }

  hold(bytes: number): void {
    this.#held += bytes;
    this.#totals.usedBytes += bytes;
  }

  letGo(bytes: number): void {
    this.hold(-bytes);
  }

  /** What may be stored now, once: the contiguous settled position, when it is above everything stored or committed before. */
  takeStorable(): number | undefined {
    const next = this.#ledger.nextToRead;
    // A lane that never began has no position: storing its 0 would rewind the group.
    if (this.facts === undefined || next <= this.#storedUpTo) return undefined;
    this.#storedUpTo = next;
    return next;
  }

  /** Drops all that was not settled. Returns how many delivered records are thereby abandoned (I3). */
  drop(): number {
    const abandoned = this.#ledger.unsettled;
    this.abort.abort();
    this.queue = [];
    this.#batcher = this.#newBatcher();
    this.inFlight.clear();
    this.letGo(this.#held);
    return abandoned;
  }

  /** Drops what is queued, and keeps what is in flight: a draining or halted lane hands over nothing more. */
  dropQueue(): void {
    this.#batcher.close('drain');
    for (const item of this.queue) if (item instanceof RecordBatch) this.letGo(item.heldBytes);
    this.queue = [];
  }

  #newBatcher(): Batcher {
    return new Batcher(this.#limits, (records, why) => {
      const incarnation = this.facts?.incarnation ?? '';
      const source = { topic: this.topic, partition: this.partition, incarnation };
      this.queue.push(new RecordBatch(records, source, why, (batch) => this.#released(batch)));
    });
  }

  #released(batch: RecordBatch): void {
    if (this.inFlight.has(batch)) this.letGo(batch.heldBytes);
  }
}
