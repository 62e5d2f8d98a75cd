import type { PartitionFacts } from '../broker/broker-consumer.ts';
import type { Gap } from '../consume/contract.ts';

/** Where a group without any commit begins. */
export type StartPolicy = 'earliest' | 'latest';

/** The position a lane opens at, before it is held against the log: the sink's word, else where it was, else the commit, else the start. */
export function openingPosition(facts: PartitionFacts, wanted: { sink?: number; reopenAt?: number; start: StartPolicy }): number {
  return wanted.sink ?? wanted.reopenAt ?? facts.committed ?? (wanted.start === 'earliest' ? facts.logStart : facts.logEnd);
}

type Log = Pick<PartitionFacts, 'logStart' | 'logEnd'>;

/** The next offset to read, and the life of the topic that it is of: undefined where nobody knows. */
export interface Standing {
  readonly position: number;
  readonly incarnation: string | undefined;
}

/** What is wrong with reading on at `position`: below the log's start (expired) or above its end (truncated). */
export function gapAt({ logStart, logEnd }: Log, position: number): Gap | undefined {
  if (position < logStart) return { kind: 'expired', from: position, to: logStart };
  if (position > logEnd) return { kind: 'truncated', from: logEnd, to: position };
  return undefined;
}

/** As `gapAt`, and before it: in another life of the topic an offset means another record, whatever the log holds. */
export function classify(facts: Log & { readonly incarnation: string }, { position, incarnation }: Standing): Gap | undefined {
  if (incarnation !== undefined && incarnation !== facts.incarnation) return { kind: 'recreated', from: position, to: position };
  return gapAt(facts, position);
}

/** What an unexpected `delivered` offset means, given facts looked up after it was delivered. */
export type Jump =
  | { readonly kind: 'gap'; readonly gap: Gap }
  | { readonly kind: 'void'; readonly gap: Gap }
  /** The log is whole around the expected offset: the client delivered out of turn, and is set back there. */
  | { readonly kind: 'stray' };

export function classifyJump(facts: Log & { readonly incarnation: string }, expected: Standing, delivered: number): Jump {
  const gap = classify(facts, expected);
  if (gap !== undefined) return { kind: 'gap', gap };
  if (delivered > expected.position) return { kind: 'void', gap: { kind: 'void', from: expected.position, to: delivered } };
  return { kind: 'stray' };
}
