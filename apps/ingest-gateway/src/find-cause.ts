import { connectAdmin, type KafkaSettings, TAILRACE } from '@tailrace/kafka-kit';
import type { KafkaLink } from './kafka-link.ts';

/**
 * Looks for what keeps posts out of Kafka: no way to the cluster, or no such topic. A topic that is there and differs from its
 * declaration is looked at only at the start: it may take records all the same. The look rejects when Kafka can not be asked.
 */
export function causeFinder(settings: KafkaSettings, topic: string, link: Pick<KafkaLink, 'check'>): () => Promise<string | undefined> {
  return async () => {
    const { state, sentence } = link.check();
    if (state !== 'ok') return sentence;
    const admin = await connectAdmin(settings);
    try {
      const [found] = await admin.readTopics([topic]);
      return found === undefined ? `The topic ${topic} does not exist; run: ${TAILRACE} topics apply` : undefined;
    } finally {
      await admin.close();
    }
  };
}
