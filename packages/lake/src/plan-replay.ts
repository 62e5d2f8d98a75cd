import type { ChainId } from './records.ts';
import { holdsWanted, type PlannedPartition, type PlanSources, type PlanWindow, planPartition, spanOf } from './replay-plan.ts';
import type { ChainPart } from './replay-sources.ts';

/** One life of a topic, with the broker times of its oldest and newest record that were seen. */
export interface TopicLife extends Pick<ChainId, 'topic' | 'incarnation'> {
  readonly oldestMs: number | null;
  readonly newestMs: number | null;
}

/**
 * What a window comes to. `planned`: the partitions that hold something of it, or have lost it. `too-old`: it ends before the oldest record
 * that the lake and Kafka hold; null where one holds none. `anew`: a topic was made anew inside of it, and a plan never mixes two lives.
 */
export type Planning =
  | { readonly kind: 'planned'; readonly partitions: readonly PlannedPartition[] }
  | { readonly kind: 'too-old'; readonly lakeMs: number | null; readonly kafkaMs: number | null }
  | { readonly kind: 'anew'; readonly lives: readonly TopicLife[] };

/** Resolves a window over all partitions, of all lives of the stream's topics. */
export function planReplay(window: PlanWindow, all: readonly PlanSources[]): Planning {
  const lakeMs = least(all.flatMap(({ parts }) => timesIn(parts)));
  const kafkaMs = least(all.map(({ log }) => log?.marks[0]?.timestampMs ?? null));
  const oldestMs = least([lakeMs, kafkaMs]);
  if (oldestMs === null || spanOf(window).toMs <= oldestMs) return { kind: 'too-old', lakeMs, kafkaMs };

  const wanted: PlanSources[] = [];
  for (const topic of new Set(all.map((each) => each.topic))) {
    const of = all.filter((each) => each.topic === topic);
    const lives = [...new Set(of.filter((each) => holdsWanted(window, each)).map(({ incarnation }) => incarnation))];
    if (lives.length > 1) return { kind: 'anew', lives: lives.map((life) => lifeOf(of.filter(({ incarnation }) => incarnation === life))) };
    const [life] = lives;
    // Where nothing of it is held, the present life says what is missing of it.
    wanted.push(...of.filter(({ incarnation, log }) => (life === undefined ? log !== null : incarnation === life)));
  }
  const partitions = wanted.map((sources) => planPartition(window, sources));
  return { kind: 'planned', partitions: partitions.filter(({ ranges, missing }) => ranges.length > 0 || missing.length > 0) };
}

function lifeOf(partitions: readonly PlanSources[]): TopicLife {
  const times = partitions.flatMap(({ parts, log }) => [...timesIn(parts), ...(log?.marks ?? []).map(({ timestampMs }) => timestampMs)]);
  const newestMs = times.reduce<number | null>((newest, time) => Math.max(newest ?? time, time), null);
  return { topic: partitions[0]?.topic ?? '', incarnation: partitions[0]?.incarnation ?? '', oldestMs: least(times), newestMs };
}

/** The times of those that were read: the hours of the others are no times of records. */
function timesIn(parts: readonly ChainPart[]): readonly number[] {
  return parts.flatMap((part) => (part.kind === 'data' && part.isOfHour !== true ? [part.minTimestampMs, part.maxTimestampMs] : []));
}

function least(times: readonly (number | null)[]): number | null {
  return times.reduce<number | null>((least, time) => (time === null ? least : Math.min(least ?? time, time)), null);
}
