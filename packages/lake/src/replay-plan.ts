import { within } from './ranges.ts';
import type { ChainId, OffsetRange } from './records.ts';
import { chainEnd, joined, type Missing, missingIn, notInLake, type PartitionSources } from './replay-sources.ts';

/** A leader change may step the brokers' clock back: so far a window is widened, and a greater step is named. */
export const CLOCK_SLACK_MS = 5 * 60_000;

/** The records that are wanted: `fromMs <= time < toMs`, by the broker's time or by the event's own. */
export interface PlanWindow {
  readonly fromMs: number;
  readonly toMs: number;
  readonly by: 'broker' | 'event';
  /** How far an event's own time may be from the broker's; 0 by the broker's time. */
  readonly skewMs: number;
}

/** Broker times `[fromMs, toMs)`. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Kafka's time index: the first offsets whose broker times are at or behind a time. Undefined where there is none. */
export interface IndexAnswers {
  /** For the beginning and the end of the reach (`reachOf`). */
  readonly reachFrom: number | undefined;
  readonly reachTo: number | undefined;
  /** For the beginning and the end of the span that wanted records can have (`spanOf`). */
  readonly spanFrom: number | undefined;
  readonly spanTo: number | undefined;
}

export interface PlanSources extends PartitionSources {
  /** Null where there is no log. */
  readonly index: IndexAnswers | null;
}

/** The brokers' clock was seen to go back. */
export interface ClockStep {
  /** The first record behind it lies at this offset or above. */
  readonly offset: number;
  /** At least so far. */
  readonly backMs: number;
}

/** What a plan reads of one partition: offsets, never sources. */
export interface PlannedPartition extends ChainId {
  /** In order and apart from each other: every record of the window lies in them, and some that do not belong to it. */
  readonly ranges: readonly OffsetRange[];
  /** How many records they hold at most: as many as the ledger's entries say, and as many as there are offsets where nothing is archived yet. */
  readonly records: number;
  /** The size of the objects that hold what is archived of it. */
  readonly lakeBytes: number;
  /** What the window may have held, and nobody can read any more. */
  readonly missing: readonly Missing[];
  readonly clockSteps: readonly ClockStep[];
}

/** Whether a record of that time, by the clock that the window goes by, belongs to it: the first instant does, the last does not. */
export function isWanted({ fromMs, toMs }: PlanWindow, timeMs: number): boolean {
  return fromMs <= timeMs && timeMs < toMs;
}

/** The broker times that a wanted record can have. */
export function spanOf({ fromMs, toMs, skewMs }: PlanWindow): TimeSpan {
  return { fromMs: fromMs - skewMs, toMs: toMs + skewMs };
}

/** The broker times whose ledger entries a plan takes. */
export function reachOf(window: PlanWindow): TimeSpan {
  const { fromMs, toMs } = spanOf(window);
  return { fromMs: fromMs - CLOCK_SLACK_MS, toMs: toMs + CLOCK_SLACK_MS };
}

function meets(minMs: number, maxMs: number, { fromMs, toMs }: TimeSpan): boolean {
  return minMs < toMs && maxMs >= fromMs;
}

/** Whether a stretch between records of these times can hold something of the span. */
function mayMeet({ afterMs, beforeMs }: Missing, span: TimeSpan): boolean {
  const after = afterMs ?? Number.NEGATIVE_INFINITY;
  const before = beforeMs ?? Number.POSITIVE_INFINITY;
  // The clock may have gone back meanwhile.
  return meets(Math.min(after, before), Math.max(after, before), span);
}

/** Whether this life of the topic holds records that a window can want: a plan never mixes two lives. */
export function holdsWanted(window: PlanWindow, sources: PlanSources): boolean {
  const span = spanOf(window);
  if (sources.parts.some((part) => part.kind === 'data' && meets(part.minTimestampMs, part.maxTimestampMs, span))) return true;
  const { log, index } = sources;
  if (log === null || index === null || index.spanFrom === undefined) return false;
  return index.spanFrom < (index.spanTo ?? log.logEnd);
}

/**
 * Resolves a window for one partition: all entries of the ledger whose broker times meet the reach, behind the chain's end what Kafka's
 * time index answers, and what only Kafka holds of a chain with a hole. The end of the log stands for the end of the window where the index
 * has no answer, and where the clock was seen to go back by more than the slack: behind such a step the index may leave records out.
 */
export function planPartition(window: PlanWindow, sources: PlanSources): PlannedPartition {
  const { topic, incarnation, partition } = sources;
  const reach = reachOf(window);
  const clockSteps = stepsIn(sources, reach);
  const data = sources.parts.filter((part) => part.kind === 'data' && meets(part.minTimestampMs, part.maxTimestampMs, reach));
  const rest = onlyInKafka(sources, clockSteps.length > 0);
  const rows = data.reduce((sum, part) => sum + (part.kind === 'data' ? part.rows : 0), 0);
  return {
    topic,
    incarnation,
    partition,
    ranges: joined([...data, ...rest]),
    records: rest.reduce((sum, { first, next }) => sum + next - first, rows),
    lakeBytes: data.reduce((sum, part) => sum + (part.kind === 'data' ? (part.bytes ?? 0) : 0), 0),
    missing: missingIn(sources).filter((each) => mayMeet(each, reach)),
    clockSteps,
  };
}

/** What of the log no object holds and can be of the reach. */
function onlyInKafka(sources: PlanSources, stepped: boolean): readonly OffsetRange[] {
  const { log, index } = sources;
  if (log === null || index === null || index.reachFrom === undefined) return [];
  const end = chainEnd(sources);
  const tailEnd = stepped ? log.logEnd : Math.min(log.logEnd, index.reachTo ?? log.logEnd);
  const tail = end < tailEnd ? [{ first: end, next: tailEnd }] : [];
  // All that lies before the index's answer is earlier, also where the clock went back.
  const held = { first: Math.max(log.logStart, index.reachFrom), next: log.logEnd };
  // What the ledger has a hole for can have any time.
  return within([...notInLake(sources), ...tail], held);
}

/** Where the clock was seen to go back by more than the slack across times that the reach meets. */
function stepsIn(sources: PlanSources, reach: TimeSpan): readonly ClockStep[] {
  const steps: ClockStep[] = [];
  let latestMs = Number.NEGATIVE_INFINITY;
  let isBehind = false;
  for (const { offset, minMs, maxMs } of knownTimes(sources, reach)) {
    const isBack = minMs < latestMs - CLOCK_SLACK_MS && meets(minMs, latestMs, reach);
    // What follows until the clock has caught up is of the same step.
    if (isBack && !isBehind) steps.push({ offset, backMs: latestMs - minMs });
    isBehind = isBack || (isBehind && maxMs < latestMs);
    latestMs = Math.max(latestMs, maxMs);
  }
  return steps;
}

function knownTimes({ parts, log, index }: PlanSources, reach: TimeSpan) {
  const end = chainEnd({ parts });
  const archived = parts.flatMap((part) =>
    part.kind === 'data' && part.isOfHour !== true ? [{ offset: part.first, minMs: part.minTimestampMs, maxMs: part.maxTimestampMs }] : [],
  );
  const marks = (log?.marks ?? []).map(({ offset, timestampMs }) => ({ offset, minMs: timestampMs, maxMs: timestampMs }));
  // The time of that record is the end of the reach at least.
  const answer = index?.reachTo === undefined ? [] : [{ offset: index.reachTo, minMs: reach.toMs, maxMs: reach.toMs }];
  const behind = [...marks, ...answer].filter(({ offset }) => offset >= end).sort((a, b) => a.offset - b.offset);
  return [...archived, ...behind];
}
