import { afterAll, beforeAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { connectTimeReader } from '../recover/first-times.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import type { ClusterAdmin } from './cluster-admin.ts';
import { checkTopics } from './topic-contract.ts';
import { describeChange, planTopics, type TopicSpec } from './topic-plan.ts';

const real = new RealKafka('admin');
let admin: ClusterAdmin;

beforeAll(async () => {
  admin = await real.admin();
});
afterAll(() => real.close());

const spec = (name: string, more: Partial<TopicSpec> = {}): TopicSpec => ({
  name,
  key: 'none',
  partitions: 3,
  replicationFactor: 1,
  configs: { 'retention.ms': '3600000', 'message.timestamp.type': 'LogAppendTime', 'cleanup.policy': 'delete' },
  ...more,
});
const plan = async (...specs: TopicSpec[]) => planTopics(specs, await admin.readTopics(specs.map(({ name }) => name)));

it('plans a topic that is missing, makes it, and finds nothing more to do; drift is planned and mended', async () => {
  const wanted = spec(real.name('topic'));
  const first = await plan(wanted);
  expect(first.map(describeChange)).toEqual([`+ ${wanted.name}: make it with 3 partitions and 1 replica`]);
  await admin.apply(first);
  expect(await plan(wanted)).toEqual([]);
  await admin.apply([{ kind: 'set-config', topic: wanted.name, name: 'retention.ms', from: '3600000', to: '7200000' }]);
  const drift = await plan(wanted);
  expect(drift.map(describeChange)).toEqual([`~ ${wanted.name}: retention.ms is 7200000, must be 3600000`]);
  await admin.apply(drift);
  expect(await plan(wanted)).toEqual([]);
});

it('refuses another partition count, another replication factor, and compaction under a key that is no entity', async () => {
  const made = spec(real.name('topic'));
  await admin.apply(await plan(made));
  const more = { ...made, partitions: 6, replicationFactor: 3 };
  const refused = await plan(more);
  expect(refused.map(({ kind }) => kind)).toEqual(['refused', 'refused']);
  expect(refused.map(describeChange).join('\n')).toMatch(
    /has 3 partitions and is declared with 6.*\n.*has 1 replicas? and is declared with 3/,
  );
  await admin.apply(refused);
  expect(await plan(made)).toEqual([]);
  const compacted = spec(made.name, { configs: { 'cleanup.policy': 'compact,delete' } });
  expect((await plan(compacted)).map(({ kind }) => kind)).toEqual(['refused']);
  expect((await plan({ ...compacted, key: 'entity' })).map(describeChange)).toEqual([
    `~ ${made.name}: cleanup.policy is delete, must be compact,delete`,
  ]);
});

it('a service’s check passes where the topics are as declared, and else says what is wrong and what to run', async () => {
  const wanted = spec(real.name('topic'));
  const warned: string[] = [];
  const warn = (sentence: string): void => void warned.push(sentence);
  await expect(checkTopics(real.settings, [wanted], 'enforce', warn)).rejects.toThrow(
    `The topics are not as declared (+ ${wanted.name}: make it with 3 partitions and 1 replica); run: npx tailrace topics apply`,
  );
  await checkTopics(real.settings, [wanted], 'warn', warn);
  expect(warned).toHaveLength(1);
  await admin.apply(await plan(wanted));
  await checkTopics(real.settings, [wanted], 'enforce', warn);
  expect(warned).toHaveLength(1);
});

it('a service’s check with more replicas than brokers names the profile, not a command that can not help', async () => {
  const made = spec(real.name('topic'));
  await admin.apply(await plan(made));
  expect(await admin.brokerCount()).toBe(1);
  for (const wanted of [{ ...made, replicationFactor: 3 }, spec(`${made.name}-missing`, { replicationFactor: 3 })]) {
    const check = checkTopics(real.settings, [wanted], 'enforce', () => {});
    await expect(check).rejects.toThrow(/set TAILRACE_TOPIC_PROFILE=local/);
    await expect(check).rejects.not.toThrow(/run: npx tailrace topics apply/);
  }
});

it('tells a group’s commits and its lag, and that it has none', async () => {
  const topic = await real.topic(2);
  const group = real.name('group');
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const records = Array.from({ length: 10 }, (_, i) => ({ topic, partition: i < 7 ? 0 : 1, key: null, value: Buffer.from(`${i}`) }));
  const fates = await publisher.publish(records, { deadlineMs: 20_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
  const none = [
    { topic, partition: 0, committed: null, logStart: 0, logEnd: 7, lag: 7 },
    { topic, partition: 1, committed: null, logStart: 0, logEnd: 3, lag: 3 },
  ];
  expect(await admin.groupLag(group, [topic])).toEqual(none);
  const consumer = createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
  let committed = false;
  await consumer.connect([topic], {
    rebalance: ({ kind, partitions }) => {
      if (kind === 'assigned') consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: 0 })));
      else consumer.unassign(partitions);
      if (kind !== 'assigned' || partitions.length === 0) return;
      consumer.store([{ topic, partition: 0, nextToRead: 5 }]);
      consumer.commitStored();
    },
    commit: () => {
      committed = true;
    },
    log: () => {},
  });
  for (let i = 0; i < 400 && !committed; i += 1) await consumer.poll(100, 50);
  expect(await admin.groupLag(group, [topic, 'no-such-topic'])).toEqual([{ ...none[0], committed: 5, lag: 2 }, none[1]]);
  await consumer.close(10_000);
});

it('tells where single logs end, where a time lies in each, and the first record at or above an offset', async () => {
  const topic = await real.topic(3, { 'message.timestamp.type': 'LogAppendTime' });
  const tps = [0, 1, 2].map((partition) => ({ topic, partition }));
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const post = (partition: number) => publisher.publish([{ topic, partition, key: null, value: Buffer.from('x') }], { deadlineMs: 20_000 });
  for (let i = 0; i < 5; i += 1) await post(0);
  await systemClock.sleep(50);
  const timeMs = Date.now();
  await systemClock.sleep(50);
  for (const partition of [0, 1]) await post(partition);
  await publisher.close(5000);
  expect(await admin.logEnds([])).toEqual(new Map());
  expect(await admin.logEnds(tps)).toEqual(new Map([6, 1, 0].map((end, i) => [`${topic}/${i}`, end])));
  const at = (...times: number[]) => admin.offsetsAtTimes(times.map((each, i) => ({ topic, partition: i, timeMs: each })));
  expect((await at(timeMs, 0, 0)).map(({ offset }) => offset)).toEqual([5, 0, undefined]);
  expect((await at(0, timeMs + 60_000, timeMs)).map(({ offset }) => offset)).toEqual([0, undefined, undefined]);
  const reader = await connectTimeReader(real.settings, real.name('group'));
  const found = await reader.firstRecords([
    { topic, partition: 0, first: 5 },
    { topic, partition: 1, first: 0 },
  ]);
  expect([...found.values()].map(({ offset }) => offset).sort()).toEqual([0, 5]);
  for (const { timestampMs } of found.values()) expect(timestampMs).toBeGreaterThanOrEqual(timeMs);
  await reader.close();
});

it('a cluster that is not there is told, not waited for without end', async () => {
  const { connectAdmin } = await import('./cluster-admin.ts');
  const away = await connectAdmin({ ...real.settings, bootstrapServers: '127.0.0.1:1' });
  const sinceMs = performance.now();
  await expect(away.readTopics(['any'])).rejects.toThrow();
  expect(performance.now() - sinceMs).toBeLessThan(20_000);
  await away.close();
});
