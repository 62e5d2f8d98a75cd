import type { PartitionFacts } from '../broker/broker-consumer.ts';
import { partitionKey, type RawRecord } from '../records.ts';
import { classifyJump } from '../recover/position.ts';
import type { Gap } from './contract.ts';
import { GapVerdict, letGoHeld, recreatedAt } from './gap-verdict.ts';
import { IdentityWatch } from './identity-watch.ts';
import type { GapNews, LaneState } from './lane.ts';
import { LookUps } from './look-ups.ts';
import type { LoopContext } from './loop-context.ts';
import { Opening } from './opening.ts';
import { LOOKUP_TIMEOUT_MS } from './options.ts';
import { heldBytes } from './record-columns.ts';
import { Restoring } from './restoring.ts';

/** Finds where lanes begin, and what an unexpected offset means (I9). Look-ups run beside the loop; their answers enter it. */
export class Positioning {
  readonly #context: LoopContext;
  readonly #lookUps: LookUps;
  readonly #verdict: GapVerdict;
  readonly #restoring: Restoring;
  readonly #opening: Opening;
  readonly #identity: IdentityWatch;

  /** `unanswered`: whether a rebalance event waits for its answer. `dispatch`: hands over what a lane has closed. */
  constructor(context: LoopContext, unanswered: () => boolean, dispatch: (lane: LaneState) => void) {
    this.#context = context;
    this.#lookUps = new LookUps(context, unanswered);
    this.#verdict = new GapVerdict(context);
    this.#restoring = new Restoring(context, this.#lookUps, this.#verdict, dispatch);
    this.#opening = new Opening(context, this.#lookUps, this.#verdict, this.#restoring);
    this.#identity = new IdentityWatch(context, (lane) => {
      lane.phase = { kind: 'checking', held: [] };
      this.#meet(lane, recreatedAt(lane.expected));
    });
  }

  /** Starts what is due: lanes that wait to be opened or checked again, the comparison of topic ids, and the writing of positions. */
  turn(nowMs: number): void {
    this.#lookUps.turn();
    for (const lane of this.#context.lanes.values()) {
      const notBeforeMs = Math.max(lane.lookUp?.retryAtMs ?? 0, lane.suspicion?.outage.retryAtMs ?? 0, lane.lookUpFromMs);
      if (this.#lookUps.runsFor(lane) || nowMs < notBeforeMs) continue;
      if (lane.phase.kind === 'opening') this.#opening.open(lane);
      else if (lane.phase.kind === 'checking') this.#check(lane, lane.phase.held[0]?.offset ?? lane.expected);
    }
    this.#restoring.turn(nowMs);
    this.#identity.turn(nowMs);
    this.#context.positions?.turn(nowMs);
  }

  /** The broker told of an error: topics may not be what they were. */
  doubt(nowMs: number): void {
    this.#identity.hurry(nowMs);
  }

  /** The lane gave back what it had released: a new lane takes its place at the first unsettled offset. */
  reopen(lane: LaneState, cause: unknown): void {
    const abandonedRecords = lane.drop();
    this.#context.broker.pause([lane]);
    this.#context.observe({ kind: 'lane-reopened', lane: lane.tp, cause, abandonedRecords });
    const next = this.#context.addLane(lane, lane);
    next.reopenings = lane.reopenings + 1;
    this.#context.outage(next, 'open', cause, lane.reopenings);
  }

  /** Takes an offset that was not expected: held back, with all that follows, until a look-up says what it means. */
  unexpected(lane: LaneState, record: RawRecord): void {
    lane.phase = { kind: 'checking', held: [record] };
    lane.hold(heldBytes(record));
  }

  /** Takes a record that comes while its lane is being checked. */
  holdBack(lane: LaneState, record: RawRecord): void {
    if (lane.phase.kind !== 'checking') return;
    lane.phase.held.push(record);
    lane.hold(heldBytes(record));
  }

  /** The sink knows of the gap, or nobody has to. */
  passed(lane: LaneState, { gap, declared }: GapNews): void {
    const { from, to } = gap;
    if (declared === undefined) this.#verdict.tell(lane, gap);
    else this.#context.observe({ kind: 'restore-passed', lane: lane.tp, why: declared, from, to });
    if (gap.kind === 'expired') this.#context.positions?.hurry(lane);
    if (gap.kind !== 'recreated') {
      lane.ledger.passGap(from, to);
      return;
    }
    // A lane that is given back begins no other: whoever opens the partition next finds the new life.
    if (lane.phase.kind === 'draining') this.#context.lives.delete(partitionKey(lane));
    else this.#opening.beginLife(lane);
  }

  #check(lane: LaneState, delivered: number): void {
    const accepted = lane.expected;
    this.#lookUps.run(lane, async () => {
      const facts = await this.#context.broker.facts(lane, LOOKUP_TIMEOUT_MS);
      return () => {
        if (facts.incarnation === lane.facts?.incarnation) lane.proves(accepted);
        this.#checked(lane, facts, delivered);
      };
    });
  }

  #checked(lane: LaneState, facts: PartitionFacts, delivered: number): void {
    if (lane.phase.kind !== 'checking') return;
    const { held } = lane.phase;
    const jump = classifyJump(facts, { position: lane.expected, incarnation: lane.facts?.incarnation }, delivered);
    if (jump.kind === 'gap') {
      this.#meet(lane, jump.gap, facts.logEnd);
      return;
    }
    this.#goOn(lane);
    if (jump.kind === 'stray' || !this.#sameJumpAgain(lane, delivered)) {
      this.#context.read(lane, lane.expected);
      return;
    }
    if (this.#context.options.compactedTopics?.includes(lane.topic) !== true) lane.enqueueGap(jump.gap);
    lane.expected = delivered;
    this.#takeHeld(lane, held);
  }

  #takeHeld(lane: LaneState, held: readonly RawRecord[]): void {
    for (const [i, record] of held.entries()) {
      if (record.offset === lane.expected) lane.accept(record, this.#context.clock.nowMs());
      else {
        // A second jump among the held: it is looked up like the first, with the rest held behind it.
        this.unexpected(lane, record);
        for (const later of held.slice(i + 1)) this.holdBack(lane, later);
        return;
      }
    }
  }

  /**
   * A void is believed when a second reading from the same place jumps to the same offset. The client was seen to deliver from the
   * log's end after an assignment that named an offset: taken for a void, everything between would be passed over.
   */
  #sameJumpAgain(lane: LaneState, delivered: number): boolean {
    const same = lane.jump?.expected === lane.expected && lane.jump.delivered === delivered;
    lane.jump = { expected: lane.expected, delivered };
    return same;
  }

  /** Ends a check, with what was held let go. */
  #goOn(lane: LaneState): void {
    this.#verdict.sound(lane);
    letGoHeld(lane);
    lane.phase = { kind: 'running' };
  }

  /** A gap in front of a lane that was read. */
  #meet(lane: LaneState, found: Gap, logEnd = 0): void {
    if (!this.#verdict.believed(lane, found)) return;
    const gap = found.kind === 'recreated' ? recreatedAt(lane.life?.provenEnd ?? found.from) : found;
    const done = this.#verdict.done(gap);
    if (done === 'halted') this.#verdict.halt(lane, gap);
    else if (done === 'restored') {
      this.#goOn(lane);
      this.#restoring.begin(lane, gap);
    } else if (done === 'fresh')
      // What comes meanwhile is held back, as while any check runs.
      this.#lookUps.run(lane, async () => {
        const longer = await this.#verdict.withStale(lane, gap, logEnd);
        return () => this.#pass(lane, longer);
      });
    else if (gap.kind === 'recreated') this.#endLife(lane, gap);
    else this.#pass(lane, gap);
  }

  /** Goes on behind what is gone, once the sink knows. */
  #pass(lane: LaneState, { kind, from, to }: Gap): void {
    const isFresh = this.#context.options.gaps?.kind === 'fresh-first';
    const all = lane.phase.kind === 'checking' ? lane.phase.held : [];
    const held = isFresh ? all.filter(({ offset }) => offset >= to) : all;
    const first = held[0]?.offset;
    // The log's start may have moved on since the client jumped to it: what is in hand is not lost.
    const end = first !== undefined && first > from && first < to ? first : to;
    this.#goOn(lane);
    lane.enqueueGap({ kind, from, to: end });
    lane.expected = end;
    if (first === end) this.#takeHeld(lane, held);
    else this.#context.read(lane, end);
  }

  /** What is not proven to be of the old topic may be the new one's: it is not handed over, and never stored. */
  #endLife(lane: LaneState, gap: Gap): void {
    letGoHeld(lane);
    lane.phase = { kind: 'ending' };
    // Refused or not: it was of the old life, and a stop must not wait for it.
    this.#context.unconfirmed.delete(partitionKey(lane));
    lane.cutAt(gap.from);
    lane.enqueueGap(gap);
  }
}
