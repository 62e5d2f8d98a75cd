// A bare consume-and-produce loop: each poll's records go to another topic, in the same partition, by the client's own producer.
import kafka from '@confluentinc/kafka-javascript';
import { readAll } from './bare-consumer.mjs';
import { measured, task } from './subject.mjs';

const FLUSH_MS = 60_000;
const QUEUE_FULL = -184;

/** @param {(message: import('@confluentinc/kafka-javascript').Message) => object[]} headersOf what each record is written with */
export async function measureCopy(headersOf) {
  const given = task();
  await measured(async (firstRecord) => {
    const producer = new kafka.Producer({
      'bootstrap.servers': given.environment.KAFKA_BOOTSTRAP_SERVERS,
      // As the kit's publisher has them.
      acks: 'all',
      'enable.idempotence': true,
      'compression.type': 'zstd',
      'linger.ms': 5,
      'batch.size': 1_000_000,
      'queue.buffering.max.messages': 500_000,
      'queue.buffering.max.kbytes': 262_144,
      'delivery.report.only.error': true,
    });
    await new Promise((resolve, reject) => producer.connect({}, (fault) => (fault ? reject(fault) : resolve(undefined))));
    const flush = () => new Promise((resolve, reject) => producer.flush(FLUSH_MS, (fault) => (fault ? reject(fault) : resolve(undefined))));
    await readAll(given, async (messages) => {
      firstRecord();
      for (const message of messages) {
        for (;;) {
          try {
            producer.produce(given.copyTo, message.partition, message.value, message.key, undefined, undefined, headersOf(message));
            break;
          } catch (fault) {
            if (fault.code !== QUEUE_FULL) throw fault;
            await flush();
          }
        }
      }
    });
    await flush();
  });
}
