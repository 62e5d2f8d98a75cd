import {
  type Batch,
  type ClusterAdmin,
  type Gap,
  type Lane,
  type Outcome,
  partitionKey,
  type RuntimeEvent,
  type Sink,
  type TopicPartition,
} from '@tailrace/kafka-kit';
import type { Cell } from '../messages/message.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { LaneStarts } from './lane-starts.ts';
import type { LeftOut } from './left-out.ts';
import { LiveLane } from './live-lane.ts';
import { LogEndWatch } from './log-end-watch.ts';
import { tickLengthMs } from './pace.ts';
import type { PartialsTopic } from './partials-topic.ts';
import type { WarmUp } from './warm-up.ts';

export interface PanesSinkPorts {
  readonly starts: Pick<LaneStarts, 'of'>;
  readonly partials: Pick<PartialsTopic, 'cells' | 'marks'>;
  readonly admin: Pick<ClusterAdmin, 'logEnds'>;
  /** From when on a lane counts that begins behind a gap: the broker time of the first record at or behind an offset. */
  readonly firstTime: (partition: TopicPartition, offset: number) => Promise<number | undefined>;
  readonly nowMs: () => number;
  readonly onFault: (what: string, fault: unknown) => void;
  /** Told behind each acknowledgement: how many cells were published, and what is in none. */
  readonly onPublished: (cells: number, leftOut: readonly LeftOut[]) => void;
}

/**
 * Stage 1: counts records into the panes of their lane at once, and answers them when a tick has published what they changed. The order of a tick is
 * that of design, section 10: cells, their acknowledgement, then the marks.
 */
export class PanesSink implements Sink {
  readonly name = 'panes';
  readonly #ports: PanesSinkPorts;
  readonly #ends: LogEndWatch;
  readonly #lanes = new Map<string, LiveLane>();
  /** Lanes whose place others took: what they counted is still published, and their batches answered. */
  #retired: LiveLane[] = [];
  /** What was told by lanes and is not acknowledged yet. */
  #unpublished: Cell[] = [];
  /** Cells of the last tick. */
  #told = 0;
  readonly #closed = new AbortController();
  #rules: RuleSet;
  #tail: Promise<void> = Promise.resolve();
  /** When the first lane was assigned, and how long it took until all were warm. */
  #sinceMs: number | undefined;
  #warmedInMs: number | undefined;

  constructor(rules: RuleSet, ports: PanesSinkPorts) {
    this.#rules = rules;
    this.#ports = ports;
    this.#ends = new LogEndWatch(ports.admin, ports.nowMs, (fault) => ports.onFault('look up where the log ends', fault));
  }

  setRules(rules: RuleSet): void {
    this.#rules = rules;
    for (const lane of this.#lanes.values()) lane.setRules(rules);
  }

  get warmUp(): WarmUp {
    if (this.#sinceMs === undefined) return { kind: 'waiting' };
    if (this.#warmedInMs !== undefined) return { kind: 'warm', tookMs: this.#warmedInMs };
    const partitions = [...this.#lanes.values()].filter(({ warm }) => !warm).length;
    return { kind: 'warming', sinceMs: this.#sinceMs, partitions };
  }

  /** How far stage 2 was told that each lane has come. */
  get watermarks(): readonly (TopicPartition & { readonly watermarkMs: number })[] {
    return [...this.#lanes.values()].flatMap(({ source: { topic, partition }, markedMs: watermarkMs }) =>
      watermarkMs === undefined ? [] : [{ topic, partition, watermarkMs }],
    );
  }

  /** Reads again from where the panes that the commit lies in begin; the commit itself is the position. */
  async assign(lane: Lane): Promise<{ readonly startAt: number } | undefined> {
    this.#sinceMs ??= this.#ports.nowMs();
    const { committed, logStart, logEnd } = lane;
    if (committed === null || committed < logStart || committed > logEnd) {
      // Where it begins is the runtime's word: everything below was appended before now.
      this.#open(lane, this.#ports.nowMs());
      return undefined;
    }
    const { startAt, fromMs } = await this.#ports.starts.of({ ...lane, committed });
    this.#open(lane, fromMs);
    return { startAt };
  }

  async gap(lane: Lane, gap: Gap): Promise<void> {
    const owned = this.#lanes.get(partitionKey(lane));
    if (gap.kind === 'void') owned?.pass(gap.to);
    if (gap.kind !== 'expired') return;
    const fromMs = (await this.#ports.firstTime(lane, gap.to)) ?? this.#ports.nowMs();
    this.#open(lane, fromMs).begin(gap.to);
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const lane = this.#lanes.get(partitionKey(batch.source));
    if (lane === undefined) {
      // Behind a release it is not handed over again: the lane is opened anew, and asks where to begin.
      batch.release();
      throw new Error(`${batch.source.topic}, partition ${batch.source.partition} is not open`);
    }
    let outcomes: readonly Outcome[];
    try {
      outcomes = lane.fold(batch);
    } catch (fault) {
      // Half of the batch is counted: the lane is opened anew, and what this one holds is told to nobody.
      this.#lanes.delete(partitionKey(batch.source));
      batch.release();
      throw fault;
    }
    batch.release();
    await lane.published(batch.offset(batch.length - 1) + 1, signal);
    return outcomes;
  }

  async flush(_why: 'revoke' | 'stop', lanes: readonly TopicPartition[]): Promise<void> {
    const given = lanes.map((tp) => [partitionKey(tp), this.#lanes.get(partitionKey(tp))] as const);
    await this.tick();
    // A partition may have come back meanwhile, as another lane.
    for (const [key, lane] of given) if (this.#lanes.get(key) === lane) this.#lanes.delete(key);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#tail;
  }

  /** To be told what happens in the runtime. */
  observe(event: RuntimeEvent): void {
    if (event.kind === 'lane-opened') this.#lanes.get(partitionKey(event.lane))?.begin(event.startAt);
    else if (event.kind === 'lane-halted') {
      const lane = this.#lanes.get(partitionKey(event.lane));
      if (lane !== undefined) lane.halted = true;
    } else if (event.kind === 'rebalanced' && event.how === 'lost') for (const tp of event.partitions) this.#lanes.delete(partitionKey(tp));
  }

  /** Publishes every `tickMs`, under load less often, until it is closed. */
  async run(tickMs: number, sleep: (ms: number, signal?: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const begunMs = performance.now();
      await this.tick();
      await sleep(Math.max(1, tickLengthMs(tickMs, this.#told) - (performance.now() - begunMs)), signal);
    }
  }

  /** Publishes what has changed up to now; resolves once it is acknowledged, and the marks behind it. Never rejects. */
  tick(): Promise<void> {
    this.#tail = this.#tail.then(() => this.#tick());
    return this.#tail;
  }

  async #tick(): Promise<void> {
    const { partials, nowMs, onFault, onPublished } = this.#ports;
    const { signal } = this.#closed;
    const lanes = [...this.#lanes.values()];
    const retired = this.#retired;
    this.#retired = [];
    const news = [...retired, ...lanes].flatMap((lane) => {
      const told = lane.news(this.#ends.of(lane.source));
      return told === undefined ? [] : [{ lane, told }];
    });
    this.#ends.look(lanes.map(({ source }) => source));
    for (const { told } of news) for (const cell of told.cells) this.#unpublished.push(cell);
    this.#told = this.#unpublished.length;
    try {
      await partials.cells(this.#unpublished, signal);
      onPublished(
        this.#unpublished.length,
        news.map(({ told }) => told.leftOut),
      );
      this.#unpublished = [];
      const marked = news.filter(({ lane }) => !retired.includes(lane));
      const marks = marked.map(({ told }) => told.mark);
      if (marks.length > 0) await partials.marks(news[0]?.told.rules ?? [], marks, signal);
      for (const { lane, told } of marked) lane.markedMs = told.mark.watermarkMs;
      // Behind the marks: what is committed is told of, so a next owner counts on from where stage 2 was told, and nothing looks unread between.
      for (const { lane, told } of news) lane.acknowledged(told.next);
    } catch (fault) {
      this.#retired.push(...retired);
      // Behind an abort nothing is answered: what waits is read again by the next owner.
      if (!signal.aborted) onFault('publish', fault);
    }
    if (this.#warmedInMs === undefined && this.#sinceMs !== undefined && lanes.length > 0 && lanes.every(({ warm }) => warm))
      this.#warmedInMs = nowMs() - this.#sinceMs;
  }

  #open({ topic, incarnation, partition, logEnd }: Lane, fromMs: number): LiveLane {
    const key = partitionKey({ topic, partition });
    const before = this.#lanes.get(key);
    if (before !== undefined) this.#retired.push(before);
    const lane = new LiveLane({ topic, incarnation, partition }, this.#rules, { fromMs, logEnd });
    this.#lanes.set(key, lane);
    return lane;
  }
}
