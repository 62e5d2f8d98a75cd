import { beforeEach, expect, it } from 'vitest';
import { ManualClock } from '../testing/manual-clock.ts';
import { MemoryCluster } from '../testing/memory-cluster.ts';
import { MemoryProducer } from '../testing/memory-producer.ts';
import type { OutgoingRecord, Publisher } from './contract.ts';
import { createPublisher } from './publisher.ts';

const TOPIC = 'events';
const clock = new ManualClock();
let cluster: MemoryCluster;
let producer: MemoryProducer;
let publisher: Publisher;

beforeEach(async () => {
  cluster = new MemoryCluster(clock);
  cluster.createTopic(TOPIC, 1);
  producer = new MemoryProducer(cluster);
  const opening = createPublisher({ producers: [producer], maxInFlightBytes: 1_000_000, clock, log: () => {} });
  await clock.advance(10);
  publisher = await opening;
});

const record = (value: string): OutgoingRecord => ({ topic: TOPIC, key: null, value: Buffer.from(value) });

async function publish(records: readonly OutgoingRecord[], deadlineMs = 10_000): Promise<string[]> {
  let kinds: string[] | undefined;
  void publisher.publish(records, { deadlineMs }).then((fates) => {
    kinds = fates.map(({ kind }) => kind);
  });
  await clock.until(() => kinds !== undefined, 'an answer', deadlineMs + 20);
  return kinds ?? [];
}

it('tells whether the cluster answers, also when nothing is published', async () => {
  expect(publisher.reachable).toBe(true);
  cluster.down = true;
  await clock.until(() => !publisher.reachable, 'it is noticed', 5000);
  cluster.down = false;
  await clock.until(() => publisher.reachable, 'it is back', 5000);
  cluster.down = true;
  const fates = publish([record('a')], 3000);
  expect(await fates).toEqual(['unknown']);
  expect(publisher.reachable).toBe(false);
  cluster.down = false;
  await clock.advance(5000);
  expect(publisher.reachable).toBe(true);
  expect(cluster.records({ topic: TOPIC, partition: 0 })).toHaveLength(1);
});

it('a group of which nothing was acknowledged is no sign of life', async () => {
  producer.answers = async () => false;
  await clock.until(() => !publisher.reachable, 'it does not answer', 5000);
  producer.faults = { deliver: () => ({ reason: 'timed out', certain: false, own: false }) };
  expect(await publish([record('a')])).toEqual(['unknown']);
  expect(publisher.reachable).toBe(false);
  producer.faults = {};
  expect(await publish([record('b')])).toEqual(['acknowledged']);
  expect(publisher.reachable).toBe(true);
});
