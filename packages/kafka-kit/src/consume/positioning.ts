import type { PartitionFacts } from '../broker/broker-consumer.ts';
import { partitionKey, type RawRecord } from '../records.ts';
import { classifyJump, gapAt, gapSentence, openingPosition } from '../recover/position.ts';
import type { Gap, Lane } from './contract.ts';
import { IdentityWatch } from './identity-watch.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { IDENTITY_CHECK_MS, LOOKUP_TIMEOUT_MS } from './options.ts';
import { heldBytes } from './record-batch.ts';

/** How long after the commit of a group's first position it is looked up. */
const FIRST_COMMIT_MS = 50;

/** Finds where lanes begin, and what an unexpected offset means (I9). Look-ups run beside the loop; their answers enter it. */
export class Positioning {
  readonly #context: LoopContext;
  /** True while a rebalance event waits for its answer: an assign or unassign now would be taken for that answer. */
  readonly #unanswered: () => boolean;
  readonly #identity: IdentityWatch;
  readonly #lookingUp = new WeakSet<LaneState>();
  readonly #deferred: (() => void)[] = [];

  constructor(context: LoopContext, unanswered: () => boolean) {
    this.#context = context;
    this.#unanswered = unanswered;
    this.#identity = new IdentityWatch(context, (lane) => {
      lane.phase = { kind: 'checking', held: [] };
      this.#standBefore(lane, { kind: 'recreated', from: lane.expected, to: lane.expected });
    });
  }

  /** Starts what is due: lanes that wait to be opened or checked again, and the comparison of topic ids. */
  turn(nowMs: number): void {
    if (!this.#unanswered()) for (const answer of this.#deferred.splice(0)) answer();
    for (const lane of this.#context.lanes.values()) {
      const notBeforeMs = Math.max(lane.lookUp?.retryAtMs ?? 0, lane.suspicion?.outage.retryAtMs ?? 0, lane.lookUpFromMs);
      if (this.#lookingUp.has(lane) || nowMs < notBeforeMs) continue;
      if (lane.phase.kind === 'opening') this.#open(lane);
      else if (lane.phase.kind === 'checking') this.#check(lane, lane.phase.held[0]?.offset ?? lane.expected);
    }
    this.#identity.turn(nowMs);
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

  #open(lane: LaneState): void {
    const { broker, options } = this.#context;
    this.#lookUp(lane, async () => {
      const facts = await broker.facts(lane, LOOKUP_TIMEOUT_MS);
      const found: Lane = { topic: lane.topic, partition: lane.partition, ...facts };
      const startAt = (await options.sink.assign?.(found))?.startAt;
      // The client would take nonsense for offset 0; like every nonsense of a sink it is an outage, with its name.
      if (startAt !== undefined && !isOffset(startAt)) throw new Error(`sink ${options.sink.name} wants to start at ${startAt}`);
      return () => this.#opened(lane, found, startAt);
    });
  }

  #opened(lane: LaneState, facts: Lane, sink: number | undefined): void {
    const { options, observe } = this.#context;
    const { reopenAt } = lane;
    const at = openingPosition(facts, {
      start: options.start,
      ...(sink === undefined ? {} : { sink }),
      ...(reopenAt === undefined ? {} : { reopenAt }),
    });
    // A commit may be of the topic's earlier life: a member's last one can arrive after the topic was made anew under its name.
    const before = this.#context.incarnations.get(partitionKey(lane));
    if (before !== undefined && before !== facts.incarnation) {
      this.#standBefore(lane, { kind: 'recreated', from: at, to: at });
      return;
    }
    const gap = gapAt(facts, at);
    if (gap !== undefined) {
      this.#standBefore(lane, gap);
      return;
    }
    if (facts.committed === null && sink === undefined && reopenAt === undefined) {
      this.#commitFirst(lane, at);
      return;
    }
    this.#sound(lane);
    this.#read(lane, at);
    lane.begin(facts, at);
    this.#context.incarnations.set(partitionKey(lane), facts.incarnation);
    observe({ kind: 'lane-opened', lane: lane.tp, startAt: at });
  }

  /**
   * A new group commits its first position before it reads a record: with `latest`, a crash before the first commit would else
   * begin behind what was already delivered. The next look-up finds the commit, and the lane opens there like any other.
   */
  #commitFirst(lane: LaneState, at: number): void {
    const { broker, clock } = this.#context;
    broker.store([{ ...lane.tp, nextToRead: at }]);
    broker.commitStored();
    lane.lookUpFromMs = clock.nowMs() + FIRST_COMMIT_MS;
  }

  #check(lane: LaneState, delivered: number): void {
    this.#lookUp(lane, async () => {
      const facts = await this.#context.broker.facts(lane, LOOKUP_TIMEOUT_MS);
      return () => this.#checked(lane, facts, delivered);
    });
  }

  #checked(lane: LaneState, facts: PartitionFacts, delivered: number): void {
    if (lane.phase.kind !== 'checking') return;
    const { held } = lane.phase;
    if (facts.incarnation !== lane.facts?.incarnation) {
      this.#standBefore(lane, { kind: 'recreated', from: lane.expected, to: lane.expected });
      return;
    }
    const jump = classifyJump(facts, lane.expected, delivered);
    if (jump.kind === 'gap') {
      this.#standBefore(lane, jump.gap);
      return;
    }
    this.#sound(lane);
    for (const record of held) lane.letGo(heldBytes(record));
    lane.phase = { kind: 'running' };
    if (jump.kind === 'stray' || !this.#sameJumpAgain(lane, delivered)) {
      this.#read(lane, lane.expected);
      return;
    }
    lane.enqueueGap(jump.gap);
    lane.expected = delivered;
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

  /** The log is what it was: a suspicion of long ago must not make a later one believed at once. */
  #sound(lane: LaneState): void {
    lane.suspicion = undefined;
    this.#context.recovered(lane, 'lookUp');
  }

  /** `expired` is believed at once; what speaks against the log's identity is believed when a second look-up agrees. */
  #standBefore(lane: LaneState, gap: Gap): void {
    const { clock, observe } = this.#context;
    const nowMs = clock.nowMs();
    lane.lookUp = undefined;
    if (gap.kind !== 'expired' && lane.suspicion?.kind !== gap.kind) {
      const reason = this.#sentence(lane, gap);
      lane.suspicion = {
        kind: gap.kind,
        outage: { why: 'open', reason, sinceMs: nowMs, attempts: 0, retryAtMs: nowMs + IDENTITY_CHECK_MS },
      };
      return;
    }
    if (lane.phase.kind === 'checking') for (const record of lane.phase.held) lane.letGo(heldBytes(record));
    observe({ kind: 'gap', lane: lane.tp, gap });
    this.#context.halt(lane, { kind: 'gap', gap, sentence: this.#sentence(lane, gap) });
  }

  #sentence(lane: LaneState, gap: Gap): string {
    const { group, sink } = this.#context.options;
    return gapSentence(group, lane, gap, sink.assign === undefined ? 'group' : 'sink');
  }

  #read(lane: LaneState, at: number): void {
    const { broker } = this.#context;
    broker.unassign([lane]);
    broker.assign([{ topic: lane.topic, partition: lane.partition, nextToRead: at }]);
    // The pause outlives the assignment that it was made for.
    broker.resume([lane]);
    lane.paused = false;
  }

  #lookUp(lane: LaneState, ask: () => Promise<() => void>): void {
    this.#lookingUp.add(lane);
    void ask().then(
      (answer) => this.#context.enter(() => this.#answer(lane, answer)),
      (cause: unknown) =>
        this.#context.enter(() => {
          this.#lookingUp.delete(lane);
          if (this.#context.owns(lane)) this.#context.outage(lane, 'open', cause);
        }),
    );
  }

  #answer(lane: LaneState, answer: () => void): void {
    if (this.#context.owns(lane) && lane.phase.kind !== 'draining') {
      if (this.#unanswered()) {
        this.#deferred.push(() => this.#answer(lane, answer));
        return;
      }
      answer();
    }
    this.#lookingUp.delete(lane);
  }
}

function isOffset(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
