import { setTimeout as sleep } from 'node:timers/promises';
import {
  backoffMs,
  DEFAULT_BACKOFF,
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
  type ReplayPart,
  type SentReport,
  type StoredPlan,
  sideKey,
} from '@tailrace/lake';
import { Cancelled } from './governor.ts';
import { PartitionSender, type PartitionSenderPorts } from './partition-sender.ts';
import { NotTaken, type ReplayChannel } from './replay-channel.ts';
import { KEEP_NOTE, NOTHING_SENT, PLAN_NOTE, SentCount, sentBy } from './sent-state.ts';

/** Partitions that are read at a time: each has a reader of its own. */
const AT_ONCE = 3;

export interface PlanSenderPorts extends Pick<PartitionSenderPorts, 'admit' | 'chunk'> {
  readonly channel: ReplayChannel;
  /** How far earlier senders of the plan got. */
  sent(sideTopic: string, partition: number): SentPosition | undefined;
  readonly positionsTopic: string;
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
  readonly #stop: AbortController;
  readonly #signal: AbortSignal;
  readonly #senders: readonly PartitionSender[];
  /** Whether an earlier sender had begun. */
  readonly resumed: boolean;

  private constructor(
    plan: StoredPlan,
    ports: PlanSenderPorts,
    senders: readonly PartitionSender[],
    resumed: boolean,
    stop: AbortController,
    signal: AbortSignal,
  ) {
    this.#plan = plan;
    this.#ports = ports;
    this.#senders = senders;
    this.resumed = resumed;
    this.#stop = stop;
    this.#signal = signal;
  }

  /** Looks how far it got, and writes that down before anything is sent: the consumer counts only for plans of which it can see a sender. */
  static async open(plan: StoredPlan, ports: PlanSenderPorts, interrupted: AbortSignal): Promise<PlanSender> {
    const stop = new AbortController();
    const signal = AbortSignal.any([interrupted, stop.signal]);
    const ends = await ports.channel.ends();
    const senders: PartitionSender[] = [];
    let resumed = false;
    for (const planned of plan.partitions) {
      const topic = ports.channel.topicOf(planned.topic);
      const before = ports.sent(topic, planned.partition);
      resumed ||= before !== undefined;
      const reached = before === undefined ? NOTHING_SENT : await reachedBy(plan.id, planned, before, ports.channel, ends);
      senders.push(
        new PartitionSender(
          planned,
          reached,
          { topic, notes: notesOf(plan) },
          {
            ...ports,
            read: (chain, range) => ports.read(chain, range, signal),
            publish: async (records) => {
              await ports.channel.publish(records);
              ports.onPublished(records.length);
            },
          },
        ),
      );
    }
    const sender = new PlanSender(plan, ports, senders, resumed, stop, signal);
    await sender.save();
    return sender;
  }

  get partitions(): readonly PartitionSender[] {
    return this.#senders;
  }

  /** Writes down how far it got. */
  async save(): Promise<readonly SentPosition[]> {
    const { channel, positionsTopic } = this.#ports;
    // First what is acknowledged, then where the side channel ends: so that stands below this.
    const acknowledged = this.#senders.map((sender) => ({ sender, so: sender.acknowledged }));
    const ends = await channel.ends();
    const positions = acknowledged.map(({ sender, so }): SentPosition => {
      const {
        sideTopic: topic,
        planned: { partition },
      } = sender;
      const sideNext = ends.get(sideKey(topic, partition));
      if (sideNext === undefined) throw new Error(`Kafka did not say where ${topic}, partition ${partition}, ends.`);
      return {
        group: channel.consumer,
        plan: String(this.#plan.id),
        topic,
        partition,
        incarnation: channel.incarnationOf(topic),
        sideNext,
        ...so,
      };
    });
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
      await sleep(backoffMs(DEFAULT_BACKOFF, tries), undefined, { signal: this.#signal });
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

/** The end of a sending whose sender is gone: what stands in the side channel is what was sent. */
export async function closeSending(plan: StoredPlan, ports: Pick<PlanSenderPorts, 'channel' | 'sent' | 'nowMs'>): Promise<SentReport> {
  const { channel } = ports;
  const ends = await channel.ends();
  const partitions: SentReport['partitions'][number][] = [];
  for (const planned of plan.partitions) {
    const topic = channel.topicOf(planned.topic);
    const before = ports.sent(topic, planned.partition);
    const so = before === undefined ? NOTHING_SENT : await reachedBy(plan.id, planned, before, channel, ends);
    const place = {
      group: channel.consumer,
      plan: String(plan.id),
      topic,
      partition: planned.partition,
      incarnation: channel.incarnationOf(topic),
    };
    partitions.push(reportOf(planned, { ...place, sideNext: ends.get(sideKey(topic, planned.partition)) ?? 0, ...so }, NO_SUMS));
  }
  return { plan: plan.id, endedAtMs: ports.nowMs(), cancelled: true, partitions };
}

/** How far a sender got that wrote this down and then may have sent on: what stands behind it in the side channel tells. */
async function reachedBy(
  plan: number,
  planned: PlannedPartition,
  before: SentPosition,
  channel: ReplayChannel,
  ends: ReadonlyMap<string, number>,
) {
  const { topic, partition, incarnation, sideNext } = before;
  if (incarnation !== channel.incarnationOf(topic))
    throw new Error(
      `The side channel ${topic} was made anew since plan ${plan} was begun, and what it held is gone: cancel it (${TAILRACE} replay cancel ${plan}) and make a new plan.`,
    );
  const count = new SentCount(before);
  const end = ends.get(sideKey(topic, partition)) ?? sideNext;
  if (sideNext < end)
    for await (const records of channel.read(topic, partition, sideNext, end))
      for (const record of records) {
        const origin = sentBy(plan, record);
        if (
          origin === undefined ||
          origin.topic !== planned.topic ||
          origin.incarnation !== planned.incarnation ||
          origin.partition !== partition
        )
          continue;
        count.add(origin);
      }
  return count.now;
}

function notesOf({ id, keepDays }: StoredPlan): Headers {
  return [[PLAN_NOTE, Buffer.from(String(id))], ...(keepDays === undefined ? [] : [[KEEP_NOTE, Buffer.from(String(keepDays))] as const])];
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
