import { TAILRACE } from '../observe/command.ts';
import type { OutgoingRecord } from '../publish/contract.ts';
import type { Headers } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import type { ClientLogLine } from './broker-consumer.ts';
import type { BrokerProducer, DeliveryFault, FailedRecord, Handed } from './broker-producer.ts';
import { connectClient } from './connect.ts';
import { ask, CODES, isFault, kafka, nativeSettings, tellLog } from './native-client.ts';

export interface ProducerSettings {
  readonly compression: 'zstd' | 'lz4' | 'none';
  readonly lingerMs: number;
  /** Shorter than an outage it was seen to duplicate and reorder: at least 120 s. */
  readonly messageTimeoutMs: number;
  readonly maxMessageBytes: number;
  /** How long a topic may be missing from the brokers’ answers, from the first record for it on, until records for it fail. */
  readonly topicPropagationMs: number;
}

export const DEFAULT_PRODUCER_SETTINGS: ProducerSettings = {
  compression: 'zstd',
  lingerMs: 5,
  messageTimeoutMs: 120_000,
  maxMessageBytes: 2 * 1024 * 1024,
  topicPropagationMs: 30_000,
};

/** A flush asks again this often whether all is acknowledged; one long flush looks only every 10 ms. */
const FLUSH_SLICE_MS = 5;
const CONNECT_TIMEOUT_MS = 10_000;
const RECONNECT_MS = 1000;
/** Log lines and errors of an idle client are fetched this often. */
const EVENT_POLL_MS = 500;

type NativeProducer = InstanceType<typeof kafka.Producer>;
type NativeHeaders = { [name: string]: Buffer }[];

/** Codes for a fault of the record, or of another one in its batch: too large (10), batch too large (18), invalid record (87), invalid neighbour (-138). */
const OWN_FAULTS = new Set([10, 18, 87, -138]);

/** A null header value makes the client throw and send the record without its headers. A Buffer without memory it writes as null. */
const NULL_VALUE = Buffer.alloc(0);
/** Nothing, and yet with an address: so it is written as empty. */
const EMPTY_VALUE = Buffer.alloc(1).subarray(0, 0);

/** A producer with acks=all and idempotence, that reports only failures. */
export function createNativeProducer(settings: KafkaSettings, producer: ProducerSettings): BrokerProducer {
  return new NativeBrokerProducer(settings, producer);
}

class NativeBrokerProducer implements BrokerProducer {
  readonly #settings: Record<string, string | number | boolean>;
  #producer: NativeProducer;
  #failed: FailedRecord[] = [];
  #log: (line: ClientLogLine) => void = () => {};
  #fatal = false;
  #closed = false;
  /** Headers are the same few lists for millions of records: converted once. */
  readonly #converted = new WeakMap<Headers, NativeHeaders>();

  constructor(settings: KafkaSettings, producer: ProducerSettings) {
    this.#settings = {
      ...nativeSettings(settings),
      acks: -1,
      'enable.idempotence': true,
      'compression.codec': producer.compression,
      'linger.ms': producer.lingerMs,
      'batch.size': 1_000_000,
      'message.timeout.ms': producer.messageTimeoutMs,
      // A broker that stands still holds what was sent to it for so long (the default is a minute), and then it is sent to the partition's
      // new leader. Above the 9 s after which Kafka gives up a silent broker: before that there is no new leader.
      'socket.timeout.ms': 10_000,
      'message.max.bytes': producer.maxMessageBytes,
      'topic.metadata.propagation.max.ms': producer.topicPropagationMs,
      'queue.buffering.max.messages': 500_000,
      'queue.buffering.max.kbytes': 262_144,
      // Java's default partitioner; the client's own default is CRC32.
      partitioner: 'murmur2_random',
      // A report per record costs 5.5 of 7.4 us: only failures are reported, and a flush is the acknowledgement of the rest.
      'delivery.report.only.error': true,
      dr_msg_cb: true,
    };
    this.#producer = this.#create();
  }

  async connect(log: (line: ClientLogLine) => void, signal?: AbortSignal): Promise<void> {
    this.#log = log;
    await this.#start(this.#producer, signal);
  }

  hand(record: OutgoingRecord): Handed {
    // The client sends an empty Buffer as null: a tombstone where an empty value was meant.
    if (record.value?.length === 0) return { kind: 'fault', reason: 'an empty value can not be sent', certain: true, own: true };
    if (record.key?.length === 0) return { kind: 'fault', reason: 'an empty key can not be sent', certain: true, own: true };
    try {
      // No opaque: in errors-only mode its handle is freed only by a report, so it would leak.
      this.#producer.produce(
        record.topic,
        record.partition ?? null,
        record.value,
        record.key,
        null,
        undefined,
        this.#headers(record.headers),
      );
      return { kind: 'taken' };
    } catch (fault) {
      if (!isFault(fault)) return { kind: 'fault', reason: String(fault), certain: true, own: false };
      if (fault.code === CODES.queueFull) return { kind: 'full' };
      if (fault.code === CODES.fatal) this.#fatal = true;
      return { kind: 'fault', reason: reasonOf(fault, record.topic), certain: true, own: OWN_FAULTS.has(fault.code ?? 0) };
    }
  }

  async settle(): Promise<readonly FailedRecord[]> {
    while (!(await this.#flushed()));
    // Failure reports trickle in for some turns behind the flush: an acknowledgement waits until two turns brought none.
    for (let quiet = 0, seen = this.#failed.length; quiet < 2; quiet += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#failed.length !== seen) {
        quiet = -1;
        seen = this.#failed.length;
      }
    }
    const failed = this.#failed;
    this.#failed = [];
    if (this.#fatal) await this.#replace();
    return failed;
  }

  async answers(timeoutMs: number): Promise<boolean> {
    try {
      await ask((done) => this.#producer.getMetadata({ allTopics: false, timeout: timeoutMs }, done));
      return true;
    } catch {
      // Safe: "no" is the answer to the question.
      return false;
    }
  }

  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    // Without a time the client flushes for 500 ms and then drops the rest in silence.
    await ask((done) => this.#producer.disconnect(timeoutMs, done));
  }

  #create(): NativeProducer {
    const producer = new kafka.Producer({ ...this.#settings });
    producer.on('delivery-report', (fault, report) => {
      if (!fault) return;
      if (fault.code === CODES.fatal) this.#fatal = true;
      this.#failed.push({
        topic: report.topic,
        key: typeof report.key === 'string' ? Buffer.from(report.key) : (report.key ?? null),
        value: report.value ?? null,
        ...verdict(fault, report.topic),
      });
    });
    return producer;
  }

  #flushed(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#producer.flush(FLUSH_SLICE_MS, (fault) => {
        if (!fault) resolve(true);
        else if (fault.code === CODES.timedOut) resolve(false);
        else reject(new Error(`flush: ${fault.message}`));
      });
    });
  }

  /** After a fatal error this client refuses everything for ever. Until another one is connected nothing can be written: it is tried for as long as it takes. */
  async #replace(): Promise<void> {
    const broken = this.#producer;
    while (this.#fatal && !this.#closed) {
      const fresh = this.#create();
      try {
        await this.#start(fresh);
        this.#producer = fresh;
        this.#fatal = false;
      } catch (error) {
        this.#log({ severity: 4, facility: 'REPLACE', message: `a new producer can not be connected: ${String(error)}` });
        fresh.disconnect(0, () => {});
        await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
      }
    }
    if (!this.#fatal) broken.disconnect(0, () => {});
  }

  async #start(producer: NativeProducer, signal?: AbortSignal): Promise<void> {
    tellLog(producer, this.#log);
    await connectClient(producer, CONNECT_TIMEOUT_MS, signal);
    producer.setPollInterval(EVENT_POLL_MS);
  }

  #headers(headers: Headers | undefined): NativeHeaders | undefined {
    if (headers === undefined) return undefined;
    let converted = this.#converted.get(headers);
    if (converted === undefined) {
      converted = headers.map(([name, value]) => ({ [name]: value === null ? NULL_VALUE : value.length === 0 ? EMPTY_VALUE : value }));
      this.#converted.set(headers, converted);
    }
    return converted;
  }
}

/** A timeout says nothing about the record's fate: part of such records were seen in the log. */
function verdict(fault: { code: number; message: string }, topic: string): DeliveryFault {
  const own = OWN_FAULTS.has(fault.code);
  return { reason: reasonOf(fault, topic), certain: own, own };
}

/** The client says only "Unknown topic": a person needs to know which, and what to do. */
function reasonOf({ code, message }: { readonly code?: number; readonly message: string }, topic: string): string {
  if (code === CODES.unknownTopic) return `the topic ${topic} does not exist; run: ${TAILRACE} topics apply`;
  if (code === CODES.unknownTopicOrPartition || code === CODES.unknownPartition)
    return `the topic ${topic}, or a partition of it, does not exist; run: ${TAILRACE} topics apply`;
  return message;
}
