import type { PartitionFacts } from '../broker/broker-consumer.ts';
import type { Gap } from '../consume/contract.ts';
import { partitionKey, type TopicPartition } from '../records.ts';
import type { KeptPosition } from './position-record.ts';

/** Where a group without any commit begins. */
export type StartPolicy = 'earliest' | 'latest';

/** What is kept of where a group stood, as it bears on one partition. */
export interface KeptFor {
  readonly own: KeptPosition | undefined;
  /** Whether the group has read another partition of the topic, in whatever life of it, and got on there. */
  readonly beside: boolean;
}

/** What is kept for a partition. */
export function keptFor(positions: ReadonlyMap<string, KeptPosition>, tp: TopicPartition): KeptFor {
  const own = positions.get(partitionKey(tp));
  const others = [...positions.values()].filter(({ topic, partition }) => topic === tp.topic && partition !== tp.partition);
  return { own, beside: others.some(({ first }) => first !== true) };
}

/** Where a lane opens, before that is held against the log. `new`: nobody ever stood there. `recreated`: it stood in another life of the topic. */
export interface OpeningPosition {
  readonly kind: 'known' | 'new' | 'recreated';
  readonly at: number;
}

/** What may say where a lane opens. */
export interface OpeningWords {
  /** The sink's own. */
  readonly sink?: number;
  /** Where the lane stood that this one replaces. */
  readonly reopenAt?: number;
  readonly start: StartPolicy;
  /** Undefined where positions are not kept, or could not be read. */
  readonly kept?: KeptFor | undefined;
  /** This process has read the topic in its present life: a position of another one is older than that. */
  readonly knowsLife?: boolean;
}

/**
 * The first of these that there is: the sink's word; where the lane was; a position in another life of the topic; the commit, also a lower one; the
 * position; the log's start, where the group has read the topic before; else the group's start.
 */
export function openingPosition(facts: PartitionFacts, { sink, reopenAt, start, kept, knowsLife }: OpeningWords): OpeningPosition {
  const { committed, incarnation, logStart, logEnd } = facts;
  const told = sink ?? reopenAt;
  if (told !== undefined) return { kind: 'known', at: told };
  const own = kept?.own;
  const isOld = own !== undefined && own.incarnation !== incarnation;
  if (isOld && knowsLife !== true) return { kind: 'recreated', at: own.nextToRead };
  if (committed !== null) return { kind: 'known', at: committed };
  if (own !== undefined && !isOld) return { kind: 'known', at: own.nextToRead };
  if (isOld || kept?.beside === true) return { kind: 'known', at: logStart };
  return { kind: 'new', at: start === 'earliest' ? logStart : logEnd };
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
