import { topicsFor } from '@tailrace/events';
import { connectPublisher, planTopics } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import { expect, test, vi } from 'vitest';
import { causeFinder } from './find-cause.ts';
import { KafkaLink } from './kafka-link.ts';
import { PostWatch } from './post-watch.ts';
import { startGateway } from './server.ts';
import { event, gatewayParts } from './testing/gateway.ts';
import { makeTopic, testCluster, withAdmin } from './testing/kafka.ts';

test('a topic that is deleted under a running gateway is told with what to do, and the gateway goes on by itself when it is made anew', async () => {
  const settings = testCluster();
  const topic = await withAdmin(settings, makeTopic);
  const told: string[] = [];
  const log = createLogger({ name: 'test', level: 'info', to: { write: (line: string) => void told.push(JSON.parse(line).msg) } });
  const stop = new AbortController();
  const maxInFlightBytes = 64 * 1024 * 1024;
  const link = new KafkaLink(
    {
      connect: (signal) => connectPublisher(settings, { producers: 2, maxInFlightBytes, log: () => undefined, signal }),
      checkTopics: async () => undefined,
    },
    { at: 'k:1', maxInFlightBytes, log },
  );
  await link.open(stop.signal);
  const watch = new PostWatch({ log, findCause: causeFinder(settings, topic, link), signal: stop.signal });
  const { options } = gatewayParts({ GATEWAY_DEADLINE_MS: '2000' });
  const gateway = await startGateway({ ...options, topic, publisher: link, watch, closedBecause: () => link.closedBecause() });
  const post = async () => (await fetch(`${gateway.url}/v1/events`, { method: 'POST', body: event() })).status;
  try {
    expect([await post(), watch.check().state]).toEqual([200, 'ok']);
    await withAdmin(settings, (admin) => admin.deleteTopics([topic]));
    await vi.waitFor(async () => expect(await post()).toBe(503), { timeout: 30_000 });
    await vi.waitFor(() => expect(watch.check().sentence).toContain(`The topic ${topic} does not exist; run: npx tailrace topics apply.`), {
      timeout: 20_000,
    });
    expect(watch.check().state).toBe('not-ready');
    expect(told.filter((line) => line.startsWith('posts are answered with 503 (deadline_passed, 1 so far): '))).toHaveLength(1);

    const [declared] = topicsFor('local');
    if (declared === undefined) throw new Error('no topic is declared');
    await withAdmin(settings, (admin) => admin.apply(planTopics([{ ...declared, name: topic }], [])));
    // Without any post: a gateway that is not ready gets none.
    await vi.waitFor(() => expect(watch.check().state).toBe('degraded'), { timeout: 30_000 });
    await vi.waitFor(async () => expect(await post()).toBe(200), { timeout: 60_000, interval: 500 });
    expect(told.some((line) => /^posts are kept again after .* s; answered with 503: \d+$/.test(line))).toBe(true);
  } finally {
    stop.abort();
    await gateway.stop(5_000);
    await link.close(5_000);
    await withAdmin(settings, (admin) => admin.deleteTopics([topic]).catch(() => undefined)); // Where the test ended without it.
  }
}, 180_000);
