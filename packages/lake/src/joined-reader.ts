import { setTimeout as sleep } from 'node:timers/promises';
import { HistoryHole, type HistoryPart, type HistoryRecord, type RecordHistory } from '@tailrace/kafka-kit';
import type { ChainId, OffsetRange } from './records.ts';

/** Records younger than this are read from Kafka while it has them: it holds them in memory, and nothing else is pushed out for them. */
export const LIVE_TAIL_MS = 5 * 60_000;

/** So many offsets from Kafka at a time, then it is asked again where the next ones are. */
const CHUNK_OFFSETS = 50_000;

/** Where a record was read. */
export type ReplaySource = 'lake' | 'kafka';

/** A stretch of what a replay reads, in the order of offsets. The kinds without records are passed and counted. */
export type ReplayPart =
  | { readonly kind: 'records'; readonly source: ReplaySource; readonly records: readonly HistoryRecord[] }
  | Exclude<HistoryPart, { readonly kind: 'records' }>;

/** Which offsets a log has: `[logStart, logEnd)`. */
export interface Extent {
  readonly logStart: number;
  readonly logEnd: number;
}

/** A partition's log in Kafka, for one life of the topic. */
export interface ReplayLog {
  /** By a look-up begun after the call; undefined where that life of the topic is over. */
  extent(chain: ChainId): Promise<Extent | undefined>;
  /**
   * The records that the log holds of `[from, to)`, in order, each proven to be of that life of the topic. Offsets may be missing between
   * them: deleted, or never readable. It ends at `to`, or earlier where that life is over.
   */
  read(chain: ChainId, from: number, to: number, signal: AbortSignal): AsyncIterable<readonly HistoryRecord[]>;
}

export interface JoinedSources {
  readonly history: RecordHistory;
  /** What the ledger says of an offset: the newest broker time of the entry that holds it, undefined behind the chain's end. */
  archived(chain: ChainId, offset: number): Promise<{ readonly newestMs: number } | undefined>;
  readonly log: ReplayLog;
  /** Reads from there alone. */
  readonly only?: ReplaySource | undefined;
  readonly nowMs: () => number;
  /** How long what Kafka has deleted and no object holds yet is waited for: the archiver may be about to put it. */
  readonly patienceMs: number;
  readonly askAgainMs: number;
  /** Told once for each stretch that is waited for. */
  readonly onWait: (chain: ChainId, range: OffsetRange) => void;
}

/**
 * Reads ranges of a partition from the lake and from Kafka, joined at an offset. Where each stretch comes from is decided while reading: from the lake what is
 * archived and older than the live tail, and the rest from Kafka, which is asked again after each chunk; what Kafka deletes meanwhile comes
 * from the lake as soon as it is there. Each offset is in exactly one part.
 */
export class JoinedReader {
  readonly #sources: JoinedSources;

  constructor(sources: JoinedSources) {
    this.#sources = sources;
  }

  /** Throws HistoryHole, with the exact range, when it comes to offsets that neither of them has; any other throw is a fault of the moment. */
  async *read(chain: ChainId, range: OffsetRange, signal: AbortSignal): AsyncGenerator<ReplayPart, void> {
    let waitedSinceMs: number | undefined;
    for (let at = range.first; at < range.next; ) {
      const start = at;
      const { only } = this.#sources;
      // The log first: what is deleted from it between the two look-ups was archived before, or is waited for.
      let extent = await this.#extent(chain);
      const archived = only === 'kafka' ? undefined : await this.#sources.archived(chain, at);
      let hole: HistoryHole | undefined;
      if (archived !== undefined && !(holds(extent, at) && this.#isTail(archived.newestMs))) {
        const read = yield* this.#fromLake(chain, { first: at, next: range.next }, extent, signal);
        at = read.at;
        hole = read.hole;
        if (hole !== undefined) extent = await this.#extent(chain);
        else if (at > start) continue;
      }
      if (extent !== undefined && holds(extent, at)) {
        // Across a hole of the lake no further than the hole: behind it the lake is asked again.
        const next = Math.min(range.next, extent.logEnd, hole === undefined ? range.next : hole.to);
        at = yield* this.#fromLog(chain, { first: at, next }, signal);
        waitedSinceMs = undefined;
        continue;
      }
      // A declared loss that Kafka has deleted by now, too, is told by the lake.
      if (hole instanceof DeclaredLoss) continue;
      const next = Math.min(
        range.next,
        hole?.to ?? range.next,
        extent !== undefined && extent.logStart > at ? extent.logStart : range.next,
      );
      if (hole !== undefined) throw new HistoryHole(chain, at, next, reasonOf(hole));
      if (only === 'kafka') throw new HistoryHole(chain, at, next, 'Kafka no longer has them');
      if (at > start) waitedSinceMs = undefined;
      waitedSinceMs = await this.#wait(chain, { first: at, next }, waitedSinceMs, signal);
    }
  }

  /** Undefined where Kafka is not to be read. */
  async #extent(chain: ChainId): Promise<Extent | undefined> {
    return this.#sources.only === 'lake' ? undefined : await this.#sources.log.extent(chain);
  }

  #isTail(newestMs: number): boolean {
    return newestMs > this.#sources.nowMs() - LIVE_TAIL_MS;
  }

  /** Waits a little for what is not archived yet; returns since when. */
  async #wait(chain: ChainId, range: OffsetRange, sinceMs: number | undefined, signal: AbortSignal): Promise<number> {
    const { patienceMs, askAgainMs, nowMs, onWait } = this.#sources;
    if (sinceMs === undefined) onWait(chain, range);
    const since = sinceMs ?? nowMs();
    const missing =
      this.#sources.only === 'lake' ? 'the lake does not have them yet' : 'Kafka has deleted them, and no object of the lake holds them';
    if (nowMs() - since >= patienceMs) throw new HistoryHole(chain, range.first, range.next, missing);
    await sleep(askAgainMs, undefined, { signal });
    return since;
  }

  /** What the lake has from there on, up to the live tail where Kafka has that. `hole`: it neither has nor declares what comes next. */
  async *#fromLake(
    chain: ChainId,
    { first, next }: OffsetRange,
    extent: Extent | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<ReplayPart, { readonly at: number; readonly hole: HistoryHole | undefined }> {
    let at = first;
    try {
      for await (const part of this.#sources.history.read(chain, first, next, signal)) {
        if (part.kind === 'records') {
          const [oldest] = part.records;
          if (oldest !== undefined && holds(extent, oldest.offset) && this.#isTail(oldest.timestampMs)) break;
          yield { ...part, source: 'lake' };
          at = (part.records.at(-1)?.offset ?? at - 1) + 1;
        } else {
          // Kafka may have what the lake declares lost: nothing that is to be had is passed over.
          if (part.kind !== 'void' && (await this.#isInLog(chain, part.from)))
            return { at, hole: new DeclaredLoss(chain, part.from, part.to, part.kind) };
          yield part;
          at = part.to;
        }
      }
    } catch (fault) {
      // A hole behind records that were given already (a checksum that differs at an object's end) can not be taken back.
      if (!(fault instanceof HistoryHole) || fault.from < at) throw fault;
      return { at, hole: fault };
    }
    return { at, hole: undefined };
  }

  async #isInLog(chain: ChainId, offset: number): Promise<boolean> {
    return holds(await this.#extent(chain), offset);
  }

  /** What Kafka has from there on, until it lies rather in the lake, or Kafka has deleted what comes next. Returns where it stopped. */
  async *#fromLog(chain: ChainId, { first, next }: OffsetRange, signal: AbortSignal): AsyncGenerator<ReplayPart, number> {
    let at = first;
    let lookedAt = first;
    for await (const records of this.#sources.log.read(chain, first, next, signal)) {
      let start = 0;
      for (const [i, { offset }] of records.entries()) {
        if (offset > at) {
          if (i > start) yield { kind: 'records', source: 'kafka', records: records.slice(start, i) };
          start = i;
          if (!(await this.#isInLog(chain, at))) return at;
          yield { kind: 'void', from: at, to: offset };
        }
        at = offset + 1;
      }
      if (records.length > start) yield { kind: 'records', source: 'kafka', records: start === 0 ? records : records.slice(start) };
      if (at - lookedAt < CHUNK_OFFSETS) continue;
      lookedAt = at;
      if (await this.#liesInLake(chain, at)) return at;
    }
    if (at < next && (await this.#isInLog(chain, at))) {
      yield { kind: 'void', from: at, to: next };
      at = next;
    }
    return at;
  }

  async #liesInLake(chain: ChainId, at: number): Promise<boolean> {
    if (this.#sources.only === 'kafka') return false;
    const archived = await this.#sources.archived(chain, at);
    return archived !== undefined && !this.#isTail(archived.newestMs);
  }
}

function holds(extent: Extent | undefined, offset: number): boolean {
  return extent !== undefined && extent.logStart <= offset && offset < extent.logEnd;
}

/** What the lake declares lost and Kafka was seen to hold. */
class DeclaredLoss extends HistoryHole {}

/** The reason alone: the range is said anew. */
function reasonOf(hole: HistoryHole): string {
  return hole.message.replace(/^.*? are not to be had: /, '').replace(/\.$/, '');
}
