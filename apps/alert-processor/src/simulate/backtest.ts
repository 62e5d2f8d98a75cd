import type { HistoryRecord, PassedPart } from '@tailrace/kafka-kit';
import type { ReplayPart, ReplaySource } from '@tailrace/lake';
import type { Source } from '../messages/message.ts';
import { decodeEvent } from '../panes/decode-event.ts';
import type { RuleSet } from '../rules/rule.ts';
import { Simulation, type Told } from './simulation.ts';

/** Of a partition: what is to be read, in the order of its offsets. */
export interface BacktestPartition {
  readonly source: Source;
  read(): AsyncIterable<BacktestPart>;
}

/** As a joined reader gives it, and what it could not get. */
export type BacktestPart = ReplayPart | { readonly kind: 'hole'; readonly from: number; readonly to: number };

export interface BacktestOptions {
  readonly rules: RuleSet;
  /** From when on records are read: earlier than the window, so that the first rule's window is full when it begins. */
  readonly readFromMs: number;
  /** The first instant behind the window. */
  readonly toMs: number;
  readonly partitions: readonly BacktestPartition[];
  onTold(told: Told): void;
  /** So many more offsets are behind. */
  onRead(offsets: number): void;
  readonly signal: AbortSignal;
}

/** Offsets that nobody has any more. */
export interface Unreadable {
  readonly source: Source;
  readonly kind: PassedPart | 'hole';
  readonly from: number;
  readonly to: number;
}

export interface BacktestReading {
  readonly records: Readonly<Record<ReplaySource, number>>;
  readonly unreadable: readonly Unreadable[];
}

/** Coarser than live: a day has 86,400 of them, and people are not told to the quarter of a second. */
export const BACKTEST_TICK_MS = 1000;

/** Stretches that are listed by their offsets; a chain in a thousand pieces is told by its first ones. */
const MAX_UNREADABLE = 1000;

/** Runs rules over what was recorded, under the brokers' time. It holds one part of each partition at a time. */
export async function backtest(options: BacktestOptions): Promise<BacktestReading> {
  const { rules, readFromMs, toMs, signal } = options;
  const reading = { records: { lake: 0, kafka: 0 }, unreadable: [] as Unreadable[] };
  const simulation = new Simulation({
    rules,
    sources: options.partitions.map(({ source }) => source),
    startMs: readFromMs,
    tickMs: BACKTEST_TICK_MS,
    onTold: options.onTold,
  });
  const lanes = options.partitions.map((partition, lane) => new LaneReading(partition, lane, reading, options.onRead));
  try {
    await Promise.all(lanes.map((lane) => lane.fill()));
    for (let lane = earliest(lanes); lane !== undefined; lane = earliest(lanes)) {
      signal.throwIfAborted();
      // Within what is read already nothing is waited for.
      const untilMs = Math.min(toMs - 1, secondOf(lanes, lane));
      while (lane.headMs <= untilMs) lane.give(simulation);
      if (lane.isEmpty) await lane.fill();
      else if (lane.headMs >= toMs) await lane.stop();
    }
  } finally {
    await Promise.all(lanes.map((lane) => lane.stop()));
  }
  simulation.advance(toMs);
  return reading;
}

/** The partition whose next record arrived first; undefined when all are read. */
function earliest(lanes: readonly LaneReading[]): LaneReading | undefined {
  let first: LaneReading | undefined;
  for (const lane of lanes) if (!lane.isDone && (first === undefined || lane.headMs < first.headMs)) first = lane;
  return first;
}

/** When the first record of the others arrived. */
function secondOf(lanes: readonly LaneReading[], first: LaneReading): number {
  let second = Number.POSITIVE_INFINITY;
  for (const lane of lanes) if (lane !== first && !lane.isDone && lane.headMs < second) second = lane.headMs;
  return second;
}

/** What is read of one partition and not given yet. */
class LaneReading {
  isDone = false;
  private readonly parts: AsyncIterator<BacktestPart>;
  private records: readonly HistoryRecord[] = [];
  private at = 0;
  /** The greatest broker time that was given: where the clock went back, a record arrived after the one before it all the same. */
  private greatestMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly partition: BacktestPartition,
    private readonly lane: number,
    private readonly reading: { readonly records: Record<ReplaySource, number>; readonly unreadable: Unreadable[] },
    private readonly onRead: (offsets: number) => void,
  ) {
    this.parts = partition.read()[Symbol.asyncIterator]();
  }

  get isEmpty(): boolean {
    return this.at >= this.records.length;
  }

  /** When the next record arrived; nothing behind what is read. */
  get headMs(): number {
    const next = this.records[this.at];
    return next === undefined ? Number.POSITIVE_INFINITY : Math.max(this.greatestMs, next.timestampMs);
  }

  give(simulation: Simulation): void {
    const record = this.records[this.at++];
    if (record === undefined) throw new RangeError('nothing is read that could be given');
    const event = decodeEvent({ headers: () => record.headers, timestampMs: () => record.timestampMs, value: () => record.value }, 0);
    if (event === 'no-broker-time') return;
    this.greatestMs = Math.max(this.greatestMs, record.timestampMs);
    simulation.advance(this.greatestMs);
    simulation.fold(this.lane, record.offset, record.timestampMs, typeof event === 'string' ? undefined : event);
  }

  /** Reads on, to the next record or to the end. */
  async fill(): Promise<void> {
    while (this.isEmpty && !this.isDone) {
      const { value: part, done } = await this.parts.next();
      if (done === true) this.isDone = true;
      else if (part.kind === 'records') {
        this.records = part.records;
        this.at = 0;
        this.reading.records[part.source] += part.records.length;
        this.onRead(part.records.length);
      } else {
        const { kind, from, to } = part;
        this.onRead(to - from);
        if (kind !== 'void' && this.reading.unreadable.length < MAX_UNREADABLE)
          this.reading.unreadable.push({ source: this.partition.source, kind, from, to });
      }
    }
  }

  async stop(): Promise<void> {
    if (this.isDone) return;
    this.isDone = true;
    await this.parts.return?.(undefined);
  }
}
