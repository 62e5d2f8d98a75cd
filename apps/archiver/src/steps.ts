import { backoffMs } from '@tailrace/kafka-kit';
import { type ChainId, type Extended, StillThere } from '@tailrace/lake';
import type { Step } from './archive-events.ts';
import type { ArchivePorts } from './archive-ports.ts';
import { Abandoned, NotVoid, SpoolLost, TopicMadeAnew } from './faults.ts';
import type { LaneLife } from './lane-life.ts';

export interface Attempt {
  readonly step: Step;
  readonly sinceMs: number;
}

/** How far one object has come, and whether it is still wanted. */
export interface Progress {
  /** The claim is ours: the object must follow it, also when the lane is given up. */
  claimed: boolean;
  /** Aborted when the lane is given up: then nothing new is claimed. */
  readonly unclaimed: AbortSignal;
  /** Aborted when nobody waits any more, not even for the object of a claim. */
  readonly all: AbortSignal;
  readonly life: LaneLife;
  /** Is told which attempt is under way, and when none is. */
  readonly attempted: (attempt: Attempt | undefined) => void;
}

/** Faults that no further attempt can mend: the lane is given up, and opened again from the chain's end. */
const FINAL = [SpoolLost, NotVoid, StillThere] as const;

/** Runs a step until it succeeds. */
export async function again<T>(ports: ArchivePorts, chain: ChainId, step: Step, progress: Progress, work: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    const wanted = progress.claimed ? progress.all : progress.unclaimed;
    if (wanted.aborted)
      throw new Abandoned(chain, progress.claimed ? 'the time to write a claimed object is over' : 'they were not claimed yet');
    progress.attempted({ step, sinceMs: ports.clock.nowMs() });
    try {
      return await work();
    } catch (cause) {
      if (FINAL.some((fault) => cause instanceof fault)) throw cause;
      ports.observe({ kind: 'step-failed', chain, step, attempts, cause });
    } finally {
      progress.attempted(undefined);
    }
    await ports.clock.sleep(backoffMs(ports.backoff, attempts - 1), progress.claimed ? progress.all : progress.unclaimed);
  }
}

/**
 * Whether everything below `next` is of the chain's own topic. Where the topic is another one now, it waits until the lane is told up to
 * where its records are known to be the old one's, and answers false where that is below `next`.
 */
export async function isOfItsTopic(ports: ArchivePorts, chain: ChainId, progress: Progress, next: number): Promise<boolean> {
  const { life } = progress;
  return await again(ports, chain, 'look up the topic', progress, async () => {
    if (life.cutAt !== undefined) return next <= life.cutAt;
    const present = await ports.incarnation(chain.topic);
    if (present === chain.incarnation) return life.prove(next);
    if (life.cutAt !== undefined) return next <= life.cutAt;
    life.doubt();
    throw new TopicMadeAnew(chain, present);
  });
}

/** Whether somebody else extended the chain first; tells it. */
export function wasMet({ observe }: ArchivePorts, chain: ChainId, { met }: Extended): boolean {
  if (met === undefined) return false;
  const { first, next } = met.entry;
  observe({ kind: 'claim-met', chain, first, next });
  observe({ kind: 'claim-checked', chain, first, next, repair: met.repair });
  return true;
}
