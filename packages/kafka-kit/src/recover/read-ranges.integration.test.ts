import { afterAll, expect, it, vi } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { readerMembership, readRangesWith } from './read-ranges.ts';

const kafka = new RealKafka('read-ranges-test');
afterAll(() => kafka.close());

it('a reader that is slower than its client loses nothing of what waits inside the real client', async () => {
  const topic = await kafka.topic(1);
  const publisher = await connectPublisher(kafka.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const count = 8000;
  const records = Array.from({ length: count }, () => ({ topic, partition: 0, key: null, value: Buffer.alloc(400, 'x') }));
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(fates.every(({ kind }) => kind === 'acknowledged')).toBe(true);
  await publisher.close(5000);
  const consumer = createNativeConsumer(kafka.settings, readerMembership(kafka.settings));
  const to = count - 500;
  const offsets: number[] = [];
  for await (const some of readRangesWith(consumer, [{ topic, partition: 0, from: 0, to }])) {
    offsets.push(...some.map(({ offset }) => offset));
    // Until the client itself says that it has fetched everything.
    await vi.waitFor(() => expect(consumer.fetchPosition({ topic, partition: 0 })).toBe(count), { timeout: 30_000, interval: 100 });
  }
  expect(offsets).toEqual(Array.from({ length: to }, (_, offset) => offset));
});
