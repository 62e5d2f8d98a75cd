import { type Stack, startStack } from '@tailrace/stack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectAdmin } from '../admin/cluster-admin.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { runtimeHealth } from '../observe/runtime-health.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';
import type { ConsumerRuntime } from './consumer-runtime.ts';
import { STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const TOPIC = 'events';
const PARTITIONS = 12;
const RECORDS = 300;
/**
 * Longer than a look-up's time-out, so that look-ups fail while others are under way, and long enough for the client to give up its
 * connection to the coordinator twice: made to join its group again behind that, a member never came back.
 */
const SILENT_MS = 24_000;
/** Look-ups that were begun before are waited for; the fault it is named after took minutes. */
const BACK_MS = 40_000;

let stack: Stack;
let settings: KafkaSettings;

/** A Kafka of its own: this test stops it in the middle of its work. */
beforeAll(async () => {
  stack = await startStack({ jit: 'fast-start' });
  settings = { bootstrapServers: stack.endpoints.kafkaBootstrapServers, clientId: 'silent-broker', securityProtocol: 'plaintext' };
  const admin = await connectAdmin(settings);
  const spec = { name: TOPIC, key: 'none' as const, partitions: PARTITIONS, replicationFactor: 1, configs: {} };
  await admin.apply([{ kind: 'create', topic: TOPIC, spec }]);
  await admin.close();
  const publisher = await connectPublisher(settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const records = Array.from({ length: RECORDS }, (_, i) => ({ topic: TOPIC, key: Buffer.from(`k${i}`), value: Buffer.from(`v${i}`) }));
  await publisher.publish(records, { deadlineMs: 30_000 });
  await publisher.close(5000);
}, 180_000);

afterAll(() => stack.stop());

function kafkaProcess(signal: 'SIGSTOP' | 'SIGCONT'): void {
  const pid = stack.processes.find(({ name }) => name === 'kafka')?.pid;
  if (pid === undefined) throw new Error('Kafka does not run');
  process.kill(pid, signal);
}

/** The longest time in which this process could not do a thing. */
function watchLoop(): { longestMs: number; stop(): void } {
  let lastMs = Date.now();
  const watch = { longestMs: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    watch.longestMs = Math.max(watch.longestMs, Date.now() - lastMs);
    lastMs = Date.now();
  }, 20);
  return watch;
}

/** `seen` tells what stands instead. */
async function until(condition: () => boolean, what: string, limitMs: number, seen: () => unknown): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`${what}: not so after ${limitMs} ms: ${JSON.stringify(seen())}`);
    await systemClock.sleep(10);
  }
}

function member(group: string, seen: Set<string>, assigned: () => void): ConsumerRuntime {
  let silenced = false;
  return createConsumerRuntime(
    {
      group,
      topics: [TOPIC],
      sink: {
        name: 'seen',
        write: async (batch) =>
          Array.from({ length: batch.length }, (_, i) => {
            seen.add(`${batch.source.partition}/${batch.offset(i)}`);
            return STORED;
          }),
      },
      batch: { maxRecords: 100, maxBytes: 1_000_000, maxAgeMs: 20 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 100, factor: 2, maxMs: 2000, jitter: 0.5 },
      drain: { revokeMs: 3000, stopMs: 6000 },
      start: 'earliest',
    },
    {
      broker: createNativeConsumer(settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 }),
      clock: systemClock,
      observe: (event) => {
        // Once: a member that loses its partitions to the silence is assigned again, and would stop the broker for good.
        if (silenced || event.kind !== 'rebalanced' || event.how !== 'assigned' || event.partitions.length === 0) return;
        silenced = true;
        assigned();
      },
    },
  );
}

it('a broker that falls silent while a member is opening its partitions stops nothing else, and the member goes on when it is back', async () => {
  const seen = new Set<string>();
  const runtime = member('silent-opening', seen, () => kafkaProcess('SIGSTOP'));
  const loop = watchLoop();
  try {
    await runtime.start();
    await systemClock.sleep(SILENT_MS);
    kafkaProcess('SIGCONT');
    const standing = (): unknown => ({ records: seen.size, health: runtimeHealth(runtime), lanes: runtime.lanes() });
    await until(() => seen.size === RECORDS && runtime.lanes().length === PARTITIONS, 'all records of all partitions', BACK_MS, standing);
    await until(() => runtimeHealth(runtime).state === 'ok', 'the member is well', BACK_MS, standing);
  } finally {
    kafkaProcess('SIGCONT');
    const report = await runtime.stop();
    loop.stop();
    expect(report.abandonedRecords).toBe(0);
  }
  expect(loop.longestMs).toBeLessThan(1000);
}, 90_000);

it('a stop while the broker is silent ends by its deadline', async () => {
  const runtime = member('silent-stop', new Set(), () => kafkaProcess('SIGSTOP'));
  const loop = watchLoop();
  try {
    await runtime.start();
    await systemClock.sleep(3000);
    const sinceMs = Date.now();
    await runtime.stop();
    expect(Date.now() - sinceMs).toBeLessThan(6500);
  } finally {
    kafkaProcess('SIGCONT');
    loop.stop();
  }
  expect(loop.longestMs).toBeLessThan(1000);
}, 60_000);
