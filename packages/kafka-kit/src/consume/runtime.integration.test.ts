import { afterAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import { runtimeHealth } from '../observe/runtime-health.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import type { ConsumerRuntime } from './consumer-runtime.ts';
import { type Batch, type Outcome, STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const real = new RealKafka('runtime');
afterAll(() => real.close());

const PARTITIONS = 6;

/** What both members store into, and how often each record came. */
class Store {
  readonly times = new Map<string, number>();
  /** So many calls fail yet. */
  failing = 0;
  retrying = true;

  write(batch: Batch): readonly Outcome[] {
    this.failing = Math.max(0, this.failing - 1);
    if (this.failing > 0 && batch.length % 3 === 0) throw new Error('away');
    return Array.from({ length: batch.length }, (_, i): Outcome => {
      if (this.retrying && this.failing > 0 && batch.offset(i) % 50 === 7) return { kind: 'retry', reason: 'busy' };
      const key = `${batch.source.partition}/${batch.offset(i)}`;
      this.times.set(key, (this.times.get(key) ?? 0) + 1);
      return STORED;
    });
  }
}

interface Member {
  readonly runtime: ConsumerRuntime;
  readonly events: RuntimeEvent[];
}

async function join(topic: string, group: string, write: (batch: Batch) => Promise<readonly Outcome[]>): Promise<Member> {
  const events: RuntimeEvent[] = [];
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink: { name: 'store', write },
      batch: { maxRecords: 500, maxBytes: 1_000_000, maxAgeMs: 100 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 20, factor: 2, maxMs: 200, jitter: 0.5 },
      drain: { revokeMs: 3000, stopMs: 10_000 },
      start: 'earliest',
    },
    {
      broker: createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe: (event) => void events.push(event),
    },
  );
  await runtime.start();
  return { runtime, events };
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 1500; i += 1) {
    if (await condition()) return;
    await systemClock.sleep(20);
  }
  throw new Error(`${what}: not so after 30 s`);
}

async function publish(topic: string, count: number): Promise<void> {
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const records = Array.from({ length: count }, (_, i) => ({ topic, key: Buffer.from(`k${i % 97}`), value: Buffer.from(`value ${i}`) }));
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
}

it.concurrent('a failing sink, a member that joins and one that stops: every record is stored, and all is committed', async () => {
  const topic = await real.topic(PARTITIONS);
  const group = real.name('group');
  const store = new Store();
  const COUNT = 30_000;
  await publish(topic, COUNT / 2);
  store.failing = 40;
  const write = async (batch: Batch): Promise<readonly Outcome[]> => {
    await systemClock.sleep(5);
    return store.write(batch);
  };
  const one = await join(topic, group, write);
  await until(() => store.failing === 0 && one.runtime.lanes().every(({ outage }) => outage === undefined), 'the first reads again');
  store.retrying = false;
  const two = await join(topic, group, write);
  await publish(topic, COUNT / 2);
  await until(() => two.runtime.lanes().length === PARTITIONS / 2, 'the second owns its half');
  store.failing = 40;
  await until(() => store.times.size > COUNT / 2 + 2000, 'both read');
  const report = await one.runtime.stop();
  expect(report).toMatchObject({ committed: true, closed: true });
  expect(report.deliveredRecords).toBe(report.settledRecords + report.abandonedRecords);
  await until(() => store.times.size === COUNT, 'all is stored');
  await until(() => two.runtime.lanes().every(({ lag }) => lag === 0), 'no lag');
  expect(await two.runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true, closed: true });
  const admin = await real.admin();
  expect((await admin.groupLag(group, [topic])).map(({ lag }) => lag)).toEqual([0, 0, 0, 0, 0, 0]);
  // Drains settle what is in flight, and nothing of it is read again.
  const failed = [...one.events, ...two.events].filter(({ kind }) => kind === 'outage').length;
  expect(failed).toBeGreaterThan(0);
  expect([...store.times.values()].filter((times) => times > 1)).toEqual([]);
});

it.concurrent('a topic that is deleted and made anew under a running lane halts it by name', { timeout: 60_000 }, async () => {
  const topic = await real.topic(1);
  const store = new Store();
  await publish(topic, 100);
  const one = await join(topic, real.name('group'), async (batch) => store.write(batch));
  await until(() => store.times.size === 100, 'all is stored');
  await real.remake(topic, 1);
  await publish(topic, 10);
  // With this protocol the coordinator takes the old topic's partition away and assigns the new one's; the lane knows both lives.
  await until(() => one.runtime.lanes().some(({ halted }) => halted !== undefined), 'the lane is halted');
  expect(one.runtime.lanes()[0]?.halted).toMatch(/deleted and made anew/);
  expect(store.times.size).toBe(100);
  expect((await one.runtime.stop()).closed).toBe(true);
});

it.concurrent('a member whose topic is deleted says so when Kafka has taken its partition away', async () => {
  const topic = await real.topic(1);
  const store = new Store();
  const { runtime } = await join(topic, real.name('group'), async (batch) => store.write(batch));
  await until(() => runtime.lanes().length === 1, 'the partition is owned');
  await (await real.admin()).deleteTopics([topic]);
  await until(() => runtime.idle()?.missingTopics[0] === topic, 'it knows');
  expect(runtimeHealth(runtime)).toEqual({ state: 'degraded', sentence: expect.stringContaining(`topic ${topic} does not exist`) });
  await runtime.stop();
  // For the cleaning up at the end, which deletes it.
  await real.make(topic, 1);
});

it.concurrent('a cluster that is not there rejects the start, and the process is left as it was', async () => {
  const runtime = createConsumerRuntime(
    {
      group: 'none',
      topics: ['none'],
      sink: { name: 'none', write: async () => [] },
      batch: { maxRecords: 1, maxBytes: 1, maxAgeMs: 1 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 2, resumeAtBytes: 1 },
      backoff: { firstMs: 1, factor: 1, maxMs: 1, jitter: 0 },
      drain: { revokeMs: 1000, stopMs: 1000 },
      start: 'earliest',
    },
    {
      broker: createNativeConsumer(
        { ...real.settings, bootstrapServers: '127.0.0.1:1' },
        { group: 'none', protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 },
      ),
      clock: systemClock,
      observe: () => {},
    },
  );
  await expect(runtime.start()).rejects.toThrow();
  expect(runtime.state.kind).toBe('failed');
  expect(await runtime.stop()).toMatchObject({ deliveredRecords: 0 });
});
