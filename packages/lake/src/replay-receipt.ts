import type { AppliedCounts, ChannelPosition } from '@tailrace/kafka-kit';
import { addDigest, checksumText } from '@tailrace/kafka-kit/digest';
import { type ChainId, chainText } from './records.ts';
import type { PlanWindow } from './replay-plan.ts';
import { planMark, type StoredPlan } from './replay-plans.ts';

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

const WHOLE = ['partition', 'sideNext', 'records', 'bytes', 'fromLake', 'fromKafka', 'lost', 'beforeArchive', 'voids'] as const;
const TEXTS = ['topic', 'incarnation', 'sideTopic', 'sideIncarnation'] as const;
const CHECKSUM = /^[0-9a-f]{16}$/;

/** Whether something that was read is a report. */
export function isSentReport(value: object): value is SentReport {
  const { plan, endedAtMs, cancelled, partitions } = value as Readonly<Record<string, unknown>>;
  if (!Number.isSafeInteger(plan) || !Number.isSafeInteger(endedAtMs) || typeof cancelled !== 'boolean') return false;
  return Array.isArray(partitions) && partitions.every(isSentPartition);
}

function isSentPartition(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  if (!WHOLE.every((name) => Number.isSafeInteger(fields[name]) && Number(fields[name]) >= 0)) return false;
  return TEXTS.every((name) => typeof fields[name] === 'string') && CHECKSUM.test(String(fields.checksum));
}

/** What became of the records, each counted once. */
export type Applied = Omit<AppliedCounts, 'through'>;

export interface ReceiptPartition extends SentPartition {
  readonly applied: Applied;
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
  readonly agrees: boolean;
  readonly partitions: readonly ReceiptPartition[];
}

/** Where the consumer stands on the side channel, by `sideKey`. */
export type ChannelPositions = ReadonlyMap<string, ChannelPosition>;

export function sideKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
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

function isApplied(sent: SentPartition, channels: ChannelPositions): boolean {
  if (sent.records === 0) return true;
  const position = channels.get(sideKey(sent.sideTopic, sent.partition));
  return position !== undefined && position.incarnation === sent.sideIncarnation && position.nextToRead >= sent.sideNext;
}

function appliedOf({ sideTopic, sideIncarnation, partition }: SentPartition, channels: ChannelPositions, mark: string): Applied {
  const position = channels.get(sideKey(sideTopic, partition));
  const counts = position?.incarnation === sideIncarnation ? position.plans[mark] : undefined;
  if (counts === undefined) return NOTHING;
  const { through: _, ...applied } = counts;
  return applied;
}

/** The receipt of a run; undefined while a record that was sent is not applied yet. */
export function makeReceipt(
  plan: StoredPlan,
  run: { readonly id: number; readonly madeAtMs: number },
  report: SentReport,
  channels: ChannelPositions,
  nowMs: number,
): Receipt | undefined {
  if (!report.partitions.every((each) => isApplied(each, channels))) return undefined;
  const partitions = report.partitions.map((sent): ReceiptPartition => {
    const applied = appliedOf(sent, channels, planMark(plan));
    const counted = applied.stored + applied.dead + total(applied.skipped);
    return { ...sent, applied, agrees: counted === sent.records && applied.checksum === sent.checksum };
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
    agrees: partitions.every(({ agrees }) => agrees),
    partitions,
  };
}

/** Whether the receipt says that every record of the plan reached the consumer, and none of them died there. */
export function isGood({ agrees, cancelled, applied }: Receipt): boolean {
  return agrees && !cancelled && applied.dead === 0;
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
