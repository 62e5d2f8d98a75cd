import { partitionKey, type TopicPartition } from '../records.ts';
import type { ChannelPort, ChannelStates } from '../recover/channel-log.ts';
import type { ChannelPosition } from '../recover/channel-record.ts';
import { whatIsWrong } from './answers.ts';
import { ChannelCounts } from './channel-counts.ts';
import type { Batch, Gap, Lane, Outcome, Sink } from './contract.ts';
import type { ReachedPosition, StoreKeeper } from './options.ts';

/** One assigned partition of a side channel. */
interface Counted {
  readonly key: string;
  readonly incarnation: string;
  readonly counts: ChannelCounts;
  /** Plans that were found to be open, by the positions' topic. */
  known: ReadonlySet<string>;
}

/**
 * A sink for side channels: passes everything on to the sink of the live records, and keeps, in one record a partition and before each commit, where the
 * consumer stands with what became of each plan's records below. It begins at that record, whatever the commit says: position and counts can not
 * contradict each other. Give it to a runtime as `sink` and as `keeper`, and to no other.
 */
export class SideChannel implements Sink, StoreKeeper {
  readonly name: string;
  readonly gap?: (lane: Lane, gap: Gap) => Promise<void>;
  readonly flush?: (why: 'revoke' | 'stop', lanes: readonly TopicPartition[]) => Promise<void>;
  readonly close?: () => Promise<void>;
  readonly #sink: Sink;
  readonly #port: ChannelPort;
  readonly #lanes = new Map<string, Counted>();
  /** A reading that has not begun: shared by all who ask before it does. */
  #next: Promise<ChannelStates> | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(sink: Sink, port: ChannelPort) {
    if (sink.assign !== undefined)
      throw new RangeError(`sink ${sink.name} has a position of its own, and can not count with a side channel's`);
    this.name = sink.name;
    this.#sink = sink;
    this.#port = port;
    if (sink.gap !== undefined) this.gap = sink.gap.bind(sink);
    if (sink.flush !== undefined) this.flush = sink.flush.bind(sink);
    if (sink.close !== undefined) this.close = sink.close.bind(sink);
  }

  async assign(lane: Lane): Promise<{ readonly startAt: number }> {
    const key = partitionKey(lane);
    const states = await this.#read();
    const found = states.positions.get(key);
    // Of another life of the topic its offsets mean other records.
    const kept = found?.incarnation === lane.incarnation ? found : undefined;
    const open = states.sent.get(key) ?? new Set();
    const plans = Object.fromEntries(Object.entries(kept?.plans ?? {}).filter(([plan]) => open.has(plan)));
    const counts = new ChannelCounts(plans);
    this.#lanes.set(key, { key, incarnation: lane.incarnation, counts, known: counts.plans });
    // With nothing kept of this life, nothing is counted: the commit, which may be ahead, or of another life, would hide what is not.
    return { startAt: kept?.nextToRead ?? lane.logStart };
  }

  async write(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    const counts = this.#lanes.get(partitionKey(batch.source))?.counts;
    if (counts === undefined)
      throw new Error(`${batch.source.topic}, partition ${batch.source.partition} was handed over before it was assigned`);
    counts.handOver(batch);
    const outcomes = await this.#sink.write(batch, signal);
    // The runtime takes no other answer, and hands the batch over again.
    if (whatIsWrong(outcomes, batch.length) === undefined) counts.answered(batch, outcomes);
    return outcomes;
  }

  async keep(positions: readonly ReachedPosition[], deadlineMs: number): Promise<void> {
    const lanes = positions.flatMap((position) => {
      const lane = this.#lanes.get(partitionKey(position));
      if (lane === undefined) return [];
      // At once, as long as nothing above is settled.
      lane.counts.moveTo(position.nextToRead);
      return [{ lane, position }];
    });
    await this.#learn(lanes.map(({ lane }) => lane));
    // One that was given up since is its next owner's to write.
    const owned = lanes.filter(({ lane, position }) => this.#lanes.get(partitionKey(position)) === lane);
    await this.#port.write(
      owned.map(({ lane, position: { topic, partition, nextToRead } }): ChannelPosition => {
        return { topic, partition, incarnation: lane.incarnation, nextToRead, plans: lane.counts.applied() };
      }),
      deadlineMs,
    );
  }

  /** Where a plan is counted that was not known to be open, all are looked up: what is counted of one whose receipt stands is dropped. */
  async #learn(lanes: readonly Counted[]): Promise<void> {
    const isNew = ({ counts, known }: Counted): boolean => [...counts.plans].some((plan) => !known.has(plan));
    const asking = lanes.filter(isNew);
    if (asking.length === 0) return;
    const { sent } = await this.#read();
    for (const lane of asking) {
      const open = sent.get(lane.key);
      for (const plan of lane.counts.plans) if (open?.has(plan) !== true) lane.counts.drop(plan);
      lane.known = lane.counts.plans;
    }
  }

  #read(): Promise<ChannelStates> {
    this.#next ??= this.#readBehind(this.#reading);
    return this.#next;
  }

  #readBehind(before: Promise<unknown>): Promise<ChannelStates> {
    const reading = before.then(() => {
      this.#next = undefined;
      return this.#port.read();
    });
    // Whoever asked is told of a failure; the next reading only waits for its end.
    this.#reading = reading.catch(() => {});
    return reading;
  }
}
