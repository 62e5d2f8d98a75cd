import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { type Batch, type Outcome, STORED } from '../consume/contract.ts';
import { createConsumerRuntime } from '../consume/runtime.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import type { Publisher } from '../publish/contract.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import type { RawRecord } from '../records.ts';
import { recordParts } from '../testing/odd-records.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { systemClock } from '../time/clock.ts';
import { DEFAULT_BACKOFF } from './backoff.ts';
import { type DeadLetter, readDeadLetter } from './dead-letter.ts';
import { readRanges } from './read-ranges.ts';
import { decodeSideRecord, encodeSideRecord } from './side-record.ts';

const kafka = new RealKafka('dead-letters-test');
let publisher: Publisher;

beforeAll(async () => {
  publisher = await connectPublisher(kafka.settings, { producers: 1, maxInFlightBytes: 50_000_000, log: () => {} });
});
afterAll(async () => {
  await publisher.close(5000);
  await kafka.close();
});

async function recordsOf(topic: string): Promise<RawRecord[]> {
  const admin = await kafka.admin();
  const ranges = (await admin.groupLag('nobody', [topic])).map(({ partition, logStart, logEnd }) => ({
    topic,
    partition,
    from: logStart,
    to: logEnd,
  }));
  const records: RawRecord[] = [];
  for await (const some of readRanges(kafka.settings, ranges)) records.push(...some);
  return records;
}

test('odd keys, values and headers come back byte for byte through Kafka and the client', async () => {
  const topic = await kafka.topic(1);
  const seed = randomInt(2 ** 31);
  console.log(`dead-letters seed ${seed}`);
  const originals = fc.sample(recordParts, { seed, numRuns: 1000 });
  const origin = (offset: number) => ({ topic: 'first', incarnation: 'abc-_123', partition: 2, offset, timestampMs: 1_769_860_800_123 });
  const sent = originals.map((parts, i) => ({
    topic,
    partition: 0,
    ...encodeSideRecord({ origin: origin(i), notes: [['replay.plan', Buffer.from('p')]], ...parts }),
  }));
  const fates = await publisher.publish(sent, { deadlineMs: 30_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  const back = (await recordsOf(topic)).map(decodeSideRecord);
  expect(back).toHaveLength(originals.length);
  for (const [i, parts] of originals.entries())
    expect(back[i]).toEqual({ origin: origin(i), notes: [['replay.plan', Buffer.from('p')]], ...parts });
});

test('a bad record in the middle goes to the dead letters with its bytes, one that is too large there is stored apart, and all else goes on', async () => {
  const topic = await kafka.topic(3);
  const dlq = `${topic}.dlq`;
  await kafka.make(dlq, 3, { 'max.message.bytes': '3000' });
  const group = kafka.name('group');
  const values = Array.from({ length: 300 }, (_, i) => (i % 100 === 50 ? Buffer.from([0xff, i % 256, 0x0a]) : Buffer.from(`good ${i}`)));
  const large = randomBytes(5000);
  values[150] = large;
  const records = values.map((value, i) => ({
    topic,
    partition: i % 3,
    key: Buffer.from(`k${i}`),
    value,
    headers: [['n', Buffer.from(`${i}`)]] as const,
  }));
  await publisher.publish(records, { deadlineMs: 30_000 });
  const apart: { letter: DeadLetter; why: string }[] = [];
  const events: RuntimeEvent[] = [];
  const bad = (value: Buffer | null): boolean => value?.[0] === 0xff || (value?.length ?? 0) > 1000;
  const write = async (batch: Batch): Promise<Outcome[]> =>
    Array.from({ length: batch.length }, (_, i) => (bad(batch.value(i)) ? { kind: 'dead', reason: 'bad', cause: 'no text' } : STORED));
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink: { name: 'test', write },
      batch: { maxRecords: 1000, maxBytes: 1_000_000, maxAgeMs: 100 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 8_000_000, resumeAtBytes: 4_000_000 },
      backoff: DEFAULT_BACKOFF,
      drain: { revokeMs: 3000, stopMs: 5000 },
      start: 'earliest',
    },
    {
      broker: createNativeConsumer(kafka.settings, { group, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 }),
      clock: systemClock,
      observe: (event) => void events.push(event),
      deadLetters: {
        publisher,
        topic: (source) => `${source}.dlq`,
        unsendable: async (letter, why) => void apart.push({ letter, why }),
        budget: undefined,
      },
    },
  );
  await runtime.start();
  await vi.waitFor(() => expect(runtime.lanes().map(({ nextToRead }) => nextToRead)).toEqual([100, 100, 100]), { timeout: 60_000 });
  expect(await runtime.stop()).toMatchObject({ deliveredRecords: 300, settledRecords: 300, abandonedRecords: 0, committed: true });
  const letters = (await recordsOf(dlq)).map((record) => ({ at: record.partition, letter: readDeadLetter(record) }));
  expect(letters.map(({ at, letter }) => [at, letter?.value?.[1], letter?.headers, letter?.origin.offset]).sort()).toEqual([
    [1, 250, [['n', Buffer.from('250')]], 83],
    [2, 50, [['n', Buffer.from('50')]], 16],
  ]);
  expect(letters[0]?.letter).toMatchObject({ reason: 'bad', detail: 'no text', group, attempts: 1, replays: 0 });
  expect(apart.map(({ letter }) => [letter.origin.partition, letter.value?.equals(large)])).toEqual([[0, true]]);
  expect(apart[0]?.why).toMatch(/too large/i);
  await (await kafka.admin()).deleteTopics([dlq]);
});
