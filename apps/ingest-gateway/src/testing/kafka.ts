import { randomUUID } from 'node:crypto';
import { type TopicDeclaration, topicsFor } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin, createNativeConsumer, type KafkaSettings, planTopics, type RawRecord } from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';

/** The real cluster that the tests were given. */
export function testCluster(): KafkaSettings {
  return {
    bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
    clientId: 'gateway-test',
    securityProtocol: 'plaintext',
  };
}

/** Makes the events topic under a name of its own, with whatever settings are to differ, and gives the name. */
export async function makeTopic(admin: ClusterAdmin, configs: Readonly<Record<string, string>> = {}): Promise<string> {
  const [declared] = topicsFor('local');
  if (declared === undefined) throw new Error('no topic is declared');
  const spec: TopicDeclaration = { ...declared, name: `gateway-${randomUUID()}`, configs: { ...declared.configs, ...configs } };
  await admin.apply(planTopics([spec], []));
  return spec.name;
}

/** Every record of a topic, by partition and offset: reads from the beginning to the ends found at the call. */
export async function readTopic(settings: KafkaSettings, topic: string): Promise<RawRecord[]> {
  const admin = await connectAdmin(settings);
  const group = `reader-${randomUUID()}`;
  const ends = await admin.groupLag(group, [topic]);
  await admin.close();
  const wanted = ends.reduce((sum, { logEnd, logStart }) => sum + logEnd - logStart, 0);
  const consumer = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
  const records: RawRecord[] = [];
  try {
    await consumer.connect([topic], {
      rebalance({ kind, partitions }) {
        if (kind === 'assigned') consumer.assign(partitions.map((partition) => ({ ...partition, nextToRead: 0 })));
        else consumer.unassign(partitions);
      },
      commit: () => undefined,
      log: () => undefined,
    });
    while (records.length < wanted) records.push(...(await consumer.poll(10_000, 200)));
  } finally {
    await consumer.close(10_000);
  }
  return records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset);
}

/** A cluster's topics, looked at and changed. */
export async function withAdmin<T>(settings: KafkaSettings, act: (admin: ClusterAdmin) => Promise<T>): Promise<T> {
  const admin = await connectAdmin(settings);
  try {
    return await act(admin);
  } finally {
    await admin.close();
  }
}
