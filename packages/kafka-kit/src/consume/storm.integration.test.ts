import { afterAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import type { ConsumerRuntime } from './consumer-runtime.ts';
import { type Batch, type Outcome, STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const real = new RealKafka('storm');
afterAll(() => real.close());

const PARTITIONS = 6;
const MEMBERS = 3;
/** How long the client lets pass without a poll before it leaves its group. */
const MAX_POLL_INTERVAL_MS = 6000;
/** Longer than that, for every batch. */
const HANDLER_MS = 9000;
const BATCH = 50;
/** Two batches for each partition, and some of a third. */
const RECORDS = PARTITIONS * BATCH * 2;
const LIMIT_MS = 90_000;

async function until(condition: () => boolean, what: string): Promise<void> {
  const endMs = Date.now() + LIMIT_MS;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`${what}: not so after ${LIMIT_MS} ms`);
    await systemClock.sleep(50);
  }
}

async function publish(topic: string): Promise<void> {
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 8_000_000, log: () => {} });
  const records = Array.from({ length: RECORDS }, (_, i) => ({ topic, partition: i % PARTITIONS, key: null, value: Buffer.from(`${i}`) }));
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
}

it.concurrent('three members whose handler is slower than max.poll.interval.ms: nobody is evicted, and no partition moves', {
  timeout: 150_000,
}, async () => {
  const topic = await real.topic(PARTITIONS);
  const group = real.name('group');
  const times = new Map<string, number>();
  const slow = async (batch: Batch): Promise<readonly Outcome[]> => {
    await systemClock.sleep(HANDLER_MS);
    return Array.from({ length: batch.length }, (_, i) => {
      const place = `${batch.source.partition}/${batch.offset(i)}`;
      times.set(place, (times.get(place) ?? 0) + 1);
      return STORED;
    });
  };
  const members = await Promise.all(
    Array.from({ length: MEMBERS }, async () => {
      const events: RuntimeEvent[] = [];
      const runtime = createConsumerRuntime(
        {
          group,
          topics: [topic],
          sink: { name: 'slow', write: slow },
          batch: { maxRecords: BATCH, maxBytes: 1_000_000, maxAgeMs: 100 },
          inFlightPerLane: 1,
          // So small that the backlog has to be paused: what does not fit waits in Kafka, and polls go on.
          buffer: { pauseAtBytes: 1_000_000, resumeAtBytes: 500_000 },
          backoff: { firstMs: 100, factor: 2, maxMs: 2000, jitter: 0.5 },
          drain: { revokeMs: 20_000, stopMs: 30_000 },
          start: 'earliest',
        },
        {
          broker: createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS }),
          clock: systemClock,
          observe: (event) => void events.push(event),
        },
      );
      await runtime.start();
      return { runtime, events };
    }),
  );
  // Reading, too: a partition that was just taken back still counts as a lane, and comes again as an assignment.
  const settled = (runtime: ConsumerRuntime): boolean =>
    runtime.lanes().length === PARTITIONS / MEMBERS && runtime.lanes().every(({ phase }) => phase === 'running');
  await until(() => members.every(({ runtime }) => settled(runtime)), 'each owns its share');
  const before = members.map(({ runtime }) => runtime.lanes().map(({ partition }) => partition));
  for (const { events } of members) events.length = 0;

  await publish(topic);
  await until(() => times.size === RECORDS, 'all is stored');
  expect(members.map(({ runtime }) => runtime.lanes().map(({ partition }) => partition))).toEqual(before);
  for (const { runtime, events } of members) {
    expect(events.filter(({ kind }) => kind === 'rebalanced' || kind === 'broker-error')).toEqual([]);
    // The handler held every batch for longer than a client may go without a poll; the loop went on polling meanwhile.
    const pauses = events.flatMap((event) => (event.kind === 'polled' ? event.sinceLastPollMs : []));
    expect(Math.max(...pauses)).toBeLessThan(MAX_POLL_INTERVAL_MS / 3);
    expect(await runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true, closed: true });
  }
  expect([...times.values()].filter((each) => each > 1)).toEqual([]);
});

it.concurrent('and a client that does not poll meanwhile is evicted: the interval counts', { timeout: 60_000 }, async () => {
  const topic = await real.topic(1);
  const group = real.name('group');
  const taken: string[] = [];
  const consumer = createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS });
  await consumer.connect([topic], {
    rebalance: ({ kind, partitions }) => {
      taken.push(kind);
      if (kind === 'assigned') consumer.assign(partitions.map((partition) => ({ ...partition, nextToRead: 0 })));
      else consumer.unassign(partitions);
    },
    commit: () => {},
    log: () => {},
  });
  while (!taken.includes('assigned')) await consumer.poll(1, 50);
  await systemClock.sleep(HANDLER_MS);
  // The client says so by an error in the next poll, and takes the partitions away.
  const endMs = Date.now() + LIMIT_MS / 3;
  while (!taken.some((kind) => kind !== 'assigned') && Date.now() < endMs) await consumer.poll(1, 50).catch(() => []);
  await consumer.close(10_000);
  expect(taken.slice(0, 2)).toEqual(['assigned', 'lost']);
});
