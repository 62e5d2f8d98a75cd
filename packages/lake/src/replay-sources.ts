import { within, without } from './ranges.ts';
import type { ChainId, OffsetRange } from './records.ts';

/** One stretch of a chain. `data`: records that stand in an object, with broker times. The others hold none. */
export type ChainPart = OffsetRange &
  (
    | {
        readonly kind: 'data';
        readonly minTimestampMs: number;
        readonly maxTimestampMs: number;
        readonly rows: number;
        /** Of the object; undefined where it was not looked at. */
        readonly bytes?: number;
        /** Its entry was not read: the times are those of its hour, and the rows are not counted. */
        readonly isOfHour?: true;
      }
    | { readonly kind: 'before-archive' | 'void' | 'lost' }
  );

/** The broker time of the first record at or above an offset. */
export interface Mark {
  readonly offset: number;
  readonly timestampMs: number;
}

/** A partition's log in Kafka, as far as it was looked at. */
export interface LogSource {
  readonly logStart: number;
  /** The high watermark. */
  readonly logEnd: number;
  /** Some of its records, in the order of offsets; the first one is the log's first. Empty where none can be read. */
  readonly marks: readonly Mark[];
}

/** All that a replay can read of one partition of one life of a topic. */
export interface PartitionSources extends ChainId {
  /** In the order of offsets, up to the chain's end. What no part covers is in no object, and nobody has declared it. */
  readonly parts: readonly ChainPart[];
  /** Null where Kafka holds this life of the topic no longer. */
  readonly log: LogSource | null;
  /** Whether any partition of this life has a chain: then what Kafka deleted in front of one is a hole, and else it was before the archive. */
  readonly archived: boolean;
}

/** A stretch of which no reader gets anything. `hole`: nobody has declared it. */
export interface Missing extends OffsetRange {
  readonly kind: 'hole' | 'lost' | 'before-archive';
  /** Broker times between which it lies: of the records before and behind it. Null where there is none. */
  readonly afterMs: number | null;
  readonly beforeMs: number | null;
}

/** The first offset behind everything that the chain covers. */
export function chainEnd({ parts }: Pick<PartitionSources, 'parts'>): number {
  return parts.at(-1)?.next ?? 0;
}

/** What no object holds below the chain's end, or below Kafka's start, in the order of offsets; Kafka may hold it. */
export function notInLake(sources: PartitionSources): readonly Missing[] {
  const { parts, log, archived } = sources;
  // In a life that is not archived at all it was there before any archive.
  const kind = archived ? 'hole' : 'before-archive';
  const found: Missing[] = [];
  let at = 0;
  for (const part of parts) {
    if (part.first > at) found.push(between(sources, { first: at, next: part.first }, kind));
    if (part.kind === 'lost' || part.kind === 'before-archive') found.push(between(sources, part, part.kind));
    at = Math.max(at, part.next);
  }
  if (log !== null && log.logStart > at) found.push(between(sources, { first: at, next: log.logStart }, kind));
  return found;
}

/** What of it Kafka does not hold either. */
export function missingIn(sources: PartitionSources): readonly Missing[] {
  return notInLake(sources).flatMap((each) => without(each, logRanges(sources)).map((left) => ({ ...each, ...left })));
}

/** The stretch with the broker times around it. */
function between(sources: PartitionSources, range: OffsetRange, kind: Missing['kind']): Missing {
  let afterMs: number | null = null;
  let beforeMs: number | null = null;
  for (const part of sources.parts) {
    if (part.kind !== 'data') continue;
    if (part.first < range.first) afterMs = part.maxTimestampMs;
    else beforeMs ??= part.minTimestampMs;
  }
  beforeMs ??= sources.log?.marks.find(({ offset }) => offset >= range.first)?.timestampMs ?? null;
  return { first: range.first, next: range.next, kind, afterMs, beforeMs };
}

/** Its log as a list of one range or none. */
function logRanges({ log }: PartitionSources): readonly OffsetRange[] {
  return log === null ? [] : [{ first: log.logStart, next: log.logEnd }];
}

/** What of the ranges the lake and Kafka hold now; a stretch may be in both. */
export function whereNow(sources: PartitionSources, ranges: readonly OffsetRange[]): { lake: OffsetRange[]; kafka: OffsetRange[] } {
  const data = sources.parts.filter(({ kind }) => kind === 'data');
  return { lake: meeting(ranges, data), kafka: meeting(ranges, logRanges(sources)) };
}

function meeting(ranges: readonly OffsetRange[], held: readonly OffsetRange[]): OffsetRange[] {
  return joined(ranges.flatMap((range) => within(held, range)));
}

/** The ranges in order, with those that touch or overlap as one. */
export function joined(ranges: readonly OffsetRange[]): OffsetRange[] {
  const result: { first: number; next: number }[] = [];
  for (const { first, next } of [...ranges].sort((a, b) => a.first - b.first)) {
    const last = result.at(-1);
    if (last !== undefined && first <= last.next) last.next = Math.max(last.next, next);
    else result.push({ first, next });
  }
  return result;
}
