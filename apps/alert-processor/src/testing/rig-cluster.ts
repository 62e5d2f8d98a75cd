import { POSITIONS_TOPIC, topicsFor } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  type KafkaSettings,
  type Publisher,
  planTopics,
  type TopicSpec,
} from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';

/** The real cluster with topics of a test's own on it. */
export interface RigCluster {
  readonly settings: KafkaSettings;
  readonly admin: ClusterAdmin;
  readonly publisher: Publisher;
}

/** Makes the topics, and that of positions where it is missing. */
export async function rigCluster(clientId: string, own: readonly TopicSpec[]): Promise<RigCluster> {
  const settings: KafkaSettings = {
    bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
    clientId,
    securityProtocol: 'plaintext',
  };
  const admin = await connectAdmin(settings);
  const specs = [...own, ...topicsFor('local').filter(({ name }) => name === POSITIONS_TOPIC)];
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  const publisher = await connectPublisher(settings, {
    producers: 1,
    maxInFlightBytes: 64 * 1024 * 1024,
    log: () => {},
    producer: { topicPropagationMs: 5000 },
  });
  return { settings, admin, publisher };
}
