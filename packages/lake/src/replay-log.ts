import { type ClusterAdmin, type KafkaSettings, type RawRecord, readRanges, type TopicIdentity } from '@tailrace/kafka-kit';
import type { Extent, ReplayLog } from './joined-reader.ts';
import type { ChainId } from './records.ts';

const LOOK_UP_MS = 10_000;
/** So much is read before it is asked whether it is still the same topic: an answer costs as much as a few hundred records. */
const PROVEN_RECORDS = 5000;
const PROVEN_BYTES = 8 * 1024 * 1024;

/** Reads a topic's log for a replay. It joins no group and commits nothing. */
export class KafkaReplayLog implements ReplayLog {
  readonly #settings: KafkaSettings;
  readonly #admin: ClusterAdmin;
  readonly #identity: TopicIdentity;

  constructor(settings: KafkaSettings, admin: ClusterAdmin, identity: TopicIdentity) {
    this.#settings = settings;
    this.#admin = admin;
    this.#identity = identity;
  }

  async extent(chain: ChainId): Promise<Extent | undefined> {
    if (!(await this.#isPresent(chain))) return undefined;
    const lags = await this.#admin.groupLag(this.#settings.clientId, [chain.topic]);
    // Once more: what was answered between the two is of this life.
    if (!(await this.#isPresent(chain))) return undefined;
    return lags.find(({ partition }) => partition === chain.partition);
  }

  async *read(chain: ChainId, from: number, to: number, signal: AbortSignal): AsyncGenerator<readonly RawRecord[], void> {
    let gathered: RawRecord[] = [];
    let bytes = 0;
    for await (const records of readRanges(this.#settings, [{ topic: chain.topic, partition: chain.partition, from, to }])) {
      signal.throwIfAborted();
      for (const record of records) {
        gathered.push(record);
        bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0);
      }
      if (gathered.length < PROVEN_RECORDS && bytes < PROVEN_BYTES) continue;
      if (!(await this.#isPresent(chain))) return;
      yield gathered;
      gathered = [];
      bytes = 0;
    }
    if (gathered.length > 0 && (await this.#isPresent(chain))) yield gathered;
  }

  async #isPresent({ topic, incarnation }: ChainId): Promise<boolean> {
    return (await this.#identity.lookUp(topic, LOOK_UP_MS)) === incarnation;
  }
}
