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

/** Makes topics of a test's own, and that of positions where it is missing: it is everybody's, so another test may have made it meanwhile. */
export async function makeTopics(admin: ClusterAdmin, own: readonly TopicSpec[]): Promise<void> {
  await admin.apply(planTopics(own, []));
  const shared = topicsFor('local').filter(({ name }) => name === POSITIONS_TOPIC);
  const missing = async () => planTopics(shared, await admin.readTopics([POSITIONS_TOPIC]));
  const plan = await missing();
  try {
    await admin.apply(plan);
  } catch (fault) {
    if ((await missing()).length > 0) throw fault;
  }
}

/** Makes the topics, and that of positions where it is missing. */
export async function rigCluster(clientId: string, own: readonly TopicSpec[]): Promise<RigCluster> {
  const settings: KafkaSettings = {
    bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
    clientId,
    securityProtocol: 'plaintext',
  };
  const admin = await connectAdmin(settings);
  await makeTopics(admin, own);
  const publisher = await connectPublisher(settings, {
    producers: 1,
    maxInFlightBytes: 64 * 1024 * 1024,
    log: () => {},
    producer: { topicPropagationMs: 5000 },
  });
  return { settings, admin, publisher };
}
