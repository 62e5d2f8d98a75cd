import { randomUUID } from 'node:crypto';
import { POSITIONS_TOPIC, topicsFor } from '@tailrace/events';
import {
  type ConsumerRuntime,
  connectAdmin,
  connectPublisher,
  countGroupMembers,
  createConsumerRuntime,
  createNativeConsumer,
  type GroupProtocol,
  type KafkaSettings,
  planTopics,
  positionsLog,
  type RuntimePorts,
  STORED,
  systemClock,
} from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { main } from './main.ts';

const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'group-reset-test',
  securityProtocol: 'plaintext',
};
const topics: string[] = [];
let told = '';
let printed = '';

beforeEach(() => {
  told = '';
  printed = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  const admin = await connectAdmin(settings);
  await admin.deleteTopics(topics);
  await admin.close();
});

/** Runs a command line, and takes what it printed. */
async function tailrace(...argv: readonly string[]): Promise<{ readonly code: number; readonly told: string; readonly printed: string }> {
  told = '';
  printed = '';
  const code = await main(argv);
  return { code, told, printed };
}

async function makeTopic(): Promise<string> {
  const topic = `group-reset-${randomUUID()}`;
  topics.push(topic);
  const admin = await connectAdmin(settings);
  await admin.apply([{ kind: 'create', topic, spec: { name: topic, key: 'none', partitions: 1, replicationFactor: 1, configs: {} } }]);
  await admin.close();
  return topic;
}

async function publish(topic: string, count: number): Promise<void> {
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const records = Array.from({ length: count }, (_, i) => ({ topic, key: null, value: Buffer.from(`v${i}`) }));
  const fates = await publisher.publish(records, { deadlineMs: 20_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
}

/** A consumer that halts before a gap, as the indexer does; `read` are the offsets that it stored. */
async function join(
  topic: string,
  group: string,
  protocol: GroupProtocol,
  ports: Pick<RuntimePorts, 'positions'> = {},
): Promise<{ runtime: ConsumerRuntime; read: number[] }> {
  const read: number[] = [];
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink: {
        name: 'store',
        write: async (batch) => {
          const offsets = Array.from({ length: batch.length }, (_, i) => batch.offset(i));
          read.push(...offsets);
          return offsets.map(() => STORED);
        },
      },
      batch: { maxRecords: 100, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 50, factor: 2, maxMs: 500, jitter: 0 },
      drain: { revokeMs: 2000, stopMs: 5000 },
      start: 'earliest',
      gaps: { kind: 'halt' },
    },
    {
      broker: createNativeConsumer(settings, { group, protocol, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe: () => {},
      ...ports,
    },
  );
  await runtime.start();
  return { runtime, read };
}

const until = (condition: () => unknown): Promise<unknown> =>
  vi.waitFor(async () => expect(await condition()).toBe(true), { timeout: 40_000 });

async function stop(runtime: ConsumerRuntime, group: string): Promise<void> {
  await runtime.stop();
  await until(async () => (await countGroupMembers(settings, group, 10_000)) === 0);
}

const PROTOCOLS: readonly GroupProtocol[] = [{ kind: 'consumer' }, { kind: 'classic', sessionTimeoutMs: 6000 }];

it.each(PROTOCOLS)(
  'a halted group ($kind) names the command that ends the halt; it is refused while the group runs, and then the group goes on',
  async (protocol) => {
    const topic = await makeTopic();
    const group = `readers-${randomUUID()}`;
    await publish(topic, 20);
    const first = await join(topic, group, protocol);
    await until(() => first.read.length === 20);
    await stop(first.runtime, group);
    await publish(topic, 20);
    await deleteRecordsBefore(settings, { topic, partition: 0 }, 30);

    const halted = await join(topic, group, protocol);
    await until(() => halted.runtime.lanes()[0]?.phase === 'halted');
    const sentence = halted.runtime.lanes()[0]?.halted ?? '';
    const command = /run: npx tailrace (.*), and start it/.exec(sentence)?.[1]?.split(' ') ?? [];
    expect(command).toEqual(['group', 'reset', '--group', group, '--topic', topic, '--partition', '0', '--to', 'earliest']);
    const live = await tailrace(...command, '--yes');
    expect([live.code, live.told]).toEqual([1, expect.stringMatching(/has 1 member that Kafka counts as running: stop it first/)]);
    const dry = await tailrace(...command, '--dry-run');
    expect([dry.code, dry.printed]).toEqual([
      0,
      expect.stringMatching(/from 20 to 30; 10 records that Kafka no longer holds\n.*The group runs/),
    ]);
    await stop(halted.runtime, group);
    expect(halted.read).toEqual([]);

    const done = await tailrace(...command, '--yes', '--json');
    expect(done.code).toBe(0);
    expect(JSON.parse(done.printed)).toMatchObject({
      applied: true,
      partitions: [{ from: 20, to: 30, again: 0, passedOver: 0, gone: 10 }],
    });
    const next = await join(topic, group, protocol);
    await until(() => next.read.length === 10);
    expect([next.read[0], next.read.at(-1)]).toEqual([30, 39]);
    await stop(next.runtime, group);

    // Backwards, by an offset and by a time, and forwards to the end.
    expect(
      (await tailrace('group', 'reset', '--group', group, '--topic', topic, '--partition', '0', '--to', 'offset:35', '--yes')).code,
    ).toBe(0);
    const again = await join(topic, group, protocol);
    await until(() => again.read.length === 5);
    expect(again.read).toEqual([35, 36, 37, 38, 39]);
    await stop(again.runtime, group);
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    const byTime = await tailrace('group', 'reset', '--group', group, '--topic', topic, '--to', hourAgo, '--yes');
    expect([byTime.code, byTime.printed]).toEqual([0, expect.stringContaining('from 40 to 30; 10 records read again')]);
    const latest = await tailrace('group', 'reset', '--group', group, '--topic', topic, '--to', 'latest', '--yes');
    expect([latest.code, latest.printed]).toEqual([0, expect.stringContaining('from 30 to 40; 10 records passed over')]);
  },
);

it('a group whose topic was made anew while it was stopped halts at every start, until the command that it names has written commit and position', async () => {
  const admin = await connectAdmin(settings);
  const specs = topicsFor('local').filter(({ name }) => name === POSITIONS_TOPIC);
  await admin.apply(planTopics(specs, await admin.readTopics([POSITIONS_TOPIC])));
  const topic = await makeTopic();
  const group = `readers-${randomUUID()}`;
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const positions = positionsLog(settings, { group, topic: POSITIONS_TOPIC, publisher });
  const protocol: GroupProtocol = { kind: 'consumer' };
  await publish(topic, 20);
  const first = await join(topic, group, protocol, { positions });
  await until(() => first.read.length === 20);
  await stop(first.runtime, group);
  await admin.deleteTopics([topic]);
  await admin.apply([{ kind: 'create', topic, spec: { name: topic, key: 'none', partitions: 1, replicationFactor: 1, configs: {} } }]);
  await admin.close();
  await publish(topic, 30);

  const halted = await join(topic, group, protocol, { positions });
  await until(() => halted.runtime.lanes()[0]?.phase === 'halted');
  const command = /run: npx tailrace (.*), and start it/.exec(halted.runtime.lanes()[0]?.halted ?? '')?.[1]?.split(' ') ?? [];
  await stop(halted.runtime, group);
  expect(halted.read).toEqual([]);
  const done = await tailrace(...command, '--yes');
  expect([done.code, done.printed]).toEqual([0, expect.stringContaining('Moved. Start the group')]);
  const next = await join(topic, group, protocol, { positions });
  await until(() => next.read.length === 30);
  await stop(next.runtime, group);
  expect((await positions.read()).positions.get(`${topic}/0`)).toMatchObject({ nextToRead: 30 });
  await publisher.close(5000);
});

it('a group that Kafka does not know is wrong use, and so is a topic that it never read', async () => {
  const topic = await makeTopic();
  const unknown = await tailrace('group', 'reset', '--group', 'indexr', '--to', 'latest', '--yes');
  expect([unknown.code, unknown.told]).toEqual([2, expect.stringMatching(/^There is no group indexr/)]);
  const never = await tailrace('group', 'reset', '--group', 'indexer', '--topic', topic, '--to', 'latest', '--yes');
  expect([never.code, never.told]).toEqual([2, expect.stringMatching(/^Group indexer does not read .*: it has no commit there/)]);
  const own = await tailrace('group', 'reset', '--group', 'indexer', '--topic', '__consumer_offsets', '--to', 'latest', '--yes');
  expect([own.code, own.told]).toEqual([
    2,
    expect.stringMatching(/^Group indexer does not read __consumer_offsets: it is one of Kafka’s own/),
  ]);
  const nowhere = await tailrace('group', 'reset', '--group', 'indexer', '--topic', 'nowhere', '--to', 'latest', '--yes');
  expect([nowhere.code, nowhere.told]).toEqual([2, expect.stringMatching(/^There is no topic nowhere/)]);
});
