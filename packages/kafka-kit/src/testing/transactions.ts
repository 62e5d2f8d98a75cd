import { randomUUID } from 'node:crypto';
import { ask, kafka, nativeSettings } from '../broker/native-client.ts';
import type { KafkaSettings } from '../settings.ts';

const TIMEOUT_MS = 20_000;

/** A producer of somebody else's, with transactions: their markers and what was aborted are offsets without a record. */
export class TransactionalProducer {
  readonly #producer: InstanceType<typeof kafka.Producer>;

  private constructor(settings: KafkaSettings) {
    this.#producer = new kafka.Producer({ ...nativeSettings(settings), 'transactional.id': randomUUID() });
  }

  static async connect(settings: KafkaSettings): Promise<TransactionalProducer> {
    const made = new TransactionalProducer(settings);
    await ask((done) => made.#producer.connect({}, done));
    await ask((done) => made.#producer.initTransactions(TIMEOUT_MS, done as never));
    return made;
  }

  async begin(): Promise<void> {
    await ask((done) => this.#producer.beginTransaction(done as never));
  }

  /** Writes the values and waits until the log has them. */
  async write(topic: string, partition: number, values: readonly string[]): Promise<void> {
    for (const value of values) this.#producer.produce(topic, partition, Buffer.from(value));
    await ask((done) => this.#producer.flush(TIMEOUT_MS, done as never));
  }

  async end(how: 'commit' | 'abort'): Promise<void> {
    await ask((done) =>
      how === 'commit'
        ? this.#producer.commitTransaction(TIMEOUT_MS, done as never)
        : this.#producer.abortTransaction(TIMEOUT_MS, done as never),
    );
  }

  async close(): Promise<void> {
    await ask((done) => this.#producer.disconnect(done));
  }
}
