import { randomUUID } from 'node:crypto';
// biome-ignore lint/style/noRestrictedImports: the native client sends an empty value as null, so what it reads is written by the second one.
import { Producer } from '@platformatic/kafka';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll } from 'vitest';
import { connectAdmin } from '../admin/cluster-admin.ts';
import type { KafkaSettings } from '../settings.ts';
import { brokerConformance } from '../testing/broker-conformance.ts';
import { ask, kafka, nativeSettings } from './native-client.ts';
import { createNativeConsumer } from './native-consumer.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'conformance',
  securityProtocol: 'plaintext',
};
const made: string[] = [];
const ends: (() => Promise<void> | void)[] = [];

afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

brokerConformance('native', async () => {
  const admin = await connectAdmin(settings);
  const native = kafka.AdminClient.create(nativeSettings(settings));
  const producer = new Producer({ clientId: 'conformance', bootstrapBrokers: settings.bootstrapServers.split(',') });
  ends.push(
    () => admin.close(),
    () => admin.deleteTopics(made),
    () => native.disconnect(),
    () => producer.close(),
  );
  const make = async (name: string, partitions: number): Promise<void> =>
    admin.apply([{ kind: 'create', topic: name, spec: { name, key: 'none', partitions, replicationFactor: 1, configs: {} } }]);
  return {
    topic: async (partitions) => {
      const name = `conformance-${randomUUID()}`;
      await make(name, partitions);
      made.push(name);
      return name;
    },
    remake: async (topic, partitions) => {
      await admin.deleteTopics([topic]);
      await make(topic, partitions);
    },
    write: async (tp, records) => {
      const messages = records.map(({ key = null, value = null, headers = [] }) => ({
        ...tp,
        ...(key === null ? {} : { key }),
        ...(value === null ? {} : { value }),
        // Keyed by Buffers, which are never equal: a name may occur twice.
        headers: new Map(headers.map(([name, bytes]) => [Buffer.from(name), bytes ?? Buffer.alloc(0)])),
      }));
      await producer.send({ messages, acks: -1 });
    },
    deleteBefore: async ({ topic, partition }, offset) => {
      await ask((done) => native.deleteRecords([{ topic, partition, offset }], { timeout: 10_000 }, done as never));
    },
    committed: async (group, { topic, partition }) => {
      const lag = await admin.groupLag(group, [topic]);
      return lag.find((each) => each.partition === partition)?.committed ?? null;
    },
    member: (group) => createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
    group: () => `conformance-${randomUUID()}`,
    run: (work) => work,
  };
});
