import { afterAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RawRecord } from '../records.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import type { OutgoingRecord, Published, Publisher } from './contract.ts';
import { connectPublisher } from './kafka-publisher.ts';

const real = new RealKafka('publisher');
const publishers: Publisher[] = [];

afterAll(async () => {
  for (const publisher of publishers) await publisher.close(5000);
  await real.close();
});

async function open(producers = 2): Promise<Publisher> {
  const publisher = await connectPublisher(real.settings, { producers, maxInFlightBytes: 64_000_000, log: () => {} });
  publishers.push(publisher);
  return publisher;
}

/** Every record of the topic, up to its ends as they are now. */
async function readAll(topic: string): Promise<RawRecord[]> {
  const admin = await real.admin();
  const group = real.name('group');
  const ends = await admin.groupLag(group, [topic]);
  const wanted = ends.reduce((sum, { logEnd, logStart }) => sum + logEnd - logStart, 0);
  const consumer = createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
  await consumer.connect([topic], {
    rebalance: ({ kind, partitions }) =>
      kind === 'assigned' ? consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: 0 }))) : consumer.unassign(partitions),
    commit: () => {},
    log: () => {},
  });
  const records: RawRecord[] = [];
  for (let i = 0; i < 600 && records.length < wanted; i += 1) records.push(...(await consumer.poll(1000, 50)));
  await consumer.close(10_000);
  return records;
}

const kindsOf = (fates: readonly Published[]): string[] => fates.map(({ kind }) => kind);

it('20,000 records of 50 concurrent publishers are all there once, with their headers, in order per key', async () => {
  const topic = await real.topic(6);
  const publisher = await open();
  const headers = [
    ['event.type', Buffer.from('test')],
    ['binary', Buffer.from([0, 255, 10])],
  ] as const;
  const PUBLISHERS = 50;
  const ROUNDS = 20;
  const SIZE = 20;
  const publishAll = async (who: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const records = Array.from({ length: SIZE }, (_, i): OutgoingRecord => {
        const number = round * SIZE + i;
        return { topic, key: Buffer.from(`${who}-${number % 7}`), value: Buffer.from(`${who}:${number}`), headers };
      });
      const fates = await publisher.publish(records, { deadlineMs: 30_000 });
      expect(new Set(kindsOf(fates))).toEqual(new Set(['acknowledged']));
    }
  };
  await Promise.all(Array.from({ length: PUBLISHERS }, (_, who) => publishAll(who)));
  expect(publisher.inFlightBytes).toBe(0);
  const records = await readAll(topic);
  expect([records.length, new Set(records.map(({ value }) => String(value))).size]).toEqual([20_000, 20_000]);
  expect(records[0]?.headers).toEqual(headers);
  const last = new Map<string, { number: number; partition: number }>();
  for (const { key, value, partition } of records) {
    const number = Number(String(value).split(':')[1]);
    const before = last.get(String(key));
    expect(number).toBeGreaterThan(before?.number ?? -1);
    expect(partition).toBe(before?.partition ?? partition);
    last.set(String(key), { number, partition });
  }
});

it('a record larger than the topic’s limit is refused alone, its group is not', async () => {
  const topic = await real.topic(1, { 'max.message.bytes': '65536' });
  const publisher = await open(1);
  const noise = (bytes: number): Buffer => Buffer.from(Array.from({ length: bytes }, () => Math.floor(Math.random() * 256)));
  const records = Array.from(
    { length: 60 },
    (_, i): OutgoingRecord => ({ topic, key: Buffer.from('k'), value: noise(i === 20 ? 100_000 : 200) }),
  );
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(kindsOf(fates)).toEqual(records.map((_, i) => (i === 20 ? 'refused' : 'acknowledged')));
  const there = await readAll(topic);
  expect(there.map(({ value }) => value)).toEqual(records.flatMap(({ value }, i) => (i === 20 ? [] : [value])));
});

it('a record larger than the client takes is refused alone, without a word from the broker', async () => {
  const topic = await real.topic(1);
  const publisher = await open(1);
  const value = Buffer.alloc(3 * 1024 * 1024);
  const fates = await publisher.publish(
    [
      { topic, key: null, value: Buffer.from('a') },
      { topic, key: null, value },
    ],
    { deadlineMs: 20_000 },
  );
  expect(kindsOf(fates)).toEqual(['acknowledged', 'refused']);
});

it('a record without a key on a compacted topic is refused alone', async () => {
  const topic = await real.topic(1, { 'cleanup.policy': 'compact' });
  const publisher = await open(1);
  const records = Array.from(
    { length: 9 },
    (_, i): OutgoingRecord => ({ topic, key: i === 4 ? null : Buffer.from(`${i}`), value: Buffer.from('v') }),
  );
  const fates = await publisher.publish(records, { deadlineMs: 20_000 });
  expect(kindsOf(fates)).toEqual(records.map((_, i) => (i === 4 ? 'refused' : 'acknowledged')));
  expect((await readAll(topic)).map(({ key }) => String(key))).toEqual(['0', '1', '2', '3', '5', '6', '7', '8']);
});

it('an empty value or key is refused: the client would send it as null, and make a tombstone of it', async () => {
  const topic = await real.topic(1);
  const publisher = await open(1);
  const empty = Buffer.alloc(0);
  const records: OutgoingRecord[] = [
    { topic, key: null, value: empty },
    { topic, key: empty, value: Buffer.from('a') },
    { topic, key: Buffer.from('k'), value: null },
  ];
  expect(kindsOf(await publisher.publish(records, { deadlineMs: 20_000 }))).toEqual(['refused', 'refused', 'acknowledged']);
  const there = await readAll(topic);
  expect(there.map(({ key, value }) => [String(key), value])).toEqual([['k', null]]);
});

it('a topic that is not there gives an answer by the deadline', async () => {
  const publisher = await open(1);
  const sinceMs = performance.now();
  const fates = await publisher.publish([{ topic: real.name('none'), key: null, value: Buffer.from('a') }], { deadlineMs: 2000 });
  expect(performance.now() - sinceMs).toBeLessThan(2500);
  expect(fates[0]?.kind).not.toBe('acknowledged');
});
