import { ask, kafka, nativeSettings } from '../broker/native-client.ts';
import type { KafkaSettings } from '../settings.ts';

const TIMEOUT_MS = 20_000;

/** What Kafka does with a group that had no member for 7 days, when a test wants it: its commits are gone. */
export async function forgetCommits(settings: KafkaSettings, group: string): Promise<void> {
  const admin = kafka.AdminClient.create(nativeSettings(settings));
  try {
    await ask((done) => admin.deleteGroups([group], { timeout: TIMEOUT_MS }, done as never));
  } finally {
    admin.disconnect();
  }
}

/** Adds partitions to a topic. */
export async function addPartitions(settings: KafkaSettings, topic: string, total: number): Promise<void> {
  const admin = kafka.AdminClient.create(nativeSettings(settings));
  try {
    await ask((done) => admin.createPartitions(topic, total, TIMEOUT_MS, done as never));
  } finally {
    admin.disconnect();
  }
}
