import { randomUUID } from 'node:crypto';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  type KafkaSettings,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { withLiveGuard } from './live-guard.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'live-guard-test',
  securityProtocol: 'plaintext',
};
const topic = `live-guard-${randomUUID()}`;
const group = `${topic}-group`;
let admin: ClusterAdmin;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  const spec = {
    name: topic,
    key: 'none',
    partitions: 2,
    replicationFactor: 1,
    configs: { 'message.timestamp.type': 'LogAppendTime' },
  } as const;
  await admin.apply([{ kind: 'create', topic, spec }]);
});
afterAll(async () => {
  await admin.deleteTopics([topic]);
  await admin.close();
});

it('a real group that falls back is waited for, and no longer once it has caught up', async () => {
  let isSlow = true;
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink: {
        name: 'slow',
        write: async (batch, signal) => {
          if (isSlow) await systemClock.sleep(200, signal);
          return Array.from({ length: batch.length }, () => STORED);
        },
      },
      batch: { maxRecords: 1, maxBytes: 1_000_000, maxAgeMs: 10 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 50, factor: 2, maxMs: 500, jitter: 0 },
      drain: { revokeMs: 2000, stopMs: 5000 },
      start: 'earliest',
      gaps: { kind: 'halt' },
    },
    {
      broker: createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe: () => {},
    },
  );
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
  const notes: string[] = [];
  await withLiveGuard(
    settings,
    [topic],
    (sentence) => notes.push(sentence),
    async (guard) => {
      expect(await guard.check()).toBeUndefined();
      await runtime.start();
      const records = Array.from({ length: 400 }, (_, i) => ({ topic, partition: i % 2, key: null, value: Buffer.from(`${i}`) }));
      const fates = await publisher.publish(records, { deadlineMs: 20_000 });
      expect(fates.every(({ kind }) => kind === 'acknowledged')).toBe(true);
      const said = await vi.waitFor(async () => {
        const sentence = await guard.check();
        expect(sentence).toBeDefined();
        return sentence;
      }, 30_000);
      expect(said).toMatch(
        new RegExp(`^Waiting for the live group ${group}: it is \\d+ s behind on ${topic}, partition [01], and it rises`),
      );
      isSlow = false;
      await vi.waitFor(async () => expect((await admin.groupLag(group, [topic])).map(({ lag }) => lag)).toEqual([0, 0]), 30_000);
      await vi.waitFor(async () => expect(await guard.check()).toBeUndefined(), 10_000);
      await runtime.stop();
    },
    [{ name: group, position: 'kafka', allowedDelayMs: 60_000 }],
  );
  await publisher.close(5000);
  expect(notes).toEqual([]);
});
