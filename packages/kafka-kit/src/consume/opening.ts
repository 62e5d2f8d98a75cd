import { partitionKey } from '../records.ts';
import { gapAt, type KeptFor, keptFor, type OpeningPosition, openingPosition } from '../recover/position.ts';
import type { Gap, Lane } from './contract.ts';
import { type GapVerdict, recreatedAt } from './gap-verdict.ts';
import type { LaneState, TopicLife } from './lane.ts';
import type { LookUps } from './look-ups.ts';
import type { LoopContext } from './loop-context.ts';
import { LOOKUP_TIMEOUT_MS } from './options.ts';
import type { Restoring } from './restoring.ts';

/** How long after the commit of a group's first position it is looked up. */
const FIRST_COMMIT_MS = 50;

/** Opens lanes: where does each begin, and is that still there? */
export class Opening {
  readonly #context: LoopContext;
  readonly #lookUps: LookUps;
  readonly #verdict: GapVerdict;
  readonly #restoring: Restoring;

  constructor(context: LoopContext, lookUps: LookUps, verdict: GapVerdict, restoring: Restoring) {
    this.#restoring = restoring;
    this.#context = context;
    this.#lookUps = lookUps;
    this.#verdict = verdict;
  }

  /** Finds where the lane begins, and begins there. */
  open(lane: LaneState): void {
    const { broker, options, lives, positions } = this.#context;
    this.#lookUps.run(lane, async () => {
      // A lane that replaces another one knows where to go on.
      const asked = lane.reopenAt === undefined ? positions?.read() : undefined;
      const [facts, reading] = await Promise.all([broker.facts(lane, LOOKUP_TIMEOUT_MS), asked]);
      const found: Lane = { topic: lane.topic, partition: lane.partition, ...facts };
      // A commit may be of the topic's earlier life: a member's last one can arrive after the topic was made anew under its name.
      const life = lives.get(partitionKey(lane));
      if (life !== undefined && life.facts.incarnation !== facts.incarnation) return () => this.#openedAnew(lane, life);
      const startAt = (await options.sink.assign?.(found))?.startAt;
      // The client would take nonsense for offset 0; like every nonsense of a sink it is an outage, with its name.
      if (startAt !== undefined && !isOffset(startAt)) throw new Error(`sink ${options.sink.name} wants to start at ${startAt}`);
      // "No commit" is not "new group": with nothing that tells them apart the lane waits.
      if (reading?.kind === 'unread' && facts.committed === null && startAt === undefined) throw reading.cause;
      const kept = reading?.kind === 'read' ? keptFor(reading.positions, lane) : undefined;
      return () => this.#opened(lane, found, kept, startAt);
    });
  }

  #opened(lane: LaneState, facts: Lane, kept: KeptFor | undefined, sink: number | undefined): void {
    const { options, lives } = this.#context;
    const { reopenAt } = lane;
    const { kind, at } = openingPosition(facts, {
      start: options.start,
      kept,
      knowsLife: lives.has(partitionKey(lane)),
      ...(sink === undefined || options.rewinds ? {} : { sink }),
      ...(reopenAt === undefined ? {} : { reopenAt }),
    });
    const gap = kind === 'recreated' ? recreatedAt(at) : gapAt(facts, at);
    if (gap === undefined) this.#beginAt(lane, facts, { kind, at: sink ?? at }, kept);
    else if (!this.#verdict.believed(lane, gap)) return;
    else if (this.#verdict.done(gap) === 'halted') this.#verdict.halt(lane, gap);
    else if (this.#verdict.done(gap) === 'restored') {
      this.#stand(lane, facts, at, kept);
      this.#restoring.begin(lane, gap);
    } else if (kind === 'recreated')
      this.#tell(lane, { ...facts, incarnation: kept?.own?.incarnation ?? '' }, gap, () => this.beginLife(lane));
    else this.#tell(lane, facts, gap, ({ to }) => this.#begin(lane, facts, to, kept));
  }

  #beginAt(lane: LaneState, facts: Lane, { kind, at }: OpeningPosition, kept: KeptFor | undefined): void {
    const { positions } = this.#context;
    if (kind !== 'new') this.#begin(lane, facts, at, kept);
    else if (positions === undefined) this.#commitFirst(lane, at);
    else
      this.#lookUps.run(lane, async () => {
        await positions.writeFirst({ ...lane.tp, incarnation: facts.incarnation, nextToRead: at });
        return () => this.#commitFirst(lane, at);
      });
  }

  /** The topic is not the one that this process read before. */
  #openedAnew(lane: LaneState, { facts, provenEnd }: TopicLife): void {
    const gap = recreatedAt(provenEnd);
    if (!this.#verdict.believed(lane, gap)) return;
    if (this.#verdict.done(gap) === 'halted') this.#verdict.halt(lane, gap);
    else this.#tell(lane, facts, gap, () => this.beginLife(lane));
  }

  /** Tells the sink of a gap while the lane has nothing under way; fails like a look-up, and then the lane is opened from the beginning. */
  #tell(lane: LaneState, of: Lane, met: Gap, goOn: (gap: Gap) => void): void {
    this.#lookUps.run(lane, async () => {
      const gap = this.#verdict.done(met) === 'fresh' ? await this.#verdict.withStale(lane, met, of.logEnd) : met;
      await this.#context.options.sink.gap?.(of, gap);
      return () => {
        this.#verdict.tell(lane, gap);
        goOn(gap);
      };
    });
  }

  #begin(lane: LaneState, facts: Lane, at: number, kept: KeptFor | undefined): void {
    this.#stand(lane, facts, at, kept);
    this.#context.read(lane, at);
    this.#context.observe({ kind: 'lane-opened', lane: lane.tp, startAt: at });
  }

  /** From now on the lane has a position. */
  #stand(lane: LaneState, facts: Lane, at: number, kept: KeptFor | undefined): void {
    this.#verdict.sound(lane);
    this.#context.positions?.begin({ ...lane.tp, incarnation: facts.incarnation, nextToRead: at }, kept?.own);
    lane.begin(facts, at);
    if (lane.life !== undefined) this.#context.lives.set(partitionKey(lane), lane.life);
  }

  /** A new lane for the topic's new life, from its first offset on: a commit that is there is of the old one. */
  beginLife(lane: LaneState): void {
    const abandonedRecords = lane.drop();
    if (abandonedRecords > 0)
      this.#context.observe({ kind: 'lane-reopened', lane: lane.tp, cause: new Error('its topic was made anew'), abandonedRecords });
    this.#context.broker.pause([lane]);
    this.#context.lives.delete(partitionKey(lane));
    this.#context.addLane(lane.tp).reopenAt = 0;
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
}

function isOffset(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
