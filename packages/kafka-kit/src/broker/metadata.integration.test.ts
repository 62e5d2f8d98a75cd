import { afterAll, expect, it, vi } from 'vitest';
import { RealKafka } from '../testing/real-kafka.ts';
import { BrokerError } from './broker-consumer.ts';
import { ask, CODES, kafka, nativeSettings } from './native-client.ts';
import { createNativeConsumer } from './native-consumer.ts';

const TIMEOUT_MS = 10_000;
const real = new RealKafka('metadata');
afterAll(() => real.close());

it('a partition that the client’s cache does not know is found by the second look-up, long before the cache’s own refresh', async () => {
  const topic = await real.topic(1);
  const consumer = createNativeConsumer(real.settings, {
    group: real.name('group'),
    protocol: { kind: 'consumer' },
    maxPollIntervalMs: 60_000,
  });
  await consumer.connect([], { rebalance: () => {}, commit: () => {}, log: () => {} });
  const admin = kafka.AdminClient.create(nativeSettings(real.settings));
  try {
    await consumer.facts({ topic, partition: 0 }, TIMEOUT_MS);
    await ask((done) => admin.createPartitions(topic, 3, TIMEOUT_MS, done as never));
    const codes: number[] = [];
    await vi.waitFor(
      async () => {
        try {
          await consumer.facts({ topic, partition: 2 }, TIMEOUT_MS);
        } catch (fault) {
          if (fault instanceof BrokerError) codes.push(fault.code);
          throw fault;
        }
      },
      { timeout: 20_000, interval: 200 },
    );
    // Without such a failure the cache was fresh, and the test shows nothing.
    expect(codes).toContain(CODES.unknownPartition);
  } finally {
    admin.disconnect();
    await consumer.close(5000);
  }
});
