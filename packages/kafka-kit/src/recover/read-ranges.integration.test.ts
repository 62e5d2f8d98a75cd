import { afterAll, expect, it } from 'vitest';
import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import { readerMembership, readRangesWith } from './read-ranges.ts';

const kafka = new RealKafka('read-ranges-test');
afterAll(() => kafka.close());

/** A client whose records are taken one by one, and slowly, until it says that it has fetched up to `end`. */
function slowlyUntilFetched(consumer: BrokerConsumer, tp: { topic: string; partition: number }, end: number) {
  const said = { waiting: false };
  const used: Partial<BrokerConsumer> = {
    connect: (topics, handlers) => consumer.connect(topics, handlers),
    assign: (positions) => consumer.assign(positions),
    unassign: (partitions) => consumer.unassign(partitions),
    fetchPosition: (of) => consumer.fetchPosition(of),
    close: (timeoutMs) => consumer.close(timeoutMs),
    async poll(max, timeoutMs) {
      said.waiting ||= consumer.fetchPosition(tp) === end;
      if (said.waiting) return await consumer.poll(max, timeoutMs);
      await systemClock.sleep(5);
      return await consumer.poll(1, timeoutMs);
    },
  };
  return { said, slow: used as BrokerConsumer };
}

it('a reader that is slower than its client loses nothing of what waits inside the real client', async () => {
  const topic = await kafka.topic(1);
  const publisher = await connectPublisher(kafka.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const count = 8000;
  const records = Array.from({ length: count }, () => ({ topic, partition: 0, key: null, value: Buffer.alloc(400, 'x') }));
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(fates.every(({ kind }) => kind === 'acknowledged')).toBe(true);
  await publisher.close(5000);
  const tp = { topic, partition: 0 };
  const { said, slow } = slowlyUntilFetched(createNativeConsumer(kafka.settings, readerMembership(kafka.settings)), tp, count);
  const offsets: number[] = [];
  for await (const some of readRangesWith(slow, [{ ...tp, from: 0, to: count - 500 }])) offsets.push(...some.map(({ offset }) => offset));
  expect(said.waiting).toBe(true);
  expect(offsets).toEqual(Array.from({ length: count - 500 }, (_, offset) => offset));
});
