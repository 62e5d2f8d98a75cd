/**
 * What a replay keeps in the positions' topic, beside the positions of live groups: of the consumer of a side channel its position with what became
 * of each plan's records below it, in one value, so that they can not contradict each other; of the sender how far it got.
 */
import type { OutgoingRecord } from '../publish/contract.ts';
import type { RawRecord, TopicPartition } from '../records.ts';

/** What became of one plan's records in one partition of a side channel, each counted once, by its origin's offset. */
export interface AppliedCounts {
  /** The highest origin offset of the plan that was settled; what comes again at or below it is not counted again. */
  readonly through: number;
  readonly stored: number;
  /** By reason. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly dead: number;
  /** How often a record was to be tried again. */
  readonly retried: number;
  /** Sum of the records' replay digests, 16 hexadecimal digits. */
  readonly checksum: string;
}

/** Where the consumer of a side channel stands. `plans` by their names (notes `replay.plan`). */
export interface ChannelPosition extends TopicPartition {
  /** The life of the side topic. */
  readonly incarnation: string;
  readonly nextToRead: number;
  readonly plans: Readonly<Record<string, AppliedCounts>>;
}

/** How far a plan was sent, for one partition. It stands from before its first record is sent until its receipt does. */
export interface SentPosition extends TopicPartition {
  /** The group that gets the records; `topic` and `partition` are the side channel's. */
  readonly group: string;
  readonly plan: string;
  /** The life of the side topic. */
  readonly incarnation: string;
  /** Everything of the plan at or below `through` stands in the side channel below this offset. */
  readonly sideNext: number;
  /** The highest origin offset sent; -1 before the first. */
  readonly through: number;
  /** Distinct origin offsets. */
  readonly records: number;
  readonly bytes: number;
  /** Sum of the records' replay digests, 16 hexadecimal digits. */
  readonly checksum: string;
}

export type ChannelRecord =
  | { readonly kind: 'channel'; readonly group: string; readonly position: ChannelPosition }
  | { readonly kind: 'sent'; readonly sent: SentPosition }
  | { readonly kind: 'sent-dropped'; readonly sent: SentKey }
  | { readonly kind: 'other' }
  | { readonly kind: 'unreadable' };

/** What names a sender's record. */
export type SentKey = Pick<SentPosition, 'group' | 'plan' | 'topic' | 'partition'>;

const POSITION = 'position';
const SENT = 'sent';
const INCARNATION = /^[A-Za-z0-9_-]{8}$/;
const CHECKSUM = /^[0-9a-f]{16}$/;

/** The consumer's record: a position that other readers of positions understand too. `group` is the side channel's own. */
export function channelRecord(to: TopicPartition, group: string, position: ChannelPosition): OutgoingRecord {
  const { topic, partition, incarnation, nextToRead, plans } = position;
  return { ...to, key: keyOf([POSITION, group, topic, partition]), value: bodyOf({ incarnation, next: nextToRead, plans }) };
}

export function sentRecord(to: TopicPartition, sent: SentPosition): OutgoingRecord {
  const { incarnation, sideNext, through, records, bytes, checksum } = sent;
  return { ...to, key: sentKey(sent), value: bodyOf({ incarnation, sideNext, through, records, bytes, checksum }) };
}

/** Takes the sender's record away: the receipt stands. */
export function sentTombstone(to: TopicPartition, sent: SentKey): OutgoingRecord {
  return { ...to, key: sentKey(sent), value: null };
}

/** Reads strictly: half of it would make a wrong receipt. A position without plans is one of a channel that has applied none. */
export function readChannelRecord({ key, value }: Pick<RawRecord, 'key' | 'value'>): ChannelRecord {
  const parts = json(key);
  if (!Array.isArray(parts)) return { kind: 'unreadable' };
  const [kind, group, ...rest] = parts as readonly unknown[];
  if (kind === POSITION && rest.length === 2) return readChannel(group, rest, value);
  if (kind === SENT && rest.length === 3) return readSent(group, rest, value);
  return typeof kind === 'string' ? { kind: 'other' } : { kind: 'unreadable' };
}

function readChannel(group: unknown, [topic, partition]: readonly unknown[], value: Buffer | null): ChannelRecord {
  if (value === null) return { kind: 'other' };
  const said = json(value);
  if (!isText(group) || !isText(topic) || !isWhole(partition) || !isFields(said)) return { kind: 'unreadable' };
  const { incarnation, next, plans = {} } = said;
  if (!isIncarnation(incarnation) || !isWhole(next) || !isFields(plans)) return { kind: 'unreadable' };
  const entries = Object.entries(plans);
  if (!entries.every(([, counts]) => isApplied(counts))) return { kind: 'unreadable' };
  const read = Object.fromEntries(entries) as Record<string, AppliedCounts>;
  return { kind: 'channel', group, position: { topic, partition, incarnation, nextToRead: next, plans: read } };
}

function readSent(group: unknown, [plan, topic, partition]: readonly unknown[], value: Buffer | null): ChannelRecord {
  if (!isText(group) || !isText(plan) || !isText(topic) || !isWhole(partition)) return { kind: 'unreadable' };
  const named = { group, plan, topic, partition };
  if (value === null) return { kind: 'sent-dropped', sent: named };
  const said = json(value);
  if (!isFields(said)) return { kind: 'unreadable' };
  const { incarnation, sideNext, through, records, bytes, checksum } = said;
  if (!isIncarnation(incarnation) || !isWhole(sideNext) || !Number.isSafeInteger(through) || Number(through) < -1)
    return { kind: 'unreadable' };
  if (!isWhole(records) || !isWhole(bytes) || !isChecksum(checksum)) return { kind: 'unreadable' };
  return { kind: 'sent', sent: { ...named, incarnation, sideNext, through: Number(through), records, bytes, checksum } };
}

function isApplied(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { through, stored, skipped, dead, retried, checksum } = value;
  if (![through, stored, dead, retried].every(isWhole) || !isChecksum(checksum)) return false;
  return isFields(skipped) && Object.values(skipped).every(isWhole);
}

function keyOf(parts: readonly (string | number)[]): Buffer {
  return Buffer.from(JSON.stringify(parts));
}

function sentKey({ group, plan, topic, partition }: SentKey): Buffer {
  return keyOf([SENT, group, plan, topic, partition]);
}

function bodyOf(fields: object): Buffer {
  return Buffer.from(JSON.stringify(fields));
}

function json(bytes: Buffer | null): unknown {
  if (bytes === null) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // Safe: what is no JSON is unreadable, which is the answer.
    return undefined;
  }
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isIncarnation = (value: unknown): value is string => typeof value === 'string' && INCARNATION.test(value);
const isChecksum = (value: unknown): value is string => typeof value === 'string' && CHECKSUM.test(value);
