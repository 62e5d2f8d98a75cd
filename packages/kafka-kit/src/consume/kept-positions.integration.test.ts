import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import type { Publisher } from '../publish/contract.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { type PositionsPort, positionsLog } from '../recover/positions-log.ts';
import { addPartitions, forgetCommits } from '../testing/forget-commits.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import type { ConsumerRuntime } from './consumer-runtime.ts';
import { type Batch, STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const real = new RealKafka('positions');
let publisher: Publisher;
let kept = '';
beforeAll(async () => {
  kept = await real.topic(1, { 'cleanup.policy': 'compact' });
  publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
});
afterAll(async () => {
  await publisher.close(5000);
  await real.close();
});

/** Writes down what it is handed; from `takesUpTo` on it takes nothing more. */
class Sink {
  readonly name = 'store';
  readonly stored: string[] = [];
  takesUpTo = Number.POSITIVE_INFINITY;
  refused = 0;

  async write(batch: Batch) {
    const offsets = Array.from({ length: batch.length }, (_, i) => batch.offset(i));
    if (offsets.some((offset) => offset >= this.takesUpTo)) {
      this.refused += 1;
      throw new Error('away');
    }
    this.stored.push(...offsets.map((offset) => `${batch.source.partition}:${offset}`));
    return offsets.map(() => STORED);
  }
}

interface Member {
  readonly runtime: ConsumerRuntime;
  readonly sink: Sink;
  readonly positions: PositionsPort;
}

async function join(
  topic: string,
  group: string,
  sink = new Sink(),
  positions: PositionsPort = positionsLog(real.settings, { group, topic: kept, publisher }),
  observe: (event: RuntimeEvent) => void = () => {},
): Promise<Member> {
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink,
      batch: { maxRecords: 50, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 20, factor: 2, maxMs: 200, jitter: 0.5 },
      drain: { revokeMs: 1000, stopMs: 5000 },
      start: 'latest',
    },
    {
      broker: createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe,
      positions,
    },
  );
  await runtime.start();
  return { runtime, sink, positions };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  for (let i = 0; i < 2500; i += 1) {
    if (condition()) return;
    await systemClock.sleep(20);
  }
  throw new Error(`${what}: not so after 50 s`);
}

const open = ({ runtime }: Member, partitions = 1): Promise<void> =>
  until(() => runtime.lanes().filter(({ phase }) => phase === 'running').length === partitions, 'open');
const range = (from: number, to: number, partition = 0): string[] =>
  Array.from({ length: to - from }, (_, i) => `${partition}:${from + i}`);

/** By a producer of its own: one that knows the topic already would not know its new partition. */
async function publish(topic: string, count: number, partition = 0): Promise<void> {
  const own = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const records = Array.from({ length: count }, () => ({ topic, key: null, value: Buffer.from('v'), partition }));
  const fates = await own.publish(records, { deadlineMs: 30_000 });
  await own.close(5000);
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
}

/** A group that read 100 records of a topic and was handed 20 more that its sink did not take, and stopped. */
async function stopped(): Promise<{ readonly topic: string; readonly group: string }> {
  const topic = await real.topic(1);
  const group = real.name('group');
  const member = await join(topic, group);
  await open(member);
  await publish(topic, 100);
  await until(() => member.sink.stored.length === 100, 'the first hundred');
  member.sink.takesUpTo = 100;
  await publish(topic, 20);
  await until(() => member.sink.refused > 0, 'the rest was handed over');
  const report = await member.runtime.stop();
  expect(report).toMatchObject({ settledRecords: 100, committed: true, closed: true });
  return { topic, group };
}

it.concurrent('a group whose commits Kafka forgot goes on where its position says, and a partition that is new to it from the log’s start', async () => {
  const { topic, group } = await stopped();
  await forgetCommits(real.settings, group);
  const admin = await real.admin();
  expect((await admin.groupLag(group, [topic])).map(({ committed }) => committed)).toEqual([null]);
  await addPartitions(real.settings, topic, 2);
  await publish(topic, 10, 1);
  const member = await join(topic, group);
  await until(() => member.sink.stored.length >= 30, 'what was not settled, and the new partition');
  await member.runtime.stop();
  expect(member.sink.stored.sort()).toEqual([...range(100, 120), ...range(0, 10, 1)].sort());
  // And once more: by its positions alone it has nothing left to read.
  await forgetCommits(real.settings, group);
  const again = await join(topic, group);
  await open(again, 2);
  await publish(topic, 1);
  await until(() => again.sink.stored.length > 0, 'a new record');
  expect(again.sink.stored).toEqual(['0:120']);
  await again.runtime.stop();
});

it.concurrent('a topic made anew while the group was stopped is recreated and halts by name, although Kafka dropped the commits', async () => {
  const { topic, group } = await stopped();
  await real.remake(topic, 1);
  await publish(topic, 300);
  const member = await join(topic, group);
  await until(() => member.runtime.lanes().some(({ phase }) => phase === 'halted'), 'halted');
  expect(member.runtime.lanes()[0]?.halted).toMatch(
    new RegExp(`^Topic ${topic} was deleted and made anew while group ${group} read partition 0; .*npx tailrace group reset`),
  );
  expect(member.sink.stored).toEqual([]);
  await member.runtime.stop();
});

it.concurrent('the positions topic is deleted under a running group: it reads on, another member opens by the commits, and both stop in time', async () => {
  const topic = await real.topic(2);
  const group = real.name('group');
  // Of a name that is not deleted once more at the end.
  const place = real.name('kept');
  await real.make(place, 1, { 'cleanup.policy': 'compact' });
  const own = await connectPublisher(real.settings, {
    producers: 1,
    maxInFlightBytes: 1_000_000,
    log: () => {},
    producer: { topicPropagationMs: 1000 },
  });
  const told: string[] = [];
  const observe = (event: RuntimeEvent): void => {
    if (event.kind === 'positions') told.push(event.outcome);
  };
  const port = positionsLog(real.settings, { group, topic: place, publisher: own });
  const first = await join(topic, group, new Sink(), port, observe);
  await open(first, 2);
  await publish(topic, 50);
  await until(() => first.sink.stored.length === 50, 'read');
  await (await real.admin()).deleteTopics([place]);
  const second = await join(topic, group, new Sink(), port, observe);
  await until(() => first.runtime.lanes().length === 1 && second.runtime.lanes()[0]?.phase === 'running', 'the second has opened');
  for (const partition of [0, 1]) await publish(topic, 50, partition);
  await until(() => first.sink.stored.length + second.sink.stored.length === 150, 'both read');
  for (const { runtime } of [first, second]) {
    const report = await runtime.stop();
    expect(report).toMatchObject({ committed: true, closed: true, abandonedRecords: 0 });
    expect(report.tookMs).toBeLessThan(5000);
  }
  expect(told).toContain('not-read');
  await own.close(1000);
});

it.concurrent('a positions topic that is not there is said, with the command, and within seconds', async () => {
  const port = positionsLog(real.settings, { group: 'g', topic: real.name('none'), publisher });
  await expect(port.read()).rejects.toThrow(/can not be read from topic positions-none-.*npx tailrace topics apply/);
});

it.concurrent('a day of twelve partitions is read in half of the time that an opening gives it', async () => {
  const topic = await real.topic(1, { 'cleanup.policy': 'compact' });
  const port = positionsLog(real.settings, { group: 'g', topic, publisher });
  const positions = Array.from({ length: 12 * 1440 }, (_, i) => ({
    topic: 'events',
    partition: i % 12,
    incarnation: 'aaaaaaaa',
    nextToRead: i,
  }));
  await port.write(positions, 30_000);
  const startedMs = performance.now();
  const { positions: found, unreadable } = await port.read();
  const tookMs = performance.now() - startedMs;
  console.log(`positions: ${positions.length} records read in ${tookMs.toFixed(0)} ms`);
  expect([found.size, unreadable, found.get('events/11')?.nextToRead]).toEqual([12, 0, positions.length - 1]);
  expect(tookMs).toBeLessThan(5000);
});
