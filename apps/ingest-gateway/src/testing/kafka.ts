import { randomUUID } from 'node:crypto';
import { type TopicDeclaration, topicsFor } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  createNativeConsumer,
  type KafkaSettings,
  type Position,
  planTopics,
  type RawRecord,
} from '@tailrace/kafka-kit';
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

/** Where the partitions of a topic end now. */
export function endsOf(settings: KafkaSettings, topic: string): Promise<readonly Position[]> {
  return withAdmin(settings, async (admin) =>
    (await admin.groupLag('nobody', [topic])).map(({ partition, logEnd }) => ({ topic, partition, nextToRead: logEnd })),
  );
}

/** The records of a topic from `from` (without it: from 0) to the ends found at the call, by partition and offset. */
export async function readTopic(settings: KafkaSettings, topic: string, from?: readonly Position[]): Promise<RawRecord[]> {
  const ends = await endsOf(settings, topic);
  const startOf = (partition: number) => from?.find((position) => position.partition === partition)?.nextToRead ?? 0;
  const wanted = ends.reduce((sum, { partition, nextToRead }) => sum + nextToRead - startOf(partition), 0);
  const group = `reader-${randomUUID()}`;
  const consumer = createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
  const records: RawRecord[] = [];
  try {
    await consumer.connect([topic], {
      rebalance({ kind, partitions }) {
        if (kind === 'assigned') consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: startOf(tp.partition) })));
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
