import { CANARY_REASON } from '@tailrace/events';
import type { AppliedCounts, ChannelPosition } from '@tailrace/kafka-kit';
import { addDigest, checksumText } from '@tailrace/kafka-kit/digest';
import { type ChainId, chainText, type OffsetRange } from './records.ts';
import type { PlanWindow } from './replay-plan.ts';
import { planMark, type StoredPlan } from './replay-plans.ts';
import type { Missing } from './replay-sources.ts';

/** What was sent of one partition, when the sending was over. */
export interface SentPartition extends ChainId {
  /** The side channel's topic and its life; the partition is the origin's. */
  readonly sideTopic: string;
  readonly sideIncarnation: string;
  /** Everything that was sent stands below this offset of the side channel. */
  readonly sideNext: number;
  readonly records: number;
  /** Of keys and values. */
  readonly bytes: number;
  /** Sum of the records' replay digests, 16 hexadecimal digits. */
  readonly checksum: string;
  /** Where the records were read; those that an interrupted sender had sent are in neither. */
  readonly fromLake: number;
  readonly fromKafka: number;
  /** Offsets without a record that were passed: by the ledger's words, and voids. */
  readonly lost: number;
  readonly beforeArchive: number;
  readonly voids: number;
}

/** The end of the sending: everything of the plan, or everything up to its cancelling. */
export interface SentReport {
  readonly plan: number;
  readonly endedAtMs: number;
  readonly cancelled: boolean;
  readonly partitions: readonly SentPartition[];
}

/** What became of the records, each counted once. */
export type Applied = Omit<AppliedCounts, 'through'>;

/** Offsets that the plan named as not to be had any more. `hole`: nobody had declared them. */
export type MissingOffsets = OffsetRange & Pick<Missing, 'kind'>;

export interface ReceiptPartition extends SentPartition {
  readonly missing: readonly MissingOffsets[];
  readonly applied: Applied;
  /** Records that were sent and were not applied: nothing that is still to come. */
  readonly gone: number;
  /** What was applied is exactly what was sent. */
  readonly agrees: boolean;
}

/** What a replay did. */
export interface Receipt {
  readonly run: number;
  readonly plan: number;
  readonly into: string;
  readonly window: PlanWindow;
  readonly where?: readonly string[];
  readonly keepDays?: number;
  readonly startedAtMs: number;
  readonly sentAtMs: number;
  readonly madeAtMs: number;
  readonly cancelled: boolean;
  readonly sent: Pick<SentPartition, 'records' | 'bytes' | 'checksum' | 'fromLake' | 'fromKafka'>;
  readonly applied: Applied;
  readonly gone: number;
  /** How many offsets of the window were gone before the plan was made, and nobody had declared them. */
  readonly holes: number;
  readonly agrees: boolean;
  readonly partitions: readonly ReceiptPartition[];
}

/** Where the consumer stands, or stood, in each life of its side channels, by `lifeKey`. */
export type ChannelPositions = ReadonlyMap<string, ChannelPosition>;

/** What Kafka says of the partitions of side channels now, by `sideKey`. */
export type SideExtents = ReadonlyMap<string, { readonly incarnation: string; readonly logStart: number }>;

export function sideKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** One life of a partition of a side channel. */
export function lifeKey(topic: string, incarnation: string, partition: number): string {
  return `${topic}~${incarnation}/${partition}`;
}

const NOTHING: Applied = { stored: 0, skipped: {}, dead: 0, retried: 0, checksum: checksumText(0n) };

/** How many records that were sent the consumer has not settled yet, at most. `mark`: the plan's (`planMark`). */
export function notApplied(sent: readonly SentPartition[], channels: ChannelPositions, mark: string): number {
  return sent.reduce((sum, each) => {
    if (isApplied(each, channels)) return sum;
    const { stored, dead, skipped } = appliedOf(each, channels, mark);
    return sum + Math.max(1, each.records - stored - dead - total(skipped));
  }, 0);
}

/** Whether something that is not applied can not come any more: the side channel was made anew, or no longer holds anything of what was sent. */
export function canNotCome(report: SentReport, channels: ChannelPositions, now: SideExtents): boolean {
  return report.partitions.some((each) => !isApplied(each, channels) && isGone(each, now));
}

function isGone({ sideTopic, sideIncarnation, sideNext, partition }: SentPartition, now: SideExtents): boolean {
  // A topic that is missing says nothing: a broker may just not know of it yet.
  const extent = now.get(sideKey(sideTopic, partition));
  return extent !== undefined && (extent.incarnation !== sideIncarnation || extent.logStart >= sideNext);
}

function isApplied(sent: SentPartition, channels: ChannelPositions): boolean {
  if (sent.records === 0) return true;
  const position = channels.get(lifeKey(sent.sideTopic, sent.sideIncarnation, sent.partition));
  return position !== undefined && position.nextToRead >= sent.sideNext;
}

function appliedOf({ sideTopic, sideIncarnation, partition }: SentPartition, channels: ChannelPositions, mark: string): Applied {
  const counts = channels.get(lifeKey(sideTopic, sideIncarnation, partition))?.plans[mark];
  if (counts === undefined) return NOTHING;
  const { through: _, ...applied } = counts;
  return applied;
}

/** The receipt of a run; undefined while a record that was sent may still be applied. `now`: nothing said, everything may. */
export function makeReceipt(
  plan: StoredPlan,
  run: { readonly id: number; readonly madeAtMs: number },
  report: SentReport,
  channels: ChannelPositions,
  nowMs: number,
  now: SideExtents = new Map(),
): Receipt | undefined {
  if (!report.partitions.every((each) => isApplied(each, channels) || isGone(each, now))) return undefined;
  const partitions = report.partitions.map((sent): ReceiptPartition => {
    const applied = appliedOf(sent, channels, planMark(plan));
    const counted = applied.stored + applied.dead + total(applied.skipped);
    const gone = Math.max(0, sent.records - counted);
    return {
      ...sent,
      missing: missingOf(plan, sent),
      applied,
      gone,
      agrees: counted === sent.records && applied.checksum === sent.checksum,
    };
  });
  const { into, window, where, keepDays } = plan;
  return {
    run: run.id,
    plan: plan.id,
    into,
    window,
    ...(where === undefined ? {} : { where }),
    ...(keepDays === undefined ? {} : { keepDays }),
    startedAtMs: run.madeAtMs,
    sentAtMs: report.endedAtMs,
    madeAtMs: nowMs,
    cancelled: report.cancelled,
    sent: {
      records: sum(partitions, ({ records }) => records),
      bytes: sum(partitions, ({ bytes }) => bytes),
      checksum: checksums(partitions.map(({ checksum }) => checksum)),
      fromLake: sum(partitions, ({ fromLake }) => fromLake),
      fromKafka: sum(partitions, ({ fromKafka }) => fromKafka),
    },
    applied: {
      stored: sum(partitions, ({ applied }) => applied.stored),
      skipped: merged(partitions.map(({ applied }) => applied.skipped)),
      dead: sum(partitions, ({ applied }) => applied.dead),
      retried: sum(partitions, ({ applied }) => applied.retried),
      checksum: checksums(partitions.map(({ applied }) => applied.checksum)),
    },
    gone: sum(partitions, ({ gone }) => gone),
    holes: sum(partitions, ({ missing }) => sum(missing, ({ kind, first, next }) => (kind === 'hole' ? next - first : 0))),
    agrees: partitions.every(({ agrees }) => agrees),
    partitions,
  };
}

function missingOf({ partitions }: StoredPlan, chain: ChainId): readonly MissingOffsets[] {
  const planned = partitions.find((each) => chainText(each) === chainText(chain));
  return (planned?.missing ?? []).map(({ first, next, kind }) => ({ first, next, kind }));
}

/** How many of the records were canaries, which a consumer skips whatever its state. */
export function canaries({ skipped }: Pick<Applied, 'skipped'>): number {
  return skipped[CANARY_REASON] ?? 0;
}

/** Whether the receipt says that every record of the window reached the consumer, none of them died there, and it did not skip them all. */
export function isGood({ agrees, cancelled, sent, applied, holes }: Receipt): boolean {
  const isUseless = sent.records > canaries(applied) && applied.stored === 0;
  return agrees && !cancelled && applied.dead === 0 && holes === 0 && !isUseless;
}

/** In one word with the chain: which partitions do not agree. */
export function disagreeing({ partitions }: Receipt): readonly string[] {
  return partitions.filter(({ agrees }) => !agrees).map(chainText);
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((soFar, each) => soFar + of(each), 0);
}

function total(counts: Readonly<Record<string, number>>): number {
  return sum(Object.values(counts), (count) => count);
}

function merged(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const each of all) for (const [reason, count] of Object.entries(each)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  return Object.fromEntries(counts);
}

function checksums(all: readonly string[]): string {
  return checksumText(all.reduce((soFar, each) => addDigest(soFar, BigInt(`0x${each}`)), 0n));
}
