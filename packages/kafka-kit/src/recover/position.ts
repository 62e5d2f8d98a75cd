import type { PartitionFacts } from '../broker/broker-consumer.ts';
import type { Gap } from '../consume/contract.ts';

/** Where a group without any commit begins. */
export type StartPolicy = 'earliest' | 'latest';

/** The position a lane opens at, before it is held against the log: the sink's word, else where it was, else the commit, else the start. */
export function openingPosition(facts: PartitionFacts, wanted: { sink?: number; reopenAt?: number; start: StartPolicy }): number {
  return wanted.sink ?? wanted.reopenAt ?? facts.committed ?? (wanted.start === 'earliest' ? facts.logStart : facts.logEnd);
}

/** What is wrong with reading on at `position`: below the log's start (expired) or above its end (truncated). */
export function gapAt(facts: Pick<PartitionFacts, 'logStart' | 'logEnd'>, position: number): Gap | undefined {
  if (position < facts.logStart) return { kind: 'expired', from: position, to: facts.logStart };
  if (position > facts.logEnd) return { kind: 'truncated', from: facts.logEnd, to: position };
  return undefined;
}

/** What an unexpected `delivered` offset means, given facts looked up after it was delivered. */
export type Jump =
  | { readonly kind: 'gap'; readonly gap: Gap }
  | { readonly kind: 'void'; readonly gap: Gap }
  /** The log is whole around the expected offset: the client delivered out of turn, and is set back there. */
  | { readonly kind: 'stray' };

export function classifyJump(facts: Pick<PartitionFacts, 'logStart' | 'logEnd'>, expected: number, delivered: number): Jump {
  const gap = gapAt(facts, expected);
  if (gap !== undefined) return { kind: 'gap', gap };
  if (delivered > expected) return { kind: 'void', gap: { kind: 'void', from: expected, to: delivered } };
  return { kind: 'stray' };
}

/** Whose word decides where a lane begins: the group’s commit in Kafka, or the sink’s own (it answers `assign`). */
export type PositionKeeper = 'group' | 'sink';

/** One sentence for people: what is missing, where, and the way out. */
export function gapSentence(group: string, tp: { topic: string; partition: number }, gap: Gap, keeper: PositionKeeper): string {
  const range = `offsets ${gap.from} to ${gap.to - 1} of ${tp.topic}, partition ${tp.partition}`;
  const reset = `kafka-consumer-groups --reset-offsets --group ${group} --topic ${tp.topic}:${tp.partition}`;
  const way =
    keeper === 'group'
      ? `to go on, stop the group and set another offset with ${reset}`
      : 'its sink keeps the position, and can not pass this yet';
  if (gap.kind === 'expired') return `Group ${group} needs ${range}, which Kafka no longer holds; ${way}.`;
  if (gap.kind === 'truncated')
    return `Group ${group} stands at offset ${gap.to} of ${tp.topic}, partition ${tp.partition}, but the log ends at ${gap.from}; ${way}.`;
  return `Topic ${tp.topic} was deleted and made anew while group ${group} read partition ${tp.partition}; ${way}.`;
}
