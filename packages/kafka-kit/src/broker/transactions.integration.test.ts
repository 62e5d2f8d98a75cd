import { afterAll, expect, it } from 'vitest';
import { RealKafka } from '../testing/real-kafka.ts';
import { TransactionalProducer } from '../testing/transactions.ts';
import { createNativeConsumer } from './native-consumer.ts';

const TIMEOUT_MS = 20_000;
const real = new RealKafka('transactions');
afterAll(() => real.close());

/** What the watch over silent partitions is built on: else every transaction at the end of a log would look like records that do not come. */
it('the end that facts tell is reached by the fetch position behind a transaction’s marker, and lies before an open transaction', async () => {
  const topic = await real.topic(1);
  const tp = { topic, partition: 0 };
  const producer = await TransactionalProducer.connect(real.settings);
  const consumer = createNativeConsumer(real.settings, {
    group: real.name('group'),
    protocol: { kind: 'consumer' },
    maxPollIntervalMs: 60_000,
  });
  await consumer.connect([], { rebalance: () => {}, commit: () => {}, log: () => {} });
  const produce = (count: number): Promise<void> =>
    producer.write(
      topic,
      0,
      Array.from({ length: count }, (_, i) => `v${i}`),
    );
  const offsets: number[] = [];
  const until = async (condition: () => boolean): Promise<void> => {
    for (let i = 0; i < 400 && !condition(); i += 1) for (const { offset } of await consumer.poll(100, 50)) offsets.push(offset);
    expect(condition()).toBe(true);
  };
  await producer.begin();
  await produce(5);
  await producer.end('commit');
  consumer.assign([{ ...tp, nextToRead: 0 }]);
  expect((await consumer.facts(tp, TIMEOUT_MS)).logEnd).toBe(6);
  await until(() => consumer.fetchPosition(tp) === 6);
  expect(offsets).toEqual([0, 1, 2, 3, 4]);
  await producer.begin();
  await produce(3);
  expect((await consumer.facts(tp, TIMEOUT_MS)).logEnd).toBe(6);
  await producer.end('abort');
  expect((await consumer.facts(tp, TIMEOUT_MS)).logEnd).toBe(10);
  await until(() => consumer.fetchPosition(tp) === 10);
  expect(offsets).toEqual([0, 1, 2, 3, 4]);
  await consumer.close(5000);
  await producer.close();
});
