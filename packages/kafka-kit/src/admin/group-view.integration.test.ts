import { type Stack, startStack } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { GroupProtocol } from '../broker/membership.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';
import { connectAdmin } from './cluster-admin.ts';
import { groupView } from './group-view.ts';

const TOPIC = 'events';
const PARTITIONS = 3;
const VIEW_MS = 10_000;

let stack: Stack;
let settings: KafkaSettings;

/** A Kafka of its own, which no group has asked for a coordinator yet, and which is stopped in the middle of its work. */
beforeAll(async () => {
  stack = await startStack({ jit: 'fast-start' });
  settings = { bootstrapServers: stack.endpoints.kafkaBootstrapServers, clientId: 'group-view', securityProtocol: 'plaintext' };
}, 180_000);

afterAll(() => stack.stop());

/** What the client of the members did with an error of the coordinator, or without its answer, was to end the process. */
it('on a cluster that never had a group, a group that is not there has no members', async () => {
  expect(await groupView(settings, 'nobody', VIEW_MS)).toEqual([]);
}, 60_000);

it.each<GroupProtocol>([{ kind: 'consumer' }, { kind: 'classic', sessionTimeoutMs: 6000 }])(
  'a member of a $kind group is seen with what it owns and is to own',
  async (protocol) => {
    const admin = await connectAdmin(settings);
    const topic = `${TOPIC}-${protocol.kind}`;
    const spec = { name: topic, key: 'none' as const, partitions: PARTITIONS, replicationFactor: 1, configs: {} };
    await admin.apply([{ kind: 'create', topic, spec }]);
    await admin.close();
    const consumer = createNativeConsumer(settings, { group: topic, protocol, maxPollIntervalMs: 60_000 });
    let owned = 0;
    await consumer.connect([topic], {
      rebalance: ({ kind, partitions }) => {
        if (kind === 'assigned') consumer.assign(partitions.map((tp) => ({ ...tp, nextToRead: 0 })));
        else consumer.unassign(partitions);
        owned = kind === 'assigned' ? partitions.length : 0;
      },
      commit: () => {},
      log: () => {},
    });
    const all = new Set(Array.from({ length: PARTITIONS }, (_, partition) => `${topic}/${partition}`));
    try {
      const endMs = Date.now() + 30_000;
      while (owned < PARTITIONS && Date.now() < endMs) await consumer.poll(1, 50);
      let views = await groupView(settings, topic, VIEW_MS);
      // The coordinator knows with the next heartbeat what the member has taken.
      while (views[0]?.assignment.size !== PARTITIONS && Date.now() < endMs) {
        await consumer.poll(1, 50);
        views = await groupView(settings, topic, VIEW_MS);
      }
      expect(views).toEqual([{ assignment: all, target: all }]);
    } finally {
      await consumer.close(10_000);
    }
  },
  60_000,
);

it('a silent broker is an error in time, and the next look finds it again', async () => {
  const pid = stack.processes.find(({ name }) => name === 'kafka')?.pid;
  if (pid === undefined) throw new Error('Kafka does not run');
  process.kill(pid, 'SIGSTOP');
  try {
    const sinceMs = Date.now();
    await expect(groupView(settings, 'nobody', 500)).rejects.toThrow();
    expect(Date.now() - sinceMs).toBeLessThan(10_000);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  const endMs = Date.now() + 30_000;
  for (;;) {
    const seen = await groupView(settings, 'nobody', VIEW_MS).catch((fault: unknown) => fault);
    if (Array.isArray(seen)) break;
    if (Date.now() > endMs) throw seen;
    await systemClock.sleep(100);
  }
}, 60_000);
