import { isCalendarTime, isoTime } from '@tailrace/kafka-kit/time';
import type { ChainId } from './records.ts';

/** Where a lake lies within its bucket. An empty prefix is the bucket's root. */
export interface LakeLayout {
  readonly prefix: string;
  readonly stream: string;
}

const OFFSET_DIGITS = 20;
const CHAIN = '([A-Za-z0-9._-]+)~([A-Za-z0-9_-]{8})';
const OFFSET = String.raw`(\d{${OFFSET_DIGITS}})`;
const DATA_NAME = new RegExp(String.raw`^dt=(\d{4}-\d\d-\d\d)/hour=(\d\d)/${CHAIN}\+(\d+)\+${OFFSET}\.parquet$`);
const LEDGER_NAME = new RegExp(String.raw`^${CHAIN}/(\d+)/${OFFSET}(\.lost)?\.json$`);

function under(prefix: string, rest: string): string {
  return prefix === '' ? rest : `${prefix}/${rest}`;
}

function padded(offset: number): string {
  return String(offset).padStart(OFFSET_DIGITS, '0');
}

function streamRoot(lake: LakeLayout): string {
  return under(lake.prefix, `${lake.stream}/`);
}

/** The UTC day and hour that a broker time falls into; undefined where it is no broker time. */
export function arrivalHour(timestampMs: number): { readonly day: string; readonly hour: string } | undefined {
  if (!isCalendarTime(timestampMs)) return undefined;
  const text = isoTime(timestampMs);
  return { day: text.slice(0, 10), hour: text.slice(11, 13) };
}

/** The folders of that hour. Throws RangeError where it is no broker time: no parser would find the name again. */
export function hourFolder(timestampMs: number): string {
  const arrived = arrivalHour(timestampMs);
  if (arrived === undefined)
    throw new RangeError(`${isoTime(timestampMs)} names no folder of the lake: it must be within the years 1 to 9999.`);
  return `dt=${arrived.day}/hour=${arrived.hour}`;
}

/** The key of a data object whose first offset is `first` and whose rows arrived in the hour of `timestampMs`. */
export function dataKey(lake: LakeLayout, chain: ChainId, first: number, timestampMs: number): string {
  return `${streamRoot(lake)}${hourFolder(timestampMs)}/${chain.topic}~${chain.incarnation}+${chain.partition}+${padded(first)}.parquet`;
}

/** Under which all data objects of the stream lie. */
export function dataPrefix(lake: LakeLayout): string {
  return streamRoot(lake);
}

export interface DataName extends ChainId {
  readonly first: number;
  readonly day: string;
  readonly hour: string;
}

/** What a key says, or undefined when it is no data object of this lake: a server may list an upload that still goes on under a longer name. */
export function parseDataKey(lake: LakeLayout, key: string): DataName | undefined {
  const root = streamRoot(lake);
  if (!key.startsWith(root)) return undefined;
  const [, day, hour, topic, incarnation, partition, first] = DATA_NAME.exec(key.slice(root.length)) ?? [];
  if (day === undefined || hour === undefined || topic === undefined || incarnation === undefined) return undefined;
  return { day, hour, topic, incarnation, partition: Number(partition), first: Number(first) };
}

/** Under which all chains lie. */
export function ledgerPrefix(lake: LakeLayout): string {
  return under(lake.prefix, '_ledger/');
}

/** Under which the chains of all lives of a topic lie. */
export function topicPrefix(lake: LakeLayout, topic: string): string {
  return `${ledgerPrefix(lake)}${topic}~`;
}

/** A listing that starts after this key begins behind every chain of this life of the topic. */
export function behindLife(lake: LakeLayout, { topic, incarnation }: Pick<ChainId, 'topic' | 'incarnation'>): string {
  // `0` follows the slash: no key of this life is above it, and every other life's key is.
  return `${topicPrefix(lake, topic)}${incarnation}0`;
}

/** Under which one chain's entries lie, in the order of their offsets. */
export function chainPrefix(lake: LakeLayout, chain: ChainId): string {
  return `${ledgerPrefix(lake)}${chain.topic}~${chain.incarnation}/${chain.partition}/`;
}

/** A listing that starts after this key begins behind every entry of the chain. */
export function behindChain(lake: LakeLayout, chain: ChainId): string {
  // As `behindLife`.
  return `${chainPrefix(lake, chain).slice(0, -1)}0`;
}

/** The key of the entry that begins at `first`. */
export function entryKey(lake: LakeLayout, chain: ChainId, first: number): string {
  return `${chainPrefix(lake, chain)}${padded(first)}.json`;
}

/** The key of the note that nothing was left of the data which the entry at `first` claims. */
export function lostKey(lake: LakeLayout, chain: ChainId, first: number): string {
  return `${chainPrefix(lake, chain)}${padded(first)}.lost.json`;
}

/** A listing that starts after this key begins with the entry at `first`. */
export function beforeEntry(lake: LakeLayout, chain: ChainId, first: number): string {
  return `${chainPrefix(lake, chain)}${padded(first)}`;
}

export interface LedgerName extends ChainId {
  readonly first: number;
  readonly kind: 'entry' | 'lost';
}

export function parseLedgerKey(lake: LakeLayout, key: string): LedgerName | undefined {
  const root = ledgerPrefix(lake);
  if (!key.startsWith(root)) return undefined;
  const [, topic, incarnation, partition, first, lost] = LEDGER_NAME.exec(key.slice(root.length)) ?? [];
  if (topic === undefined || incarnation === undefined) return undefined;
  return { topic, incarnation, partition: Number(partition), first: Number(first), kind: lost === undefined ? 'entry' : 'lost' };
}

/** Under which the start-up proof writes; nothing there is ever read again. */
export function scratchPrefix(lake: LakeLayout): string {
  return under(lake.prefix, '_scratch/');
}
