import type { ClientLogLine } from '../broker/broker-consumer.ts';
import type { BrokerProducer } from '../broker/broker-producer.ts';
import type { Clock } from '../time/clock.ts';
import type { OutgoingRecord, Published, Publisher } from './contract.ts';
import { GroupCommit } from './group-commit.ts';
import { PublishRequest } from './request.ts';

export interface PublisherOptions {
  /** Keys are spread over these by their hash; more than one lets groups overlap. */
  readonly producers: readonly BrokerProducer[];
  readonly maxInFlightBytes: number;
  readonly clock: Clock;
  readonly log: (line: ClientLogLine) => void;
}

/** A cluster that gave no acknowledgement for so long is asked whether it is there. */
const PROBE_AFTER_MS = 2000;

/** Connects every producer; rejects with BrokerError when the cluster can not be reached. */
export async function createPublisher(options: PublisherOptions): Promise<Publisher> {
  await Promise.all(options.producers.map((producer) => producer.connect(options.log)));
  return new GroupPublisher(options);
}

class GroupPublisher implements Publisher {
  readonly maxInFlightBytes: number;
  readonly #options: PublisherOptions;
  readonly #groups: readonly GroupCommit[];
  readonly #closed = new AbortController();
  readonly #probing: Promise<void>;
  #inFlightBytes = 0;
  #reachable = true;
  #lastAckMs: number;
  #turn = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.maxInFlightBytes = options.maxInFlightBytes;
    this.#lastAckMs = options.clock.nowMs();
    this.#groups = options.producers.map(
      (producer) =>
        new GroupCommit(
          producer,
          options.clock,
          (record) => {
            this.#inFlightBytes -= sizeBytes(record);
          },
          () => {
            this.#lastAckMs = options.clock.nowMs();
            this.#reachable = true;
          },
        ),
    );
    this.#probing = this.#probe();
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  get reachable(): boolean {
    return this.#reachable;
  }

  async publish(records: readonly OutgoingRecord[], { deadlineMs }: { readonly deadlineMs: number }): Promise<readonly Published[]> {
    const request = new PublishRequest(records);
    const timer = new AbortController();
    records.forEach((record, index) => {
      this.#inFlightBytes += sizeBytes(record);
      this.#groupOf(record).add({ request, index, record });
    });
    void this.#options.clock.sleep(deadlineMs, timer.signal).then(() => request.expire());
    const fates = await request.answer;
    timer.abort();
    return fates;
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock, producers } = this.#options;
    const deadlineMs = clock.nowMs() + timeoutMs;
    const timer = new AbortController();
    await Promise.race([Promise.all(this.#groups.map((group) => group.idle())), clock.sleep(timeoutMs, timer.signal)]);
    timer.abort();
    this.#closed.abort();
    await this.#probing;
    await Promise.all(producers.map((producer) => producer.close(Math.max(deadlineMs - clock.nowMs(), 0))));
  }

  /** A key always travels through the same producer: two could write its records in either order. */
  #groupOf(record: OutgoingRecord): GroupCommit {
    const { length } = this.#groups;
    let spread: number;
    if (record.key !== null) spread = hash(record.key);
    else if (record.partition !== undefined) spread = record.partition;
    else {
      this.#turn += 1;
      spread = this.#turn;
    }
    const group = this.#groups[spread % length];
    if (group === undefined) throw new RangeError('a publisher needs at least one producer');
    return group;
  }

  async #probe(): Promise<void> {
    const { clock, producers } = this.#options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await clock.sleep(PROBE_AFTER_MS, signal);
      if (signal.aborted || clock.nowMs() - this.#lastAckMs < PROBE_AFTER_MS) continue;
      this.#reachable = (await producers[0]?.answers(PROBE_AFTER_MS)) ?? false;
    }
  }
}

function sizeBytes(record: OutgoingRecord): number {
  return (record.key?.length ?? 0) + (record.value?.length ?? 0);
}

/** FNV-1a, to spread keys over producers; the partition is the client's own choice. */
function hash(key: Buffer): number {
  let h = 0x811c9dc5;
  for (const byte of key) h = Math.imul(h ^ byte, 0x01000193) >>> 0;
  return h;
}
