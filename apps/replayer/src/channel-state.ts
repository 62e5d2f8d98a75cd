import {
  type ChannelPosition,
  type ClusterAdmin,
  type KafkaSettings,
  type OutgoingRecord,
  readChannelRecord,
  readRanges,
  type SentPosition,
  sentTombstone,
  TAILRACE,
} from '@tailrace/kafka-kit';
import { lifeKey, sideKey } from '@tailrace/lake';

/** Where the sender's words are kept, and the consumer's. */
export interface ChannelStatePorts {
  readonly settings: KafkaSettings;
  readonly admin: ClusterAdmin;
  /** The compacted topic; its first partition holds everything. */
  readonly positionsTopic: string;
  /** The group that gets the records, and the group that reads its side channel. */
  readonly consumer: string;
  readonly group: string;
}

/** What consumer and senders have said of a consumer's side channels, as of the last `refresh`. */
export class ChannelState {
  readonly #ports: ChannelStatePorts;
  readonly #channels = new Map<string, ChannelPosition>();
  readonly #sent = new Map<string, SentPosition>();
  #readTo = 0;

  constructor(ports: ChannelStatePorts) {
    this.#ports = ports;
  }

  /** By `lifeKey`: what was said of an earlier life still tells what was applied of it. */
  get channels(): ReadonlyMap<string, ChannelPosition> {
    return this.#channels;
  }

  /** How far the plan with that mark was sent; undefined where its sender has not begun, or its receipt stands. */
  sent(mark: string, topic: string, partition: number): SentPosition | undefined {
    return this.#sent.get(sentKey({ plan: mark, topic, partition }));
  }

  /** Reads on to the end, by a look-up begun after the call. */
  async refresh(): Promise<void> {
    const { settings, admin, positionsTopic: topic } = this.#ports;
    const [extent] = await admin.groupLag(this.#ports.group, [topic]);
    if (extent === undefined) throw new Error(`The topic ${topic} is missing: run ${TAILRACE} topics apply.`);
    const range = { topic, partition: 0, from: Math.max(this.#readTo, extent.logStart), to: extent.logEnd };
    for await (const records of readRanges(settings, [range])) {
      for (const record of records) {
        this.#take(record);
        this.#readTo = record.offset + 1;
      }
    }
    this.#readTo = Math.max(this.#readTo, extent.logEnd);
  }

  /** The marks of all plans that their senders speak of. */
  get marks(): ReadonlySet<string> {
    return new Set([...this.#sent.values()].map(({ plan }) => plan));
  }

  /** What takes the sender's words of a plan away. */
  tombstones(mark: string): readonly OutgoingRecord[] {
    const to = { topic: this.#ports.positionsTopic, partition: 0 };
    return [...this.#sent.values()].filter((sent) => sent.plan === mark).map((sent) => sentTombstone(to, sent));
  }

  #take(record: Parameters<typeof readChannelRecord>[0]): void {
    const said = readChannelRecord(record);
    if (said.kind === 'channel' && said.group === this.#ports.group) {
      const { topic, incarnation, partition } = said.position;
      this.#channels.set(lifeKey(topic, incarnation, partition), said.position);
    } else if (said.kind === 'sent' && said.sent.group === this.#ports.consumer) this.#sent.set(sentKey(said.sent), said.sent);
    else if (said.kind === 'sent-dropped' && said.sent.group === this.#ports.consumer) this.#sent.delete(sentKey(said.sent));
  }
}

function sentKey({ plan, topic, partition }: Pick<SentPosition, 'plan' | 'topic' | 'partition'>): string {
  return `${plan} ${sideKey(topic, partition)}`;
}
