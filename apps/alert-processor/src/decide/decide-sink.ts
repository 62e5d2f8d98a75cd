import type {
  Batch,
  ClusterAdmin,
  Lane,
  Outcome,
  ReachedPosition,
  RuntimeEvent,
  Sink,
  StoreKeeper,
  TopicPartition,
} from '@tailrace/kafka-kit';
import { partitionOf } from '../messages/codec.ts';
import type { Message } from '../messages/message.ts';
import type { Delivery, DeliveryOutcome, DeliveryPort } from '../notify/deliveries.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Transition } from './alert-state.ts';
import type { DeciderSource, StreamPartition } from './coverage.ts';
import { Decider } from './decider.ts';
import { OwnedPartition } from './owned-partition.ts';
import type { SelfCondition } from './self-conditions.ts';
import type { StateLog } from './state-log.ts';

export interface DecideSinkPorts {
  readonly log: StateLog;
  readonly admin: Pick<ClusterAdmin, 'offsetsAtTimes'>;
  readonly deliveries: DeliveryPort;
  readonly nowMs: () => number;
  /** How far a broker's clock may step back. */
  readonly clockStepMs: number;
  /** How many partitions the topic of partials has. */
  readonly partitions: number;
  /** With the partition of `alert-partials` that it is about. */
  readonly onMessage: (partition: number, message: Message) => void;
  readonly onTicked: (partition: number) => void;
  readonly onTransition: (transition: Transition) => void;
  readonly onFault: (what: string, fault: unknown) => void;
}

/** Stage 2: takes partitions of `alert-partials` over with what is known of their alerts, decides, and hands over what is to be told. */
export class DecideSink implements Sink, StoreKeeper {
  readonly name = 'decide';
  readonly #ports: DecideSinkPorts;
  readonly #owned = new Map<number, OwnedPartition>();
  /** The last owner of each partition, also behind its end: the commit of a revoke comes last. */
  readonly #lastOwned = new Map<number, OwnedPartition>();
  readonly #closed = new AbortController();
  #rules: RuleSet;
  #sources: readonly StreamPartition[] = [];
  #sinceMs: number | undefined;
  #readyInMs: number | undefined;

  constructor(rules: RuleSet, ports: DecideSinkPorts) {
    this.#rules = rules;
    this.#ports = ports;
  }

  setRules(rules: RuleSet): void {
    this.#rules = rules;
    for (const { decider } of this.#owned.values()) decider.setRules(rules);
  }

  /** Every partition that the stream has. */
  setSources(sources: readonly StreamPartition[]): void {
    this.#sources = sources;
    for (const { decider } of this.#owned.values()) decider.setSources(sources);
  }

  /** Reads what was decided, and begins so far back that everything that is still to be decided is read (design, section 10). */
  async assign(lane: Lane): Promise<{ readonly startAt: number }> {
    const { log, admin, deliveries, nowMs, clockStepMs } = this.#ports;
    const { topic, partition, committed, logStart, logEnd } = lane;
    this.#sinceMs ??= nowMs();
    await this.#drop(partition);
    const { ownership, records: kept } = await log.takeOver(partition);
    const lost = this.#lastOwned.get(partition)?.lostRecords(ownership, kept) ?? [];
    if (lost.length > 0) await log.write(ownership, lost, [], this.#closed.signal);
    const records = [...kept, ...lost];
    const decider = new Decider({ partition, ownEpoch: ownership.epoch, channels: deliveries.channels });
    decider.setRules(this.#rules);
    decider.setSources(this.#sources);
    decider.restore(records);
    const { settledMs } = decider;
    const { paneMs, latenessMs } = this.#rules;
    // Nothing decided yet: what rules reach from now on, where everything is counted up to now but for the lateness.
    const fromMs = (settledMs ?? nowMs() - latenessMs) - decider.reachMs - paneMs;
    // One request each: of a partition that is named twice in one, Kafka answers nothing.
    const offsetAt = async (timeMs: number) =>
      (await admin.offsetsAtTimes([{ topic, partition, timeMs: Math.max(0, Math.floor(timeMs)) }]))[0]?.offset;
    const found = await offsetAt(fromMs - clockStepMs);
    const beyond = settledMs === undefined ? undefined : await offsetAt(settledMs + latenessMs);
    const startAt = Math.max(logStart, Math.min(found ?? logEnd, committed ?? logEnd));
    const decideAt = Math.max(committed ?? 0, logEnd);
    // A time that the brokers' clock had not reached is taken back: windows before it are then decided once more.
    if (beyond !== undefined && beyond < decideAt) decider.passOver();
    const owned = new OwnedPartition(
      {
        decider,
        ownership,
        startAt,
        decideAt,
        floorMs: fromMs,
        cut: startAt === logStart && logStart > 0,
      },
      {
        log,
        clockStepMs,
        deliveries,
        onMessage: (message) => this.#ports.onMessage(partition, message),
        onTicked: () => this.#ports.onTicked(partition),
        onTransition: this.#ports.onTransition,
        onTaken: () => void this.#drop(partition),
        onFault: (what, fault) => this.#ports.onFault(`${what} (partition ${partition})`, fault),
      },
    );
    this.#owned.set(partition, owned);
    this.#lastOwned.set(partition, owned);
    return { startAt };
  }

  async write(batch: Batch): Promise<readonly Outcome[]> {
    const owned = this.#owned.get(batch.source.partition);
    if (owned === undefined) {
      // Behind a release it is not handed over again: the lane is opened anew, and the partition taken over anew.
      batch.release();
      throw new Error(`partition ${batch.source.partition} of ${batch.source.topic} was taken over by another process, and is taken back`);
    }
    return owned.take(batch);
  }

  /** Writes how far each partition is decided, before its position is committed: whoever reads it goes back from there. */
  async keep(positions: readonly ReachedPosition[], deadlineMs: number): Promise<void> {
    const signal = AbortSignal.timeout(deadlineMs);
    const late = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error(`it was not acknowledged within ${deadlineMs} ms`)), { once: true });
    });
    const kept = positions.map(async ({ partition }) => {
      const owned = this.#lastOwned.get(partition);
      if (owned === undefined) throw new Error(`nothing is known of partition ${partition}`);
      await owned.keep(signal);
    });
    await Promise.race([Promise.all(kept), late]);
  }

  async flush(_why: 'revoke' | 'stop', lanes: readonly TopicPartition[]): Promise<void> {
    await Promise.all(lanes.map(({ partition }) => this.#drop(partition)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#owned.keys()].map((partition) => this.#drop(partition)));
    this.#closed.abort();
  }

  /** To be told what happens in the runtime. */
  observe(event: RuntimeEvent): void {
    if (event.kind === 'rebalanced' && event.how === 'lost') for (const { partition } of event.partitions) void this.#drop(partition);
  }

  /** Decides every `tickMs` until it is closed; a partition whose last tick is still being written is passed over. */
  async run(tickMs: number, sleep: (ms: number, signal?: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const begunMs = this.#ports.nowMs();
      for (const owned of this.#owned.values()) void owned.tick(this.#ports.nowMs());
      this.#noteReady();
      await sleep(Math.max(1, tickMs - (this.#ports.nowMs() - begunMs)), signal);
    }
  }

  /** What became of a try to tell. */
  told({ notification: { key }, channel }: Delivery, outcome: DeliveryOutcome, attempts: number): void {
    for (const owned of this.#owned.values()) {
      if (!owned.owes(key, channel)) continue;
      owned.told(key, channel, outcome, attempts, this.#ports.nowMs());
      return;
    }
  }

  /** Of how many partitions this process decides, and of how many it will once they are read up to where they were. */
  get progress(): {
    readonly ready: number;
    readonly owned: number;
    readonly sinceMs: number | undefined;
    readonly readyInMs: number | undefined;
  } {
    const ready = [...this.#owned.values()].filter((owned) => owned.ready).length;
    return { ready, owned: this.#owned.size, sinceMs: this.#sinceMs, readyInMs: this.#readyInMs };
  }

  /** How many partitions the stream has; undefined while it is not known. */
  streamPartitions(): number | undefined {
    return this.#sources.length === 0 ? undefined : this.#sources.length;
  }

  /** Whether this process decides about a group of a rule now. */
  decides(rule: string, group: string): boolean {
    return this.#owned.get(partitionOf(rule, group, this.#ports.partitions))?.ready === true;
  }

  /** The partitions that this process decides about, those that are not ready yet among them. */
  owned(): readonly number[] {
    return [...this.#owned.keys()];
  }

  /**
   * What is known of each partition of the stream; undefined while this process decides nothing. Every decider hears of all of them, each in its own
   * time: what the last one knows is known.
   */
  sources(): readonly DeciderSource[] | undefined {
    const [first, ...others] = [...this.#owned.values()].filter(({ ready }) => ready).map(({ decider }) => decider.sources());
    return first?.map((source, at) => others.reduce((known, each) => lessKnown(known, each[at]), source));
  }

  /** Tells whether something about tailrace itself holds; of no effect where another process decides about it. */
  condition(condition: SelfCondition, nowMs: number): void {
    const owned = this.#owned.get(partitionOf(condition.rule, condition.group, this.#ports.partitions));
    if (owned?.ready === true) owned.decider.condition(condition, nowMs);
  }

  /** Of each partition that is decided: every window that ends at or before is, and what came of it is acknowledged. */
  get decided(): readonly { readonly partition: number; readonly settledMs: number }[] {
    return [...this.#owned].flatMap(([partition, { ready, settledMs }]) =>
      ready && settledMs !== undefined ? [{ partition, settledMs }] : [],
    );
  }

  /** Figures over all partitions. */
  get counts(): { readonly firing: number; readonly groups: number; readonly settledMs: number | undefined } {
    let firing = 0;
    let groups = 0;
    let settledMs: number | undefined;
    for (const { decider } of this.#owned.values()) {
      firing += decider.firing;
      groups += decider.groups;
      if (decider.settledMs !== undefined) settledMs = Math.min(settledMs ?? decider.settledMs, decider.settledMs);
    }
    return { firing, groups, settledMs };
  }

  #noteReady(): void {
    const { ready, owned, sinceMs } = this.progress;
    if (this.#readyInMs === undefined && sinceMs !== undefined && owned > 0 && ready === owned)
      this.#readyInMs = this.#ports.nowMs() - sinceMs;
  }

  async #drop(partition: number): Promise<void> {
    const owned = this.#owned.get(partition);
    this.#owned.delete(partition);
    await owned?.close();
  }
}

/** A watermark and a sign of life that every decider has heard of; undefined where one has not. */
function lessKnown(one: DeciderSource, other: DeciderSource | undefined): DeciderSource {
  const least = (a: number | undefined, b: number | undefined) => (a === undefined || b === undefined ? undefined : Math.min(a, b));
  const aheadMs = Math.max(one.aheadMs, other?.aheadMs ?? 0);
  return { ...one, aheadMs, watermarkMs: least(one.watermarkMs, other?.watermarkMs), heardMs: least(one.heardMs, other?.heardMs) };
}
