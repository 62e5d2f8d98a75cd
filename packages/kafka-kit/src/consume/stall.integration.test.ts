import { afterAll, expect, it } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import { runtimeHealth } from '../observe/runtime-health.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import { STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const real = new RealKafka('stall');
afterAll(() => real.close());

/** Two look-ups 10 s apart and the client's statistics lie between the last record and the word. */
const SEEN_MS = 40_000;
const RECORDS = 60;

it('a partition that the client does not fetch, behind the runtime’s back, is named and read again; its neighbours are left alone', async () => {
  const topic = await real.topic(3);
  const group = real.name('group');
  const broker = createNativeConsumer(real.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 60_000 });
  const events: RuntimeEvent[] = [];
  const seen: string[] = [];
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink: {
        name: 'seen',
        write: async (batch) =>
          Array.from({ length: batch.length }, (_, i) => {
            seen.push(`${batch.source.partition}/${batch.offset(i)}`);
            return STORED;
          }),
      },
      batch: { maxRecords: 100, maxBytes: 1_000_000, maxAgeMs: 20 },
      inFlightPerLane: 1,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 100, factor: 2, maxMs: 2000, jitter: 0.5 },
      drain: { revokeMs: 3000, stopMs: 6000 },
      start: 'earliest',
    },
    { broker, clock: systemClock, observe: (event) => void events.push(event) },
  );
  const until = async (condition: () => boolean, what: string): Promise<void> => {
    const endMs = Date.now() + SEEN_MS;
    while (!condition()) {
      if (Date.now() > endMs) throw new Error(`${what}: not so after ${SEEN_MS} ms`);
      await systemClock.sleep(20);
    }
  };
  await runtime.start();
  await until(() => runtime.lanes().filter(({ phase }) => phase === 'running').length === 3, 'all have opened');
  broker.pause([{ topic, partition: 1 }]);
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 1_000_000, log: () => {} });
  const records = Array.from({ length: RECORDS }, (_, i) => ({ topic, key: Buffer.from(`k${i}`), value: Buffer.from(`v${i}`) }));
  await publisher.publish(records, { deadlineMs: 30_000 });
  await publisher.close(5000);
  await until(() => runtimeHealth(runtime).state === 'not-ready', 'the stall is said');
  expect(runtimeHealth(runtime).sentence).toContain(`${topic}, partition 1 got nothing from offset 0 on since`);
  expect(seen.some((record) => record.startsWith('1/'))).toBe(false);
  await until(() => seen.length === RECORDS && runtimeHealth(runtime).state === 'ok', 'read again, and well');
  expect(new Set(seen).size).toBe(RECORDS);
  expect(events.flatMap((event) => (event.kind === 'stalled' ? event.lane.partition : []))).toEqual([1]);
  await runtime.stop();
}, 120_000);
