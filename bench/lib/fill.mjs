// Topics full of generated events, made once and read by every measured process.
import { generateEvents } from '../../packages/events/dist/index.js';
import { connectAdmin, connectPublisher } from '../../packages/kafka-kit/dist/index.js';
import { deleteRecordsBefore } from '../../packages/kafka-kit/dist/testing/index.js';

export const PARTITIONS = 12;
const AT_ONCE = 5000;

/** How a topic's values look. `generated`: as our own traffic, in the field table's order. `three-orders`: as of three kinds of services. */
const VALUES = {
  generated: (event) => JSON.stringify(event),
  'three-orders': (event, i) => {
    const entries = Object.entries(event);
    if (i % 3 === 1) entries.reverse();
    if (i % 3 === 2) entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify(Object.fromEntries(entries));
  },
};

function settingsOf(bootstrapServers) {
  return { bootstrapServers, clientId: 'tailrace-bench', securityProtocol: 'plaintext' };
}

/** @param {string} bootstrapServers @param {string} topic */
export async function makeTopic(bootstrapServers, topic) {
  const admin = await connectAdmin(settingsOf(bootstrapServers));
  const configs = { 'message.timestamp.type': 'LogAppendTime' };
  const spec = { name: topic, key: 'customer', partitions: PARTITIONS, replicationFactor: 1, configs };
  await admin.apply([{ kind: 'create', topic, spec }]);
  await admin.close();
}

/** Has Kafka delete every record of a topic. @param {string} bootstrapServers @param {string} topic */
export async function emptyTopic(bootstrapServers, topic) {
  const settings = settingsOf(bootstrapServers);
  const admin = await connectAdmin(settings);
  const logs = await admin.groupLag('tailrace-bench', [topic]);
  await admin.close();
  for (const { partition, logEnd } of logs) await deleteRecordsBefore(settings, { topic, partition }, logEnd);
}

/**
 * Makes the topic and fills it; resolves with the mean size of a value in bytes.
 * @param {string} bootstrapServers
 * @param {{ topic: string, records: number, kind: keyof typeof VALUES }} fill
 */
export async function fillTopic(bootstrapServers, { topic, records, kind }) {
  const settings = settingsOf(bootstrapServers);
  await makeTopic(bootstrapServers, topic);
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const events = generateEvents({ seed: 7, nowMs: Date.now });
  const headers = [
    ['event.type', Buffer.from('service-event')],
    ['event.version', Buffer.from('1.0')],
  ];
  let bytes = 0;
  for (let sent = 0; sent < records; sent += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, records - sent) }, (_, i) => {
      const event = events.next().value;
      const value = Buffer.from(VALUES[kind](event, sent + i));
      bytes += value.length;
      return { topic, key: Buffer.from(event.customer_id), value, headers };
    });
    for (const { kind: outcome, reason } of await publisher.publish(batch, { deadlineMs: 60_000 }))
      if (outcome !== 'acknowledged') throw new Error(`a record was not written: ${outcome} ${reason ?? ''}`);
  }
  await publisher.close(5000);
  return bytes / records;
}
