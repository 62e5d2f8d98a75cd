import type { TopicPartition } from '../records.ts';
import type { PassedPart } from '../recover/record-history.ts';
import { Batcher, type BatchLimits } from './batcher.ts';
import type { CloseReason, Gap, Lane } from './contract.ts';
import type { LanePhase, Outage, Stall } from './lane-phase.ts';
import { OffsetLedger } from './offset-ledger.ts';
import { RecordBatch } from './record-batch.ts';
import { heldBytes, type OffsetRecord } from './record-columns.ts';

/** Sums over all lanes of a runtime: bytes buffered (I4) and records delivered (I3). */
export interface LaneTotals {
  usedBytes: number;
  deliveredRecords: number;
}

/** One life of a topic, as this process read a partition of it. */
export interface TopicLife {
  readonly facts: Lane;
  /** Everything delivered below is of this life: a look-up that was begun behind it still gave this id. */
  provenEnd: number;
}

/** News of a gap, with its place in the queue. */
export interface GapNews {
  readonly gap: Gap;
  /** What the history says of it, where it was met there. */
  readonly declared: PassedPart | undefined;
}

/** What a lane hands over next, in offset order: records, or news of a gap between them. */
export type QueueItem = RecordBatch | GapNews;

/** All that is known of one owned partition. Only the runtime's loop changes it. */
export class LaneState implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  /** The bare coordinates, for events and requests. */
  readonly tp: TopicPartition;
  /** Aborted when the lane is given up: its writes in flight have nothing to settle any more. */
  readonly abort = new AbortController();
  readonly inFlight = new Set<RecordBatch>();
  /** Batches that must be handed over again; while there is one, nothing behind it is handed over. */
  readonly owed = new Set<RecordBatch>();
  phase: LanePhase = { kind: 'opening' };
  /** Of the sink. */
  outage: Outage | undefined;
  /** Of the look-ups that a lane needs before it can read: separate, or one would end or hurry the other. */
  lookUp: Outage | undefined;
  /** What speaks against the log's identity (truncated, recreated), until a second look-up confirms or clears it. */
  suspicion: { readonly kind: Gap['kind']; readonly outage: Outage } | undefined;
  /** The last jump that was delivered, until a second reading confirms or refutes it. */
  jump: { readonly expected: number; readonly delivered: number } | undefined;
  /** While nothing is delivered although the log has more. */
  stall: Stall | undefined;
  /** No look-up before this time: the group's first position is being committed. */
  lookUpFromMs = 0;
  paused = true;
  /** Where the lane began to read. */
  startedAt = 0;
  /** The next offset the client should deliver. */
  expected = 0;
  facts: Lane | undefined;
  life: TopicLife | undefined;
  queue: QueueItem[] = [];
  /** Whether a call of `sink.gap` for the head of the queue is under way. */
  tellingGap = false;
  /** Broker time of the record that was settled last. */
  settledMs: number | undefined;
  /** How many lanes before this one were opened again without settling anything since. */
  reopenings = 0;
  /** Where to open instead of at the commit: where the lane stood that this one replaces, or at the start of a new life. */
  reopenAt: number | undefined;
  #ledger = new OffsetLedger(0);
  #batcher: Batcher;
  #storedUpTo: number;
  #held = 0;
  readonly #limits: BatchLimits;
  readonly #totals: LaneTotals;
  /** Whether its topic is declared as a side channel. */
  readonly #side: boolean;

  /** `before`: the lane of the same ownership that this one replaces, after its sink gave back a batch that it had released. */
  constructor(tp: TopicPartition, limits: BatchLimits, totals: LaneTotals, side: boolean, before?: LaneState) {
    this.#side = side;
    this.reopenAt = before?.facts === undefined ? before?.reopenAt : before.ledger.nextToRead;
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
    for (const item of [...this.inFlight, ...this.queue]) {
      if (item instanceof RecordBatch && item.firstOffset < (oldest?.firstOffset ?? Number.POSITIVE_INFINITY)) oldest = item;
    }
    const timeMs = oldest?.firstTimestampMs ?? this.#batcher.firstTimestampMs ?? this.settledMs;
    return timeMs === undefined || timeMs < 0 ? undefined : timeMs;
  }

  /** Starts to read at `startAt`. Offsets at or below the group's commit are never stored again (I2). */
  begin(facts: Lane, startAt: number): void {
    this.facts = facts;
    this.life = { facts, provenEnd: startAt };
    this.startedAt = startAt;
    this.expected = startAt;
    this.#ledger = new OffsetLedger(startAt);
    this.#storedUpTo = Math.max(this.#storedUpTo, facts.committed ?? -1);
    this.phase = { kind: 'running' };
  }

  /** Takes the next record in order: tracked, counted, batched. */
  accept(record: OffsetRecord, nowMs: number): void {
    this.#ledger.track(record.offset);
    this.#totals.deliveredRecords += 1;
    this.expected = record.offset + 1;
    const bytes = heldBytes(record);
    this.hold(bytes);
    this.#batcher.append(record, nowMs, bytes);
  }

  closeDue(nowMs: number): void {
    this.#batcher.closeIfDue(nowMs);
  }

  /** Closes what is gathered when nothing of this lane is on its way to the sink: its memory would be free only at its age. */
  closeForSpace(): void {
    if (this.queue.length > 0) return;
    for (const batch of this.inFlight) if (!batch.released) return;
    this.#batcher.close('bytes');
  }

  /** Puts news of a gap behind everything delivered before it. */
  enqueueGap(gap: Gap, declared?: PassedPart): void {
    this.#batcher.close('gap');
    this.#ledger.trackGap(gap.from, gap.to);
    this.queue.push({ gap, declared });
  }

  /** A look-up begun when all below `end` had been delivered still gave the lane's topic id. */
  proves(end: number): void {
    if (this.life !== undefined) this.life.provenEnd = Math.max(this.life.provenEnd, end);
  }

  /** Drops what is queued at `offset` and behind it, also within a batch; it stays unsettled. */
  cutAt(offset: number): void {
    this.dropQueue(offset, 'gap');
    this.queue = this.queue.map((item) => {
      if (!(item instanceof RecordBatch) || item.offset(item.length - 1) < offset) return item;
      const below = Array.from({ length: item.length }, (_, i) => i).filter((i) => item.offset(i) < offset);
      // Not handed over since: it counts no further attempt.
      const kept = item.pick(below, item.attempt);
      this.letGo(item.heldBytes - kept.heldBytes);
      if (this.owed.delete(item)) this.owed.add(kept);
      return kept;
    });
  }

  /** Takes a batch back, to be handed over again, at its place in offset order. The batch has left `inFlight`, its bytes are counted. */
  owe(batch: RecordBatch): void {
    this.owed.add(batch);
    const behind = this.queue.findIndex((item) => firstOffsetOf(item) > batch.firstOffset);
    this.queue.splice(behind < 0 ? this.queue.length : behind, 0, batch);
  }

  hold(bytes: number): void {
    this.#held += bytes;
    this.#totals.usedBytes += bytes;
  }

  letGo(bytes: number): void {
    this.hold(-bytes);
  }

  /** What may be stored now, once: the contiguous settled position as far as `limit`, when it is above everything stored or committed before. */
  takeStorable(limit = Number.POSITIVE_INFINITY): number | undefined {
    const next = Math.min(this.reached ?? -1, limit);
    if (next <= this.#storedUpTo) return undefined;
    this.#storedUpTo = next;
    return next;
  }

  /** The contiguous settled position; undefined where there is none that may be told. */
  get reached(): number | undefined {
    // A lane that never began has no position: storing its 0 would rewind the group.
    if (this.facts === undefined) return undefined;
    // In another life of the topic the same offset means other records: committed there, it would hide all below it.
    return this.suspicion?.kind === 'recreated' ? undefined : this.#ledger.nextToRead;
  }

  /** Drops all that was not settled. Returns how many delivered records are thereby abandoned (I3). */
  drop(): number {
    const abandoned = this.#ledger.unsettled;
    this.abort.abort();
    this.queue = [];
    this.owed.clear();
    this.#batcher = this.#newBatcher();
    this.inFlight.clear();
    this.letGo(this.#held);
    return abandoned;
  }

  /** Drops what is queued at `offset` and behind it, and keeps what is in flight. */
  dropQueue(offset: number, why: CloseReason): void {
    this.#batcher.close(why);
    const kept = this.queue.filter((item) => firstOffsetOf(item) < offset);
    for (const item of this.queue) {
      if (!(item instanceof RecordBatch) || kept.includes(item)) continue;
      this.letGo(item.heldBytes);
      this.owed.delete(item);
    }
    this.queue = kept;
  }

  #newBatcher(): Batcher {
    return new Batcher(this.#limits, (records, why) => {
      const incarnation = this.facts?.incarnation ?? '';
      const source = { topic: this.topic, partition: this.partition, incarnation };
      this.queue.push(new RecordBatch(records, source, why, (batch) => this.#release(batch), { side: this.#side }));
    });
  }

  /** A batch that the sink does not have any more was let go, or waits to be handed over again: then its bytes are still needed. */
  #release(batch: RecordBatch): boolean {
    if (!this.inFlight.has(batch)) return false;
    this.letGo(batch.heldBytes);
    return true;
  }
}

function firstOffsetOf(item: QueueItem): number {
  return item instanceof RecordBatch ? item.firstOffset : item.gap.from;
}
