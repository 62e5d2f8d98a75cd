import type { Gap } from '../consume/contract.ts';
import type { TopicPartition } from '../records.ts';

/** What a group does about records that it can not get any more. */
export type GapPolicy =
  /** The lane stands still and names the range and the way out. */
  | { readonly kind: 'halt' }
  /** Counted, logged, and on. */
  | { readonly kind: 'skip' }
  /** The sink is told, writes it down for good, and then the lane goes on. */
  | { readonly kind: 'record-and-go-on' }
  /**
   * What Kafka no longer holds is read from a history, in order, and then the lane goes on from Kafka. `retentionMs`: how long a topic keeps its records,
   * by its name; of a topic that is not in it all is read from the history that it has.
   */
  | { readonly kind: 'restore'; readonly retentionMs?: ReadonlyMap<string, number> }
  /**
   * The lane goes on where its newest records begin that are worth reading, never below the log's start; the sink is told what it passes.
   * `freshFrom`: the first such offset; undefined where there is none yet.
   */
  | { readonly kind: 'fresh-first'; readonly freshFrom: (partition: TopicPartition) => Promise<number | undefined> };

/**
 * What became of a gap: the lane halted before it, passed it by choice, passed it when the sink had it, reads it from a history, or passed it and
 * older records behind it (`fresh`); of a `void` there is nothing to miss.
 */
export type GapDone = 'halted' | 'skipped' | 'recorded' | 'restored' | 'fresh' | 'void';

type Done = Readonly<Record<Gap['kind'], GapDone>>;

/**
 * A truncated log halts every group: what stands below its end now may be other records under old offsets. A topic that was made
 * anew halts whoever does not write down where the old one ended.
 */
const WAYS: Readonly<Record<GapPolicy['kind'], Done>> = {
  halt: { expired: 'halted', truncated: 'halted', recreated: 'halted', void: 'void' },
  skip: { expired: 'skipped', truncated: 'halted', recreated: 'halted', void: 'void' },
  'record-and-go-on': { expired: 'recorded', truncated: 'halted', recreated: 'recorded', void: 'void' },
  restore: { expired: 'restored', truncated: 'halted', recreated: 'halted', void: 'void' },
  'fresh-first': { expired: 'fresh', truncated: 'halted', recreated: 'halted', void: 'void' },
};

export const HALT: GapPolicy = { kind: 'halt' };

export function gapDone(policy: GapPolicy, kind: Gap['kind']): GapDone {
  return WAYS[policy.kind][kind];
}
