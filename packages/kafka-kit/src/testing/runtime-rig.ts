import type { ConsumerRuntime } from '../consume/consumer-runtime.ts';
import type { DeadLetterPort } from '../consume/dead-letters.ts';
import type { LaneView } from '../consume/lane-view.ts';
import type { ConsumerOptions, DrainReport } from '../consume/options.ts';
import { createConsumerRuntime } from '../consume/runtime.ts';
import { SideChannel } from '../consume/side-channel.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import type { ChannelPort } from '../recover/channel-log.ts';
import type { PositionsPort } from '../recover/positions-log.ts';
import type { RecordHistory } from '../recover/record-history.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryCluster } from './memory-cluster.ts';
import type { MemoryConsumer } from './memory-consumer.ts';
import type { NewRecord } from './memory-log.ts';
import { ScriptedSink } from './scripted-sink.ts';

export const TOPIC = 'events';
export const GROUP = 'readers';

type Settings = Omit<ConsumerOptions, 'group' | 'topics' | 'sink'>;

/** Batches of up to 10 records, no jitter, short deadlines: every test says what it changes. */
const SETTINGS: Settings = {
  batch: { maxRecords: 10, maxBytes: 1_000_000, maxAgeMs: 100 },
  inFlightPerLane: 1,
  buffer: { pauseAtBytes: 10_000_000, resumeAtBytes: 5_000_000 },
  backoff: { firstMs: 100, factor: 2, maxMs: 5000, jitter: 0 },
  drain: { revokeMs: 5000, stopMs: 8000 },
  start: 'earliest',
};

/** One member: its runtime, its sink, its client and what it told. */
export interface Member {
  readonly runtime: ConsumerRuntime;
  readonly sink: ScriptedSink;
  readonly consumer: MemoryConsumer;
  readonly events: RuntimeEvent[];
}

/** A topic in memory and members that read it, with time in the test's hand. */
export class RuntimeRig {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster(this.clock);
  readonly members: Member[] = [];
  /** Given to the members that are made from then on. */
  deadLetters: DeadLetterPort | undefined;
  positions: PositionsPort | undefined;
  /** Where members that are made from then on keep what they count: the topic is a side channel to them. */
  channel: ChannelPort | undefined;
  history: RecordHistory | undefined;
  readonly #settings: Settings;

  constructor(partitions = 1, settings: Partial<Settings> = {}) {
    this.#settings = { ...SETTINGS, ...settings };
    this.cluster.createTopic(TOPIC, partitions);
  }

  /** Makes a member; it joins when its runtime is started. */
  member(sink = new ScriptedSink()): Member {
    const consumer = this.cluster.consumer(GROUP);
    const events: RuntimeEvent[] = [];
    const keeper = this.channel && new SideChannel(sink, this.channel);
    const runtime = createConsumerRuntime(
      { ...this.#settings, group: GROUP, topics: [TOPIC], sink: keeper ?? sink, ...(keeper && { sideChannels: [TOPIC] }) },
      {
        broker: consumer,
        clock: this.clock,
        observe: (event) => void events.push(event),
        ...(this.deadLetters === undefined ? {} : { deadLetters: this.deadLetters }),
        ...(this.history === undefined ? {} : { history: this.history }),
        ...(this.positions === undefined ? {} : { positions: this.positions }),
        ...(keeper && { keeper }),
      },
    );
    const member = { runtime, sink, consumer, events };
    this.members.push(member);
    return member;
  }

  /** A member that runs and has opened what it was given. */
  async running(sink?: ScriptedSink): Promise<Member> {
    const member = this.member(sink);
    await this.start(member);
    await this.clock.until(() => member.runtime.lanes().some(({ phase }) => phase !== 'opening'), 'a lane has opened');
    return member;
  }

  async start(member: Member): Promise<void> {
    const started = member.runtime.start();
    await this.clock.advance(60);
    await started;
  }

  async stop(member: Member, withinMs?: number): Promise<DrainReport> {
    let report: DrainReport | undefined;
    void member.runtime.stop(withinMs).then((value) => {
      report = value;
    });
    await this.clock.until(() => report !== undefined, 'the stop has ended');
    return report as DrainReport & object;
  }

  tp(partition = 0): { topic: string; partition: number } {
    return { topic: TOPIC, partition };
  }

  /** Appends records whose value is `size` bytes long. */
  append(count: number, partition = 0, size = 10): void {
    const record: NewRecord = { key: Buffer.from('k'), value: Buffer.alloc(size, 1) };
    this.cluster.append(this.tp(partition), ...Array.from({ length: count }, () => record));
  }

  committed(partition = 0): number | null {
    return this.cluster.group(GROUP).committed(this.tp(partition));
  }

  lane(member: Member, partition = 0): LaneView {
    const lane = member.runtime.lanes().find((each) => each.partition === partition);
    if (lane === undefined) throw new Error(`partition ${partition} is not owned`);
    return lane;
  }

  /** Moves time on until the condition holds. */
  until(condition: () => boolean, what: string, limitMs?: number): Promise<void> {
    return this.clock.until(condition, what, limitMs);
  }
}

export function kinds(events: readonly RuntimeEvent[], ...wanted: RuntimeEvent['kind'][]): RuntimeEvent[] {
  return events.filter(({ kind }) => wanted.includes(kind));
}
