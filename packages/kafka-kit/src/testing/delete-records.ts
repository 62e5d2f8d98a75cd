import { ask, kafka, nativeSettings } from '../broker/native-client.ts';
import type { TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';

const TIMEOUT_MS = 20_000;

/** What retention does, when a test wants it: the partition's log begins at `offset`. */
export async function deleteRecordsBefore(settings: KafkaSettings, { topic, partition }: TopicPartition, offset: number): Promise<void> {
  const admin = kafka.AdminClient.create(nativeSettings(settings));
  try {
    await ask((done) => admin.deleteRecords([{ topic, partition, offset }], { timeout: TIMEOUT_MS }, done as never));
  } finally {
    admin.disconnect();
  }
}
