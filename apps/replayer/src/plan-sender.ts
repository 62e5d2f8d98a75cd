import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Backoff,
  backoffMs,
  type Headers,
  HistoryHole,
  type HistoryRecord,
  type OutgoingRecord,
  type SentPosition,
  sentRecord,
  TAILRACE,
} from '@tailrace/kafka-kit';
import {
  type ChainId,
  FileDamage,
  LedgerDamage,
  type OffsetRange,
  type PlannedPartition,
  planMark,
  type ReplayPart,
  type SentReport,
  type StoredPlan,
  sideKey,
} from '@tailrace/lake';
import { Cancelled } from './governor.ts';
import { FROM_THE_BEGINNING, PartitionSender, type PartitionSenderPorts, type Reached } from './partition-sender.ts';
import { NotTaken, type ReplayChannel } from './replay-channel.ts';
import { KEEP_NOTE, NOTHING_SENT, PLAN_NOTE, SentCount, type SentSoFar, sentBy } from './sent-state.ts';

/** Partitions that are read at a time: each has a reader of its own. */
const AT_ONCE = 3;

export interface PlanSenderPorts extends Pick<PartitionSenderPorts, 'admit' | 'chunk'> {
  readonly channel: ReplayChannel;
  /** How far earlier senders of the plan got. */
  sent(sideTopic: string, partition: number): SentPosition | undefined;
  readonly positionsTopic: string;
  /** Between two readings, while there is a fault of the moment. */
  readonly backoff: Backoff;
  read(chain: ChainId, range: OffsetRange, signal: AbortSignal): AsyncIterable<ReplayPart>;
  isWanted(record: HistoryRecord): boolean;
  onPublished(records: number): void;
  note(sentence: string): void;
  nowMs(): number;
}

/** Sends a plan: each partition in the order of its offsets, a few partitions at a time. Going on where an earlier sender stopped. */
export class PlanSender {
  readonly #plan: StoredPlan;
  readonly #ports: PlanSenderPorts;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #senders: readonly PartitionSender[];
  #saving: Promise<unknown> = Promise.resolve();
  /** Whether an earlier sender had begun. */
  readonly resumed: boolean;

  private constructor(plan: StoredPlan, ports: PlanSenderPorts, partitions: readonly ReachedPartition[], interrupted: AbortSignal) {
    this.#plan = plan;
    this.#ports = ports;
    this.#signal = AbortSignal.any([interrupted, this.#stop.signal]);
    this.#senders = partitions.map(({ planned, reached }) => {
      const target = { topic: ports.channel.topicOf(planned.topic), notes: notesOf(plan) };
      return new PartitionSender(planned, reached, target, {
        ...ports,
        read: (chain, range) => ports.read(chain, range, this.#signal),
        publish: async (records) => {
          await ports.channel.publish(records);
          ports.onPublished(records.length);
        },
      });
    });
    this.resumed = partitions.some(({ reached }) => reached !== FROM_THE_BEGINNING);
  }

  /** Looks how far it got, and writes that down before anything is sent: the consumer counts only for plans of which it can see a sender. */
  static async open(plan: StoredPlan, ports: PlanSenderPorts, interrupted: AbortSignal): Promise<PlanSender> {
    const sender = new PlanSender(plan, ports, await reachedOf(plan, ports, refuse), interrupted);
    await sender.save();
    return sender;
  }

  get partitions(): readonly PartitionSender[] {
    return this.#senders;
  }

  /** Writes down how far it got. Calls are carried out one by one. */
  async save(): Promise<readonly SentPosition[]> {
    const saved = this.#saving.then(() => this.#save());
    // Safe: this caller has its rejection, and the next one tries anew.
    this.#saving = saved.catch(() => {});
    return await saved;
  }

  async #save(): Promise<readonly SentPosition[]> {
    const { channel, positionsTopic } = this.#ports;
    // With nothing on its way: what was sent stands below the end, and what will be sent at or above it.
    const releases = await Promise.all(this.#senders.map((sender) => sender.hold()));
    let positions: readonly SentPosition[];
    try {
      const ends = await channel.ends();
      positions = this.#senders.map((sender) => {
        const { topic, partition } = { topic: sender.sideTopic, partition: sender.planned.partition };
        const sideNext = ends.get(sideKey(topic, partition));
        if (sideNext === undefined) throw new Error(`Kafka did not say where ${topic}, partition ${partition}, ends.`);
        const place = { group: channel.consumer, plan: planMark(this.#plan), topic, partition, incarnation: channel.incarnationOf(topic) };
        return { ...place, sideNext, ...sender.acknowledged };
      });
    } finally {
      for (const release of releases) release();
    }
    const to = { topic: positionsTopic, partition: 0 };
    await channel.publish(positions.map((position): OutgoingRecord => sentRecord(to, position)));
    return positions;
  }

  /** Sends what is left, to the plan's end or to its cancelling. Faults of the moment are waited out. */
  async run(): Promise<SentReport> {
    const waiting = [...this.#senders];
    let ended: unknown;
    const worker = async (): Promise<void> => {
      for (let sender = waiting.shift(); sender !== undefined; sender = waiting.shift()) {
        try {
          await this.#runOne(sender);
        } catch (fault) {
          // The first is why; that the others were stopped for it is what follows.
          ended ??= fault;
          waiting.length = 0;
          this.#stop.abort();
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (ended !== undefined && !(ended instanceof Cancelled)) throw ended;
    return this.#report(await this.save(), ended !== undefined);
  }

  async #runOne(sender: PartitionSender): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await sender.run();
      } catch (fault) {
        if (!isOfTheMoment(fault) || this.#signal.aborted) throw fault;
        if (tries === 0) this.#ports.note(`${fault instanceof Error ? fault.message : String(fault)} It is tried again.`);
      }
      await sleep(backoffMs(this.#ports.backoff, tries), undefined, { signal: this.#signal });
    }
  }

  #report(positions: readonly SentPosition[], cancelled: boolean): SentReport {
    const partitions = positions.map((position, i) => {
      const sender = this.#senders[i];
      if (sender === undefined) throw new RangeError('a position without its sender');
      return reportOf(sender.planned, position, sender.passed);
    });
    return { plan: this.#plan.id, endedAtMs: this.#ports.nowMs(), cancelled, partitions };
  }
}

type Sums = Pick<SentReport['partitions'][number], 'fromLake' | 'fromKafka' | 'lost' | 'beforeArchive' | 'voids'>;

function reportOf(
  planned: PlannedPartition,
  position: SentPosition,
  { fromLake, fromKafka, lost, beforeArchive, voids }: Sums,
): SentReport['partitions'][number] {
  const { topic, incarnation, partition } = planned;
  const { topic: sideTopic, incarnation: sideIncarnation, sideNext, records, bytes, checksum } = position;
  const sums = { fromLake, fromKafka, lost, beforeArchive, voids };
  return { topic, incarnation, partition, sideTopic, sideIncarnation, sideNext, records, bytes, checksum, ...sums };
}

const NO_SUMS: Sums = { fromLake: 0, fromKafka: 0, lost: 0, beforeArchive: 0, voids: 0 };

/**
 * Reports a sending that was cancelled and whose sender is gone: what stands in the side channel is what was sent. Of one that was made anew since,
 * what its senders wrote down last.
 */
export async function closeSending(plan: StoredPlan, ports: Pick<PlanSenderPorts, 'channel' | 'sent' | 'nowMs'>): Promise<SentReport> {
  const { channel } = ports;
  const partitions = (await reachedOf(plan, ports, lastWords)).map(({ planned, standing, incarnation, sideNext }) => {
    const topic = channel.topicOf(planned.topic);
    const place = { group: channel.consumer, plan: planMark(plan), topic, partition: planned.partition, incarnation };
    return reportOf(planned, { ...place, sideNext, ...standing }, NO_SUMS);
  });
  return { plan: plan.id, endedAtMs: ports.nowMs(), cancelled: true, partitions };
}

interface ReachedPartition {
  readonly planned: PlannedPartition;
  readonly reached: Reached;
  /** What was written down and what stands behind that, together. */
  readonly standing: SentSoFar;
  /** The life of the side topic, and where its partition ends: everything that was sent stands in that life, below. */
  readonly incarnation: string;
  readonly sideNext: number;
}

/** What is to be said of a partition whose side topic was made anew since it was written down. */
type OfAnotherLife = (plan: StoredPlan, before: SentPosition) => Omit<ReachedPartition, 'planned'>;

const refuse: OfAnotherLife = ({ id }, { topic }) => {
  throw new Error(
    `The side channel ${topic} was made anew since plan ${id} was begun, and what it held is gone: cancel it (${TAILRACE} replay cancel ${id}) and make a new plan.`,
  );
};

const lastWords: OfAnotherLife = (_, before) => {
  const { incarnation, sideNext } = before;
  return { reached: { before, there: new Set() }, standing: before, incarnation, sideNext };
};

/** How far earlier senders of the plan got, by what they wrote down, and by what stands in the side channel behind that. */
async function reachedOf(
  plan: StoredPlan,
  { channel, sent }: Pick<PlanSenderPorts, 'channel' | 'sent'>,
  ofAnotherLife: OfAnotherLife,
): Promise<readonly ReachedPartition[]> {
  const ends = await channel.ends();
  const all: ReachedPartition[] = [];
  for (const planned of plan.partitions) {
    const topic = channel.topicOf(planned.topic);
    const sideNext = ends.get(sideKey(topic, planned.partition)) ?? 0;
    const before = sent(topic, planned.partition);
    const incarnation = channel.incarnationOf(topic);
    if (before === undefined) all.push({ planned, reached: FROM_THE_BEGINNING, standing: NOTHING_SENT, incarnation, sideNext });
    else if (before.incarnation !== incarnation) all.push({ planned, ...ofAnotherLife(plan, before) });
    else all.push({ planned, incarnation, sideNext, ...(await reachedBehind(plan, planned, before, channel, sideNext)) });
  }
  return all;
}

async function reachedBehind(
  plan: StoredPlan,
  planned: PlannedPartition,
  before: SentPosition,
  channel: ReplayChannel,
  end: number,
): Promise<Pick<ReachedPartition, 'reached' | 'standing'>> {
  const { topic, partition, sideNext } = before;
  const mark = planMark(plan);
  const there = new Set<number>();
  const count = new SentCount(before);
  if (sideNext < end)
    for await (const records of channel.read(topic, partition, sideNext, end))
      for (const record of records) {
        const origin = sentBy(mark, record);
        const isOfThis = origin?.topic === planned.topic && origin.incarnation === planned.incarnation && origin.partition === partition;
        if (isOfThis && count.add(origin)) there.add(origin.offset);
      }
  return { reached: { before, there }, standing: count.now };
}

function notesOf(plan: StoredPlan): Headers {
  const { keepDays } = plan;
  return [
    [PLAN_NOTE, Buffer.from(planMark(plan))],
    ...(keepDays === undefined ? [] : [[KEEP_NOTE, Buffer.from(String(keepDays))] as const]),
  ];
}

/** No trying again helps: records are gone or damaged, or this program is at fault. */
const FINAL: readonly (new (...args: never[]) => Error)[] = [
  HistoryHole,
  Cancelled,
  NotTaken,
  FileDamage,
  LedgerDamage,
  TypeError,
  RangeError,
];

function isOfTheMoment(fault: unknown): boolean {
  return fault instanceof Error && !FINAL.some((kind) => fault instanceof kind);
}
