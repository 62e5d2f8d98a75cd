import type { KafkaSettings } from '../settings.ts';
import { connectAdmin } from './cluster-admin.ts';
import { retentionMs } from './topic-plan.ts';

/** For how long each of the topics keeps its records. Left out: a topic that keeps them for ever, or whose settings may not be read. */
export async function readRetentions(settings: KafkaSettings, topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const admin = await connectAdmin(settings);
  try {
    const found = await admin.readTopics(topics);
    return new Map(
      found.flatMap(({ name, configs }) => {
        const keptMs = retentionMs(configs);
        return keptMs !== undefined && Number.isFinite(keptMs) ? [[name, keptMs] as const] : [];
      }),
    );
  } finally {
    await admin.close();
  }
}
