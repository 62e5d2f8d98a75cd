import { SERVICE_EVENTS_TOPIC, topicsFor } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin, planTopics, systemClock } from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { killServices, runService } from '../testing/service-process.ts';
import { CanaryPoster } from './canary.ts';
import { CanaryTrack } from './canary-track.ts';

const kafka = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'canary-test',
  securityProtocol: 'plaintext',
} as const;
const PARTITIONS = 12;
let admin: ClusterAdmin;
let poster: CanaryPoster | undefined;

beforeAll(async () => {
  admin = await connectAdmin(kafka);
  const topics = topicsFor('local').filter(({ name }) => name === SERVICE_EVENTS_TOPIC);
  await admin.apply(planTopics(topics, await admin.readTopics([SERVICE_EVENTS_TOPIC])));
});
afterEach(async () => {
  await poster?.stop();
  killServices();
});
afterAll(() => admin.close());

/** Where the partitions of the stream end now: nobody else writes to it meanwhile. */
async function ends(): Promise<readonly number[]> {
  return (await admin.groupLag('nobody', [SERVICE_EVENTS_TOPIC])).map(({ logEnd }) => logEnd);
}

test('the real gateway takes canaries into every partition; while it is away that is told once, and its return once', async () => {
  const gateway = runService('ingest-gateway', { GATEWAY_PORT: '0' });
  const url = new URL(await gateway.url('gateway'));
  await vi.waitFor(async () => expect((await fetch(new URL('/readyz', url))).ok).toBe(true), { timeout: 30_000, interval: 100 });
  const before = await ends();
  const changes: (string | undefined)[] = [];
  const rounds: string[] = [];
  poster = new CanaryPoster(
    { url, everyMs: 1000 },
    {
      clock: systemClock,
      track: new CanaryTrack(),
      partitions: () => PARTITIONS,
      decidesHere: () => true,
      answered: ({ kind }) => rounds.push(kind),
      onChange: (fault) => changes.push(fault),
    },
  );
  await vi.waitFor(() => expect(rounds.length).toBeGreaterThanOrEqual(3), { timeout: 20_000, interval: 50 });
  const grown = (await ends()).map((end, partition) => end - (before[partition] ?? 0));
  expect(grown).toHaveLength(PARTITIONS);
  expect(Math.min(...grown)).toBeGreaterThanOrEqual(3);
  expect(await gateway.metrics()).toMatch(/^tailrace_gateway_canary_events_total [1-9]\d+$/m);
  expect(changes).toEqual([]);

  await gateway.kill();
  await vi.waitFor(() => expect(changes).toHaveLength(1), { timeout: 10_000, interval: 50 });
  const failed = rounds.length;
  await vi.waitFor(() => expect(rounds.length).toBeGreaterThan(failed + 1), { timeout: 10_000, interval: 50 });
  expect(changes).toEqual([expect.stringMatching(/^no answer \(.*ECONNREFUSED/)]);
  runService('ingest-gateway', { GATEWAY_PORT: url.port });
  await vi.waitFor(() => expect(changes.at(-1)).toBeUndefined(), { timeout: 30_000, interval: 100 });
});
