import type { LaneMark, Message, RuleId, Source } from '../messages/message.ts';
import { claim, covers, forgetBefore, type Span } from './spans.ts';

/** A partition of the stream, whatever the life of its topic. */
export interface StreamPartition {
  readonly topic: string;
  readonly partition: number;
}

/** What is known of one partition of the stream; undefined what was never heard. */
export interface DeciderSource extends StreamPartition {
  readonly watermarkMs: number | undefined;
  readonly heardMs: number | undefined;
  /** How far the clock of the process that counts it is ahead of the brokers'; 0 where it is not, or hardly. */
  readonly aheadMs: number;
  readonly blind: readonly (readonly [fromMs: number, toMs: number])[];
}

/** What was heard of one source partition. */
export interface Heard extends StreamPartition {
  readonly watermarkMs: number;
  readonly unread: boolean;
  readonly late: number;
  /** When the last mark came, by the decider's clock. */
  readonly atMs: number;
  /** The last mark was so far ahead of the brokers' clock: that of the process that counts the partition is. Small differences are told as 0. */
  readonly aheadMs: number;
}

interface Track {
  readonly topic: string;
  readonly partition: number;
  /** The life of the topic that counts: marks of another one are a zombie's, or nobody's. */
  incarnation: string;
  /** The limit that its last mark was held against: by the brokers' clock. */
  limitMs: number;
  readonly spans: Map<string, Span & { heardMs: number }>;
  watermarkMs: number;
  unread: boolean;
  late: number;
  atMs: number;
  aheadMs: number;
}

/** Clocks differ a little, and the brokers' among themselves. */
const TOLD_AHEAD_MS = 5000;

/** Another life of a topic takes the place of one whose marks ceased for so long, by the brokers' clock: lanes tell theirs every second and more often. */
const CEASED_MS = 10_000;

/** A version that nobody counts any more is kept so long: processes take up new rules one after the other. */
export const IDLE_VERSION_MS = 600_000;

export function ruleKey({ name, version }: RuleId): string {
  return `${name}@${version}`;
}

function trackKey({ topic, partition }: StreamPartition): string {
  return `${topic}-${partition}`;
}

/** How far each source partition of the stream is counted, for each rule. */
export class Coverage {
  readonly #tracks = new Map<string, Track>();
  #floorMs = Number.NEGATIVE_INFINITY;
  #partitions: readonly StreamPartition[] = [];

  /** Nothing before `floorMs` is covered, whatever marks say: its cells were not read. To be said before the first mark; the latest one counts. */
  setFloor(floorMs: number): void {
    this.#floorMs = Math.max(this.#floorMs, floorMs);
  }

  /** Every partition that the stream has. Until they are known, nothing is complete. */
  setPartitions(partitions: readonly StreamPartition[]): void {
    this.#partitions = partitions.map(({ topic, partition }) => ({ topic, partition }));
    const kept = new Set(partitions.map(trackKey));
    for (const key of [...this.#tracks.keys()]) if (!kept.has(key)) this.#tracks.delete(key);
  }

  get partitions(): readonly StreamPartition[] {
    return this.#partitions;
  }

  /**
   * `limitMs`: no watermark counts beyond it, but the broker time of the marks' own record - lateness. At the end of its log a lane's time is its
   * process's own clock; where that is ahead of the brokers', panes that still fill would be sealed, and all alerts silent.
   */
  accept({ rules, marks }: Extract<Message, { kind: 'marks' }>, nowMs: number, limitMs: number): void {
    const keys = rules.map((rule) => [rule.name, ruleKey(rule)] as const);
    for (const mark of marks) {
      const track = this.#trackOf(mark.source, limitMs);
      if (track === undefined) continue;
      const watermarkMs = Math.min(mark.watermarkMs, limitMs);
      const aheadMs = mark.watermarkMs - watermarkMs;
      track.aheadMs = aheadMs > TOLD_AHEAD_MS ? aheadMs : 0;
      this.#note(track, { ...mark, watermarkMs }, nowMs);
      for (const [name, key] of keys) {
        const fromMs = Math.max(mark.fromMs, mark.ruleFromMs.get(name) ?? Number.NEGATIVE_INFINITY, this.#floorMs);
        if (watermarkMs < fromMs) continue;
        const known = track.spans.get(key);
        const span = claim(known, fromMs, watermarkMs);
        if (known === undefined) track.spans.set(key, Object.assign(span, { heardMs: nowMs }));
        else known.heardMs = nowMs;
      }
    }
  }

  /** Up to when all partitions are counted for the rule; undefined where one was never heard of. */
  watermarkMs(rule: string): number | undefined {
    let least = Number.POSITIVE_INFINITY;
    for (const partition of this.#partitions) {
      const span = this.#tracks.get(trackKey(partition))?.spans.get(rule);
      if (span === undefined) return undefined;
      if (span.untilMs < least) least = span.untilMs;
    }
    return least === Number.POSITIVE_INFINITY ? undefined : least;
  }

  /** Up to when the partition that is furthest is counted. */
  greatestMs(): number | undefined {
    let greatest = Number.NEGATIVE_INFINITY;
    for (const { watermarkMs } of this.#tracks.values()) if (watermarkMs > greatest) greatest = watermarkMs;
    return greatest === Number.NEGATIVE_INFINITY ? undefined : greatest;
  }

  covers(rule: string, fromMs: number, toMs: number): boolean {
    if (this.#partitions.length === 0) return false;
    for (const partition of this.#partitions) {
      const span = this.#tracks.get(trackKey(partition))?.spans.get(rule);
      if (span === undefined || !covers(span, fromMs, toMs)) return false;
    }
    return true;
  }

  spanOf(partition: StreamPartition, rule: string): Readonly<Span> | undefined {
    return this.#tracks.get(trackKey(partition))?.spans.get(rule);
  }

  /** Stretches that nobody read in time: of the rule that is counted longest. */
  blindOf(partition: StreamPartition): Span['blind'] {
    let longest: Span | undefined;
    for (const span of this.#tracks.get(trackKey(partition))?.spans.values() ?? []) {
      if (longest === undefined || span.fromMs < longest.fromMs) longest = span;
    }
    return longest?.blind ?? [];
  }

  heard(partition: StreamPartition): Heard | undefined {
    return this.#tracks.get(trackKey(partition));
  }

  /** Lets go of what no window reaches, and of rule versions that nobody counts any more. */
  forget(reachedMs: (rule: string) => number | undefined, nowMs: number): void {
    for (const { spans } of this.#tracks.values()) {
      for (const [rule, span] of spans) {
        const beforeMs = reachedMs(rule);
        if (beforeMs !== undefined) forgetBefore(span, beforeMs);
        // Heard while the log was read again, before there was a clock.
        else if (span.heardMs === 0) span.heardMs = nowMs;
        else if (nowMs - span.heardMs > IDLE_VERSION_MS) spans.delete(rule);
      }
    }
  }

  #note(track: Track, mark: LaneMark, nowMs: number): void {
    track.atMs = nowMs;
    // A zombie's mark says less than what is known: it takes nothing back.
    if (mark.watermarkMs < track.watermarkMs) return;
    track.watermarkMs = mark.watermarkMs;
    track.unread = mark.unread;
    track.late = mark.late;
  }

  #trackOf(source: Source, limitMs: number): Track | undefined {
    const key = trackKey(source);
    const known = this.#tracks.get(key);
    if (known === undefined) {
      const { topic, incarnation, partition } = source;
      if (this.#partitions.length > 0 && !this.#partitions.some((each) => trackKey(each) === key)) return undefined;
      const track: Track = {
        topic,
        partition,
        incarnation,
        limitMs,
        spans: new Map(),
        watermarkMs: Number.NEGATIVE_INFINITY,
        unread: false,
        late: 0,
        atMs: 0,
        aheadMs: 0,
      };
      this.#tracks.set(key, track);
      return track;
    }
    if (known.incarnation !== source.incarnation && limitMs - known.limitMs < CEASED_MS) return undefined;
    known.incarnation = source.incarnation;
    known.limitMs = limitMs;
    return known;
  }
}
