import { setTimeout as delay } from 'node:timers/promises';
import { generateEvents, keyOf, serviceEventHeaders } from '@tailrace/events';
import { connectPublisher, type KafkaSettings, type OutgoingRecord, type Publisher } from '@tailrace/kafka-kit';
import { TOPIC } from '../pipeline/endpoints.ts';

const BATCH = 500;
const BATCHES_AT_ONCE = 4;
const IN_FLIGHT_BYTES = 16 * 1024 * 1024;
/** Above what a broker's death may take, so that every record's fate is told. */
const DEADLINE_MS = 180_000;
/** One in so many values is written as no serialiser would: such bytes are kept in the lake as they are, instead of being made anew. */
const ODD_EVERY = 20;
const PAUSE_MS = 20;
const STEP_MS = 100;

/**
 * Writes numbered events into Kafka, never more than it is allowed to. Straight through the kit's publisher, which is what the gateway
 * uses: here the consumers are on trial, and two cores have none to spare for HTTP.
 */
export class Feed {
  readonly #publisher: Publisher;
  readonly #events: ReturnType<typeof generateEvents>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #faults = new Map<string, number>();
  #allowed = 0;
  #next = 1;
  #acknowledged = 0;

  private constructor(publisher: Publisher, seed: number) {
    this.#publisher = publisher;
    this.#events = generateEvents({ seed, nowMs: Date.now });
    this.#running = this.#run();
  }

  static async start(settings: KafkaSettings, seed: number): Promise<Feed> {
    const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: IN_FLIGHT_BYTES, log: () => {} });
    return new Feed(publisher, seed);
  }

  /** Records with an acknowledgement. They have the numbers from 1 upwards. */
  get acknowledged(): number {
    return this.#acknowledged;
  }

  /** Why records have none, with how many. */
  get faults(): ReadonlyMap<string, number> {
    return this.#faults;
  }

  /** Lets it write as many records as this in all. */
  allow(records: number): void {
    this.#allowed = Math.max(this.#allowed, records);
  }

  /** How many records it may write in all. */
  get allowed(): number {
    return this.#allowed;
  }

  /** Lets it write so many records a second, until the returned function is called. */
  steadily(perSecond: number): () => void {
    const timer = setInterval(() => this.allow(this.#allowed + Math.ceil((perSecond * STEP_MS) / 1000)), STEP_MS);
    return () => clearInterval(timer);
  }

  /** Resolves when what was allowed is written. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#publisher.close(DEADLINE_MS);
  }

  async #run(): Promise<void> {
    const open = new Set<Promise<void>>();
    for (;;) {
      const count = Math.min(BATCH, this.#allowed - this.#next + 1);
      if (count > 0) {
        const sent: Promise<void> = this.#send(count).finally(() => open.delete(sent));
        open.add(sent);
        if (open.size >= BATCHES_AT_ONCE) await Promise.race(open);
      } else if (this.#stopping.signal.aborted) {
        break;
      } else {
        // Woken by the stop, which is then seen.
        await delay(PAUSE_MS, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      }
    }
    await Promise.all(open);
  }

  async #send(count: number): Promise<void> {
    const records = Array.from({ length: count }, () => this.#record(this.#next++));
    for (const fate of await this.#publisher.publish(records, { deadlineMs: DEADLINE_MS })) {
      if (fate.kind === 'acknowledged') this.#acknowledged++;
      else this.#faults.set(`${fate.kind}: ${fate.reason}`, (this.#faults.get(`${fate.kind}: ${fate.reason}`) ?? 0) + 1);
    }
  }

  #record(number: number): OutgoingRecord {
    const event = this.#events.next().value;
    const numbered = { ...event, attributes: { ...event.attributes, n: number } };
    const plain = JSON.stringify(numbered);
    const value = number % ODD_EVERY === 0 ? plain.replace('{', '{ "ratio" : 1.50e1 , "größe":"½" ,') : plain;
    return { topic: TOPIC, key: keyOf(event), value: Buffer.from(value), headers: serviceEventHeaders };
  }
}

const NUMBER = Buffer.from('"n":');
const ZERO = 0x30;

/** The number that a record of the feed carries, read from its bytes: nothing else of them is parsed. 0 where there is none. */
export function numberIn(value: Buffer): number {
  const at = value.lastIndexOf(NUMBER);
  if (at < 0) return 0;
  let number = 0;
  for (let i = at + NUMBER.length; i < value.length; i++) {
    const digit = (value[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) break;
    number = number * 10 + digit;
  }
  return number;
}
