import { randomUUID } from 'node:crypto';
import { sideTopicName } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  type KafkaSettings,
  type Publisher,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { lagPorts } from './group.ts';
import { withWaiting } from './group-waiting.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'group-waiting-test',
  securityProtocol: 'plaintext',
};
/** A group that has dead letters, on topics of this test alone. */
const GROUP = 'indexer';
const topic = `group-waiting-${randomUUID()}`;
const dlq = sideTopicName(topic, GROUP, 'dlq');
let admin: ClusterAdmin;
let publisher: Publisher;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  const configs = { 'message.timestamp.type': 'LogAppendTime' };
  for (const name of [topic, dlq])
    await admin.apply([{ kind: 'create', topic: name, spec: { name, key: 'none', partitions: 2, replicationFactor: 1, configs } }]);
  publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
});
afterAll(async () => {
  await publisher.close(5000);
  await admin.deleteTopics([topic, dlq]);
  await admin.close();
});

it('a partition that its dead-letter budget halted is seen to stand still, with its dead letters; the one beside it is not', async () => {
  // Of partition 0 all but the first 50 can not be taken, under five keys: the budget stops it.
  const records = Array.from({ length: 400 }, (_, i) =>
    [0, 1].map((partition) => ({ topic, partition, key: null, value: Buffer.from(`${i}`) })),
  ).flat();
  const fates = await publisher.publish(records, { deadlineMs: 20_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  const runtime = createConsumerRuntime(
    {
      group: GROUP,
      topics: [topic],
      sink: {
        name: 'store',
        write: async (batch) =>
          Array.from({ length: batch.length }, (_, i) =>
            batch.source.partition === 0 && batch.offset(i) >= 50 ? { kind: 'dead', reason: `reason-${batch.offset(i) % 5}` } : STORED,
          ),
      },
      batch: { maxRecords: 20, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 50, factor: 2, maxMs: 500, jitter: 0 },
      drain: { revokeMs: 2000, stopMs: 5000 },
      start: 'earliest',
      gaps: { kind: 'halt' },
    },
    {
      broker: createNativeConsumer(settings, { group: GROUP, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe: () => {},
      deadLetters: {
        publisher,
        topic: () => dlq,
        unsendable: () => Promise.reject(new Error('nothing is refused')),
        budget: { keyOf: ({ reason }) => reason, wayOut: 'put it right', look: () => 'nothing' },
      },
    },
  );
  await runtime.start();
  const ports = lagPorts(admin, settings);
  const committed = async () => (await admin.groupLag(GROUP, [topic])).map((each) => each.committed);
  await vi.waitFor(
    async () =>
      expect([
        runtime
          .lanes()
          .map(({ haltedBy }) => haltedBy)
          .filter(Boolean),
        (await committed())[1],
      ]).toEqual([['budget'], 400]),
    {
      timeout: 40_000,
    },
  );
  const at = (await vi.waitFor(
    async () => {
      const [stands] = await committed();
      const halted = runtime.lanes().find(({ haltedBy }) => haltedBy === 'budget');
      expect(stands).toBe(halted?.nextToRead);
      return stands;
    },
    { timeout: 10_000 },
  )) as number;

  const look = async (ageMs: number) =>
    await withWaiting({ ...ports, nowMs: () => Date.now() + ageMs }, GROUP, [topic], await admin.groupLag(GROUP, [topic]));
  const [still, fine] = await look(60_000);
  expect(still).toMatchObject({ committed: at, lag: 400 - at, trouble: { kind: 'stands-still', watchedMs: 10_000 } });
  const letters = still?.trouble?.kind === 'stands-still' ? still.trouble.deadLetters : {};
  expect(Object.values(letters).reduce((sum, each) => sum + each, 0)).toBe(at - 50);
  expect(Object.keys(letters)).toHaveLength(5);
  expect(fine).toMatchObject({ lag: 0 });
  expect(fine).not.toHaveProperty('oldest');
  expect(await ports.members(GROUP)).toBeGreaterThan(0);

  // One that is no longer away than a consumer takes is not watched.
  const startedMs = performance.now();
  const [young] = await look(-3_600_000);
  expect(performance.now() - startedMs).toBeLessThan(5000);
  expect([young?.waitingMs, young?.trouble]).toEqual([0, undefined]);
  expect(Date.now() - Date.parse(young?.oldest ?? '')).toBeLessThan(120_000);
  await runtime.stop();
});
