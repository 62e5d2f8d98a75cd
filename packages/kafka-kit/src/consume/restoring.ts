import type { PartitionFacts } from '../broker/broker-consumer.ts';
import { restoreHaltSentence } from '../recover/gap-sentence.ts';
import { classify } from '../recover/position.ts';
import { HistoryHole, type HistoryPart, type HistoryRecord, type PassedPart } from '../recover/record-history.ts';
import type { Gap } from './contract.ts';
import type { GapVerdict } from './gap-verdict.ts';
import { HistoryReading, type Pulled } from './history-reading.ts';
import type { LaneState } from './lane.ts';
import type { Restore } from './lane-phase.ts';
import type { LookUps } from './look-ups.ts';
import type { LoopContext } from './loop-context.ts';
import { LOOKUP_TIMEOUT_MS } from './options.ts';

/** How long a lane waits before it asks again for what is not archived yet. */
const NOT_ARCHIVED_MS = 30_000;
/** Histories that are read at a time: each reading may hold a part in memory that nobody counts yet, and a whole object beside it. */
const MOST_READINGS = 2;
/** A reading that waits for its sink for so long gives way to that of another lane. */
const HELD_BACK_MS = 1000;
const HOUR_MS = 3_600_000;

/**
 * Reads what Kafka no longer holds from the history, through the lane's own batcher, ledger and queue, and then goes on from Kafka. Parts are asked for
 * beside the loop, as memory allows, and taken inside it. Of a lane that is given up, or whose reading was, nothing more is taken.
 */
export class Restoring {
  readonly #context: LoopContext;
  readonly #lookUps: LookUps;
  readonly #verdict: GapVerdict;
  readonly #dispatch: (lane: LaneState) => void;
  readonly #readings = new Map<LaneState, HistoryReading>();
  /** Whether a lane found no room for its reading. */
  #crowded = false;

  /** `dispatch`: hands over what the lane has closed. */
  constructor(context: LoopContext, lookUps: LookUps, verdict: GapVerdict, dispatch: (lane: LaneState) => void) {
    this.#context = context;
    this.#lookUps = lookUps;
    this.#verdict = verdict;
    this.#dispatch = dispatch;
  }

  /** The lane has its position and facts, and nothing is read for it by the client. */
  begin(lane: LaneState, gap: Gap): void {
    this.#verdict.tell(lane, gap);
    const restore: Restore = {
      from: gap.from,
      sinceMs: this.#context.clock.nowMs(),
      logStart: gap.to,
      records: 0,
      passedOffsets: 0,
      ask: undefined,
      waits: undefined,
    };
    lane.phase = { kind: 'restoring', restore };
  }

  turn(nowMs: number): void {
    for (const [lane, reading] of this.#readings) if (!this.#reads(lane, reading)) this.#close(lane);
    const crowded = this.#crowded;
    this.#crowded = false;
    for (const lane of this.#context.lanes.values())
      if (lane.phase.kind === 'restoring') this.#go(lane, lane.phase.restore, crowded, nowMs);
  }

  #go(lane: LaneState, restore: Restore, crowded: boolean, nowMs: number): void {
    if (this.#lookUps.runsFor(lane) || nowMs < (lane.lookUp?.retryAtMs ?? 0)) return;
    if (restore.ask !== undefined) this.#ask(lane, restore, restore.ask);
    else if (nowMs >= (restore.waits?.retryAtMs ?? 0)) this.#readOn(lane, restore, crowded, nowMs);
  }

  #readOn(lane: LaneState, restore: Restore, crowded: boolean, nowMs: number): void {
    const reading = this.#readings.get(lane);
    if (reading?.pulling === true) return;
    if (!this.#hasRoom(lane)) {
      if (reading === undefined) return;
      reading.heldBackSinceMs ??= nowMs;
      if (crowded && nowMs - reading.heldBackSinceMs >= HELD_BACK_MS) this.#close(lane);
      return;
    }
    const next = reading ?? this.#open(lane, restore);
    if (next !== undefined) this.#pull(lane, next);
  }

  /** Memory is one for all lanes, and what is closed must be on its way: a lane whose sink is slow keeps to its share. */
  #hasRoom(lane: LaneState): boolean {
    const { lanes, options, totals } = this.#context;
    const { pauseAtBytes } = options.buffer;
    return totals.usedBytes < pauseAtBytes && (lane.queue.length === 0 || lane.bufferedBytes < pauseAtBytes / lanes.size);
  }

  #open(lane: LaneState, restore: Restore): HistoryReading | undefined {
    const { history } = this.#context;
    if (history === undefined) throw new Error('a lane restores without a history');
    if (this.#readings.size >= MOST_READINGS) {
      this.#crowded = true;
      return undefined;
    }
    const reading = new HistoryReading(history, lane, restore);
    this.#readings.set(lane, reading);
    return reading;
  }

  #close(lane: LaneState): void {
    this.#readings.get(lane)?.close();
    this.#readings.delete(lane);
  }

  /** Whether this reading is still the lane's. */
  #reads(lane: LaneState, reading: HistoryReading): boolean {
    const isOn = lane.phase.kind === 'restoring' && lane.phase.restore === reading.restore && this.#context.owns(lane);
    return isOn && this.#readings.get(lane) === reading;
  }

  #pull(lane: LaneState, reading: HistoryReading): void {
    reading.pull((what) =>
      // Were each part taken in a turn of its own, it would wait for a poll.
      this.#context.enterBesidePoll(() => {
        if (!this.#reads(lane, reading)) return;
        const { clock } = this.#context;
        this.#take(lane, reading.restore, what, clock.nowMs());
        this.#dispatch(lane);
        if (this.#reads(lane, reading) && this.#hasRoom(lane)) this.#pull(lane, reading);
      }),
    );
  }

  #take(lane: LaneState, restore: Restore, what: Pulled, nowMs: number): void {
    if (what.kind === 'part') {
      const fault = this.#takePart(lane, restore, what.part, nowMs);
      if (fault !== undefined) this.#failed(lane, restore, fault);
      else this.#context.recovered(lane, 'lookUp');
    } else if (what.kind === 'end') {
      this.#context.recovered(lane, 'lookUp');
      restore.ask = 'at-end';
    } else this.#failed(lane, restore, what.cause);
    if (restore.ask !== undefined) this.#close(lane);
  }

  #failed(lane: LaneState, restore: Restore, cause: unknown): void {
    this.#close(lane);
    if (cause instanceof HistoryHole) restore.ask = cause;
    else this.#context.outage(lane, 'history', cause);
  }

  /** Returns what is wrong with the part: a history that is out of step must not be believed. */
  #takePart(lane: LaneState, restore: Restore, part: HistoryPart, nowMs: number): Error | undefined {
    const from = part.kind === 'records' ? (part.records[0]?.offset ?? lane.expected) : part.from;
    if (from !== lane.expected) return new Error(`the history gave offset ${from} where ${lane.expected} was next`);
    restore.waits = undefined;
    if (part.kind === 'records') return this.#takeRecords(lane, restore, part.records, nowMs);
    if (part.kind === 'void') this.#passVoid(lane, part.from, part.to);
    else this.#passLost(lane, restore, part.kind, part);
    return undefined;
  }

  #takeRecords(lane: LaneState, restore: Restore, records: readonly HistoryRecord[], nowMs: number): Error | undefined {
    const youngMs = this.#youngFromMs(lane, nowMs);
    const before = lane.expected;
    let fault: Error | undefined;
    for (const record of records) {
      if (record.offset >= restore.logStart && record.timestampMs >= youngMs) {
        restore.ask = 'in-kafka';
        break;
      }
      if (record.offset !== lane.expected) {
        fault = new Error(`the history gave offset ${record.offset} where ${lane.expected} was next`);
        break;
      }
      lane.accept(record, nowMs);
    }
    const taken = lane.expected - before;
    restore.records += taken;
    if (taken > 0) this.#context.observe({ kind: 'restored', lane: lane.tp, records: taken });
    return fault;
  }

  /** A record of this time or later stays in Kafka for a while yet. Where nobody knows for how long, none does. */
  #youngFromMs(lane: LaneState, nowMs: number): number {
    const { gaps } = this.#context.options;
    const retentionMs = gaps?.kind === 'restore' ? gaps.retentionMs?.get(lane.topic) : undefined;
    return retentionMs === undefined ? Number.POSITIVE_INFINITY : nowMs - (retentionMs - Math.min(HOUR_MS, retentionMs / 4));
  }

  #passVoid(lane: LaneState, from: number, to: number): void {
    if (this.#context.options.compactedTopics?.includes(lane.topic) !== true) lane.enqueueGap({ kind: 'void', from, to });
    lane.expected = to;
  }

  /** What Kafka has is not lost, whatever the history says of it. */
  #passLost(lane: LaneState, restore: Restore, why: PassedPart, part: { readonly from: number; readonly to: number }): void {
    const to = Math.min(part.to, restore.logStart);
    if (to < part.to) restore.ask = 'in-kafka';
    if (to <= part.from) return;
    restore.passedOffsets += to - part.from;
    lane.enqueueGap({ kind: 'expired', from: part.from, to }, why);
    lane.expected = to;
  }

  /** Only a fresh look says what Kafka has. */
  #ask(lane: LaneState, restore: Restore, why: NonNullable<Restore['ask']>): void {
    this.#lookUps.run(lane, async () => {
      const facts = await this.#context.broker.facts(lane, LOOKUP_TIMEOUT_MS);
      return () => {
        if (lane.phase.kind === 'restoring' && lane.phase.restore === restore) this.#answered(lane, restore, why, facts);
      };
    });
  }

  #answered(lane: LaneState, restore: Restore, why: NonNullable<Restore['ask']>, facts: PartitionFacts): void {
    const { clock, observe } = this.#context;
    this.#context.recovered(lane, 'lookUp');
    const gap = classify(facts, { position: lane.expected, incarnation: lane.facts?.incarnation });
    if (gap === undefined) {
      this.#goOn(lane, restore);
      return;
    }
    // Another life, or a log that was cut back: looked at and met as for any lane.
    if (gap.kind !== 'expired') {
      lane.phase = { kind: 'checking', held: [] };
      return;
    }
    restore.logStart = facts.logStart;
    restore.ask = undefined;
    if (why instanceof HistoryHole) {
      const hole: Gap = { ...gap, to: Math.min(Math.max(why.to, gap.from + 1), facts.logStart) };
      this.#verdict.halt(lane, hole, restoreHaltSentence(this.#context.options.group, lane, hole, why.why));
    } else if (why === 'at-end') {
      const nowMs = clock.nowMs();
      if (restore.waits === undefined) observe({ kind: 'restore-waits', lane: lane.tp, from: gap.from, to: gap.to });
      restore.waits = { sinceMs: restore.waits?.sinceMs ?? nowMs, retryAtMs: nowMs + NOT_ARCHIVED_MS };
    }
  }

  #goOn(lane: LaneState, { from, sinceMs, records, passedOffsets }: Restore): void {
    const { clock, observe } = this.#context;
    this.#verdict.sound(lane);
    lane.phase = { kind: 'running' };
    lane.jump = undefined;
    this.#context.read(lane, lane.expected);
    const tookMs = clock.nowMs() - sinceMs;
    observe({ kind: 'restore-ended', lane: lane.tp, from, to: lane.expected, records, passedOffsets, tookMs });
  }
}
