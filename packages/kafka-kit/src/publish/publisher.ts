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
  /** Ends the connecting. */
  readonly signal?: AbortSignal;
}

/** A cluster that gave no acknowledgement for so long is asked whether it is there. */
const PROBE_AFTER_MS = 2000;

/** Connects every producer; rejects with BrokerError when the cluster can not be reached. */
export async function createPublisher(options: PublisherOptions): Promise<Publisher> {
  const connected = await Promise.allSettled(options.producers.map((producer) => producer.connect(options.log, options.signal)));
  const failed = connected.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    // Those that did connect would go on for ever behind the back of a caller that tries again.
    await Promise.allSettled(options.producers.map((producer) => producer.close(0)));
    throw failed.reason;
  }
  return new GroupPublisher(options);
}

class GroupPublisher implements Publisher {
  readonly maxInFlightBytes: number;
  readonly #options: PublisherOptions;
  readonly #groups: readonly GroupCommit[];
  readonly #closed = new AbortController();
  readonly #open = new Set<PublishRequest>();
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
    void this.#probe();
  }

  get inFlightBytes(): number {
    return this.#inFlightBytes;
  }

  get reachable(): boolean {
    return this.#reachable;
  }

  async publish(records: readonly OutgoingRecord[], { deadlineMs }: { readonly deadlineMs: number }): Promise<readonly Published[]> {
    const refusal = this.#refusal(records);
    if (refusal !== undefined) return records.map(() => ({ kind: 'withdrawn', reason: refusal }));
    const request = new PublishRequest(records);
    const timer = new AbortController();
    this.#open.add(request);
    records.forEach((record, index) => {
      this.#inFlightBytes += sizeBytes(record);
      this.#groupOf(record).add({ request, index, record });
    });
    void this.#options.clock.sleep(deadlineMs, timer.signal).then(() => request.expire('Kafka did not answer before the deadline'));
    const fates = await request.answer;
    this.#open.delete(request);
    timer.abort();
    return fates;
  }

  async close(timeoutMs: number): Promise<void> {
    const { clock, producers } = this.#options;
    const deadlineMs = clock.nowMs() + timeoutMs;
    const timer = new AbortController();
    this.#closed.abort();
    await Promise.race([Promise.all(this.#groups.map((group) => group.idle())), clock.sleep(timeoutMs, timer.signal)]);
    timer.abort();
    // Nobody is left without an answer: what is still in flight may or may not get there.
    for (const request of this.#open) request.expire('the publisher was closed before Kafka answered');
    await Promise.all(producers.map((producer) => producer.close(Math.max(deadlineMs - clock.nowMs(), 0))));
  }

  /** Why nothing more is taken in now. One request is always taken, however large. */
  #refusal(records: readonly OutgoingRecord[]): string | undefined {
    if (this.#closed.signal.aborted) return 'the publisher is closing';
    const bytes = records.reduce((sum, record) => sum + sizeBytes(record), 0);
    if (this.#inFlightBytes === 0 || this.#inFlightBytes + bytes <= this.maxInFlightBytes) return undefined;
    return `${this.#inFlightBytes} bytes are in flight, and ${this.maxInFlightBytes} are allowed`;
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
  let bytes = (record.key?.length ?? 0) + (record.value?.length ?? 0);
  for (const [name, value] of record.headers ?? []) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

/** FNV-1a, to spread keys over producers; the partition is the client's own choice. */
function hash(key: Buffer): number {
  let h = 0x811c9dc5;
  for (const byte of key) h = Math.imul(h ^ byte, 0x01000193) >>> 0;
  return h;
}
