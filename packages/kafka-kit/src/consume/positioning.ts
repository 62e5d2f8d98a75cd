import type { PartitionFacts } from '../broker/broker-consumer.ts';
import type { RawRecord } from '../records.ts';
import { classifyJump, gapAt, gapSentence, openingPosition } from '../recover/position.ts';
import type { Gap, Lane } from './contract.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { IDENTITY_CHECK_MS, LOOKUP_TIMEOUT_MS } from './options.ts';
import { heldBytes } from './record-batch.ts';

/** Finds where lanes begin, and what an unexpected offset means (I9). Look-ups run beside the loop; their answers enter it. */
export class Positioning {
  readonly #context: LoopContext;
  /** True while a rebalance event waits for its answer: an assign or unassign now would be taken for that answer. */
  readonly #unanswered: () => boolean;
  readonly #lookingUp = new WeakSet<LaneState>();
  readonly #deferred: (() => void)[] = [];
  #identityDueMs: number;

  constructor(context: LoopContext, unanswered: () => boolean) {
    this.#context = context;
    this.#unanswered = unanswered;
    this.#identityDueMs = context.clock.nowMs() + IDENTITY_CHECK_MS;
  }

  /** Starts what is due: lanes that wait to be opened or checked again, and the comparison of topic ids. */
  turn(nowMs: number): void {
    if (!this.#unanswered()) for (const answer of this.#deferred.splice(0)) answer();
    for (const lane of this.#context.lanes.values()) {
      if (this.#lookingUp.has(lane) || nowMs < (lane.outage?.retryAtMs ?? 0)) continue;
      if (lane.phase.kind === 'opening') this.#open(lane);
      else if (lane.phase.kind === 'checking') this.#check(lane, lane.phase.held[0]?.offset ?? lane.expected);
    }
    if (nowMs >= this.#identityDueMs) {
      this.#identityDueMs = nowMs + IDENTITY_CHECK_MS;
      for (const topic of this.#context.options.topics) this.#compareIdentity(topic);
    }
  }

  /** The lane gave back what it had released: a new lane takes its place at the first unsettled offset. */
  reopen(lane: LaneState, cause: unknown): void {
    const abandonedRecords = lane.drop();
    this.#context.broker.pause([lane]);
    this.#context.observe({ kind: 'lane-reopened', lane: lane.tp, cause, abandonedRecords });
    this.#context.outage(this.#context.addLane(lane, lane), 'open', cause);
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
      const wish = await options.sink.assign?.(found);
      return () => this.#opened(lane, found, wish?.startAt);
    });
  }

  #opened(lane: LaneState, facts: Lane, sink: number | undefined): void {
    const { options } = this.#context;
    const wanted = { start: options.start, ...(sink === undefined ? {} : { sink }) };
    const at = openingPosition(facts, lane.reopenAt === undefined ? wanted : { ...wanted, reopenAt: lane.reopenAt });
    const gap = gapAt(facts, at);
    if (gap !== undefined) {
      this.#standBefore(lane, gap);
      return;
    }
    this.#read(lane, at);
    lane.begin(facts, at);
    this.#context.observe({ kind: 'lane-opened', lane: lane.tp, startAt: at });
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
    lane.outage = undefined;
    for (const record of held) lane.letGo(heldBytes(record));
    lane.phase = { kind: 'running' };
    if (jump.kind === 'stray') {
      this.#read(lane, lane.expected);
      return;
    }
    lane.enqueueGap(jump.gap);
    lane.expected = delivered;
    for (const [i, record] of held.entries()) {
      if (record.offset === lane.expected) lane.accept(record, this.#context.clock.nowMs());
      else if (lane.phase.kind === 'running') {
        // A second jump among the held: it is looked up like the first, with the rest held behind it.
        this.unexpected(lane, record);
        for (const later of held.slice(i + 1)) this.holdBack(lane, later);
        return;
      }
    }
  }

  /** `expired` is believed at once; what speaks against the log's identity is believed when a second look-up agrees. */
  #standBefore(lane: LaneState, gap: Gap): void {
    const { options, clock } = this.#context;
    const nowMs = clock.nowMs();
    if (gap.kind !== 'expired' && lane.suspectedSinceMs === undefined) {
      lane.suspectedSinceMs = nowMs;
      const reason = gapSentence(options.group, lane, gap);
      lane.outage = { why: 'open', reason, sinceMs: nowMs, attempts: 0, retryAtMs: nowMs + IDENTITY_CHECK_MS };
      return;
    }
    if (lane.phase.kind === 'checking') for (const record of lane.phase.held) lane.letGo(heldBytes(record));
    this.#context.observe({ kind: 'gap', lane: lane.tp, gap });
    this.#context.halt(lane, { kind: 'gap', gap, sentence: gapSentence(options.group, lane, gap) });
  }

  #read(lane: LaneState, at: number): void {
    const { broker } = this.#context;
    broker.unassign([lane]);
    broker.assign([{ topic: lane.topic, partition: lane.partition, nextToRead: at }]);
    // The pause outlives the assignment that it was made for.
    broker.resume([lane]);
    lane.paused = false;
  }

  #compareIdentity(topic: string): void {
    const lanes = [...this.#context.lanes.values()].filter((lane) => lane.topic === topic && lane.phase.kind === 'running');
    if (lanes.length === 0) return;
    void this.#context.broker.incarnation(topic, LOOKUP_TIMEOUT_MS).then(
      (incarnation) =>
        this.#context.enter(() => {
          for (const lane of lanes) {
            if (lane.phase.kind !== 'running' || !this.#context.owns(lane) || lane.facts?.incarnation === incarnation) continue;
            lane.phase = { kind: 'checking', held: [] };
            this.#standBefore(lane, { kind: 'recreated', from: lane.expected, to: lane.expected });
          }
        }),
      // Safe: an id that could not be asked for is asked for again at the next interval, and the broker's fault is told.
      (cause: unknown) => this.#context.observe({ kind: 'broker-error', cause }),
    );
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
