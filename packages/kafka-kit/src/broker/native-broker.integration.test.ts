// biome-ignore lint/style/noRestrictedImports: the native client sends an empty value as null, so what it reads is written by the second one.
import { Producer } from '@platformatic/kafka';
import { afterAll } from 'vitest';
import { brokerConformance } from '../testing/broker-conformance.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { ask, kafka, nativeSettings } from './native-client.ts';
import { createNativeConsumer } from './native-consumer.ts';

const real = new RealKafka('conformance');
const ends: (() => Promise<void> | void)[] = [];

afterAll(async () => {
  for (const end of ends) await end();
  await real.close();
});

brokerConformance('native', async () => {
  const { settings } = real;
  const admin = await real.admin();
  const native = kafka.AdminClient.create(nativeSettings(settings));
  const producer = new Producer({ clientId: 'conformance', bootstrapBrokers: settings.bootstrapServers.split(',') });
  ends.push(
    () => native.disconnect(),
    () => producer.close(),
  );
  return {
    topic: (partitions) => real.topic(partitions),
    remake: (topic, partitions) => real.remake(topic, partitions),
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
    group: () => real.name('group'),
    run: (work) => work,
  };
});
