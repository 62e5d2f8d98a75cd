import { type GapDone, gapDone, HALT } from '../recover/gap-policy.ts';
import { gapFinding, gapSentence } from '../recover/gap-sentence.ts';
import type { Gap } from './contract.ts';
import type { LaneState } from './lane.ts';
import type { LoopContext } from './loop-context.ts';
import { IDENTITY_CHECK_MS } from './options.ts';
import { heldBytes } from './record-columns.ts';

/** Whether a gap is believed, and what the group does about it. */
export class GapVerdict {
  readonly #context: LoopContext;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  /** `expired` is believed at once; what speaks against the log's identity is believed when a second look-up agrees. */
  believed(lane: LaneState, gap: Gap): boolean {
    if (gap.kind === 'expired' || lane.suspicion?.kind === gap.kind) return true;
    const nowMs = this.#context.clock.nowMs();
    lane.lookUp = undefined;
    const reason = `${gapFinding(this.#context.options.group, lane, gap)}; it is believed when a second look-up agrees.`;
    lane.suspicion = {
      kind: gap.kind,
      outage: { why: 'open', reason, sinceMs: nowMs, attempts: 0, retryAtMs: nowMs + IDENTITY_CHECK_MS },
    };
    return false;
  }

  /** The log is what it was: a suspicion of long ago must not make a later one believed at once. */
  sound(lane: LaneState): void {
    lane.suspicion = undefined;
    this.#context.recovered(lane, 'lookUp');
  }

  done({ kind }: Gap): GapDone {
    return gapDone(this.#context.options.gaps ?? HALT, kind);
  }

  /** The gap, longer by what is not worth reading any more; only of a group whose policy is `fresh-first`. `logEnd`: where all of it ends that there is. */
  async withStale(lane: LaneState, gap: Gap, logEnd: number): Promise<Gap> {
    const { gaps } = this.#context.options;
    if (gaps?.kind !== 'fresh-first') return gap;
    const fresh = Math.min((await gaps.freshFrom(lane.tp)) ?? logEnd, logEnd);
    return { ...gap, to: Math.max(gap.to, fresh) };
  }

  tell(lane: LaneState, gap: Gap): void {
    this.#context.observe({ kind: 'gap', lane: lane.tp, gap, done: this.done(gap) });
  }

  halt(lane: LaneState, gap: Gap, sentence = this.#sentence(lane, gap)): void {
    letGoHeld(lane);
    this.#context.observe({ kind: 'gap', lane: lane.tp, gap, done: 'halted' });
    this.#context.halt(lane, { kind: 'gap', gap, sentence });
  }

  #sentence(lane: LaneState, gap: Gap): string {
    const { gate, options } = this.#context;
    // A side channel's consumer keeps its position where a reset of the group writes it, too.
    const keeper = options.sink.assign === undefined || options.rewinds || gate !== undefined ? 'group' : 'sink';
    return gapSentence(options.group, lane, gap, keeper);
  }
}

/** Takes what a check held back out of the memory's count. */
export function letGoHeld(lane: LaneState): void {
  if (lane.phase.kind === 'checking') for (const record of lane.phase.held) lane.letGo(heldBytes(record));
}

/** Where the old life of a topic ended for the lane. */
export function recreatedAt(offset: number): Gap {
  return { kind: 'recreated', from: offset, to: offset };
}
