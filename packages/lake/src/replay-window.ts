import type { ChainId, OffsetRange } from './records.ts';
import { chainEnd, type Missing, missingIn, type PartitionSources } from './replay-sources.ts';

/** The first record that can be had from a source, by its broker time in ms since 1970. */
export interface Oldest {
  readonly offset: number;
  readonly timestampMs: number;
}

/** From when on one partition can be replayed. */
export interface PartitionWindow extends ChainId {
  /** Null where Kafka holds this life of the topic no longer. `oldest` is null where its log holds no record that can be read. */
  readonly kafka: { readonly oldest: Oldest | null; readonly logStart: number; readonly logEnd: number } | null;
  /** Null where nothing was archived. `oldest` is null where the chain holds no record; the lake has everything below `end` that is not declared. */
  readonly lake: { readonly oldest: Oldest | null; readonly newestMs: number | null; readonly end: number } | null;
  /** What neither holds and nobody has declared. */
  readonly holes: readonly Missing[];
  /** What is gone, as declared, or from before there was an archive. */
  readonly gone: readonly Missing[];
  /** The instant from which on every record can be had, declared losses aside; null where there is no record. */
  readonly sinceMs: number | null;
}

/** From when on, from where, and with which holes a partition can be replayed. */
export function partitionWindow(sources: PartitionSources): PartitionWindow {
  const { topic, incarnation, partition, parts, log } = sources;
  const data = parts.filter((part) => part.kind === 'data');
  const [first] = data;
  const mark = log?.marks[0];
  const missing = missingIn(sources);
  const holes = missing.filter(({ kind }) => kind === 'hole');
  const gone = missing.filter(({ kind }) => kind !== 'hole');
  const lake: PartitionWindow['lake'] =
    parts.length === 0
      ? null
      : {
          oldest: first === undefined ? null : { offset: first.first, timestampMs: first.minTimestampMs },
          newestMs: data.at(-1)?.maxTimestampMs ?? null,
          end: chainEnd(sources),
        };
  const kafka =
    log === null
      ? null
      : {
          oldest: mark === undefined ? null : { offset: mark.offset, timestampMs: mark.timestampMs },
          logStart: log.logStart,
          logEnd: log.logEnd,
        };
  const since = sinceMs(sources, holes.at(-1));
  return { topic, incarnation, partition, kafka, lake, holes, gone, sinceMs: since };
}

/** The broker time of the first record behind the last hole. */
function sinceMs({ parts, log }: PartitionSources, hole: OffsetRange | undefined): number | null {
  const from = hole?.next ?? 0;
  const archived = parts.find((part) => part.kind === 'data' && part.next > from);
  if (archived?.kind === 'data') return archived.minTimestampMs;
  return log?.marks.find(({ offset }) => offset >= from)?.timestampMs ?? null;
}

/** How long replay is true for, over all partitions of the topics as they are in Kafka now (of a stream that Kafka does not have: of all). */
export interface ReplayWindow {
  readonly partitions: readonly PartitionWindow[];
  /** From here on every partition can be replayed whole, declared losses aside. Null where no partition holds a record. */
  readonly sinceMs: number | null;
  /** The oldest record that can be had at all. */
  readonly oldestMs: number | null;
}

export function replayWindow(all: readonly PartitionSources[]): ReplayWindow {
  const partitions = all.map(partitionWindow);
  const present = partitions.filter(({ kafka }) => kafka !== null);
  const of = (times: readonly (number | null | undefined)[], pick: (...values: number[]) => number): number | null => {
    const known = times.filter((time) => time !== null && time !== undefined);
    return known.length === 0 ? null : known.reduce((a, b) => pick(a, b));
  };
  return {
    partitions,
    sinceMs: of(
      (present.length > 0 ? present : partitions).map((each) => each.sinceMs),
      Math.max,
    ),
    oldestMs: of(
      partitions.flatMap(({ kafka, lake }) => [kafka?.oldest?.timestampMs, lake?.oldest?.timestampMs]),
      Math.min,
    ),
  };
}
