import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import { type ClusterAdmin, commitGroupOffsets, connectAdmin, type KafkaSettings, planTopics } from '@tailrace/kafka-kit';
import { killFromSources } from '@tailrace/service/testing';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { runIndexer } from './testing/indexer-process.ts';

const GROUP = 'indexer';
const TIMEOUT_MS = 20_000;
const SESSION_MS = 60_000;
const settings: KafkaSettings = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'halted-test',
  securityProtocol: 'plaintext',
};
let admin: ClusterAdmin;

beforeAll(async () => {
  admin = await connectAdmin(settings);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
});
afterEach(() => killFromSources());
afterAll(() => admin.close());

const end = async (): Promise<number> => (await admin.groupLag(GROUP, [SERVICE_EVENTS_TOPIC]))[0]?.logEnd ?? 0;
/** A member that a test before this one killed counts as running until its session has ended. */
const move = (nextToRead: number): Promise<void> =>
  vi.waitFor(() => commitGroupOffsets(settings, GROUP, [{ topic: SERVICE_EVENTS_TOPIC, partition: 0, nextToRead }], TIMEOUT_MS), {
    timeout: SESSION_MS,
    interval: 1000,
  });

test('a partition that stands before a gap is named in /readyz, in the metrics and in the log; the rest goes on, and after a reset all of it', {
  timeout: 240_000,
}, async () => {
  const logEnd = await end();
  await move(logEnd + 1000);
  const halted = runIndexer();
  await halted.said('stands still: Group indexer stands at offset');
  const answer = await fetch(`${halted.url()}/readyz`);
  const way = 'run: npx tailrace group reset --group indexer --topic service-events --partition 0 --to latest, and start it.';
  expect(await answer.text()).toContain(way);
  const metrics = await (await fetch(`${halted.url()}/metrics`)).text();
  expect(metrics).toContain('tailrace_consumer_halted_partitions{group="indexer",reason="truncated"} 1');
  expect(metrics).toContain('tailrace_consumer_halted{group="indexer",topic="service-events",partition="1"} 0');
  halted.kill('SIGTERM');
  expect(await halted.exit()).toBe(0);
  await move(await end());
  const next = runIndexer();
  await vi.waitFor(
    async () => {
      const { state } = (await (await fetch(`${next.url()}/readyz`)).json()) as { readonly state: string };
      expect([state, next.lines.some((line) => line.includes('reads service-events, partition 0 from offset'))]).toEqual(['ok', true]);
    },
    { timeout: 60_000, interval: 200 },
  );
  next.kill('SIGTERM');
  expect(await next.exit()).toBe(0);
});
