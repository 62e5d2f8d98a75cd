// The bare loop that the kit is held against: the same client with the same settings, and nothing around it.
import kafka from '@confluentinc/kafka-javascript';

const MAX_RECORDS = 1000;
const POLL_MS = 50;

/** The client with the kit's settings, connected. @param {string} servers @param {string} group */
export async function bareConsumer(servers, group) {
  const consumer = new kafka.KafkaConsumer({
    'bootstrap.servers': servers,
    'group.id': group,
    'enable.auto.commit': false,
    'enable.auto.offset.store': false,
    'auto.offset.reset': 'earliest',
    'fetch.queue.backoff.ms': 20,
    'queued.min.messages': 10_000,
    'queued.max.messages.kbytes': 16_384,
    'fetch.wait.max.ms': 100,
    'fetch.message.max.bytes': 262_144,
  });
  await new Promise((resolve, reject) => consumer.connect({}, (fault) => (fault ? reject(fault) : resolve(undefined))));
  consumer.setDefaultConsumeTimeout(POLL_MS);
  consumer.setDefaultIsTimeoutOnlyForFirstMessage(true);
  return consumer;
}

/** One poll. @returns {Promise<readonly import('@confluentinc/kafka-javascript').Message[]>} */
export function consumeSome(consumer) {
  return new Promise((resolve, reject) => consumer.consume(MAX_RECORDS, (fault, found) => (fault ? reject(fault) : resolve(found))));
}

/**
 * Reads `records` records of a topic from its start and hands each poll's to `take`, which may be asynchronous.
 * @param {import('./subject.mjs').Task} task
 * @param {(messages: readonly import('@confluentinc/kafka-javascript').Message[]) => void | Promise<void>} take
 */
export async function readAll({ topic, records, partitions, group, environment }, take) {
  const consumer = await bareConsumer(environment.KAFKA_BOOTSTRAP_SERVERS, group);
  consumer.assign(Array.from({ length: partitions }, (_, partition) => ({ topic, partition, offset: 0 })));
  for (let read = 0; read < records; ) {
    const messages = await consumeSome(consumer);
    read += messages.length;
    if (messages.length > 0) await take(messages);
  }
}
