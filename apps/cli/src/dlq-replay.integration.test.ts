import { randomUUID } from 'node:crypto';
import { SERVICE_EVENTS_TOPIC, sideTopicName, topicsFor } from '@tailrace/events';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  type DeadLetter,
  deadLetterRecord,
  decodeSideRecord,
  planTopics,
  readRanges,
  type SideRecord,
} from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { main } from './main.ts';

const kafka = {
  bootstrapServers: endpointsFromEnvironment().kafkaBootstrapServers,
  clientId: 'dlq-replay-test',
  securityProtocol: 'plaintext',
} as const;
const DLQ = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'dlq');
const CHANNEL = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'replay');
let admin: ClusterAdmin;

beforeAll(async () => {
  admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
});
afterAll(() => admin.close());
afterEach(() => vi.restoreAllMocks());

async function tailrace(...words: string[]): Promise<{ code: number; printed: string; told: string }> {
  let printed = '';
  let told = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    told += String(text);
    return true;
  });
  const code = await main(words);
  vi.restoreAllMocks();
  return { code, printed, told };
}

async function bury(letters: readonly Partial<DeadLetter>[], offsetOf: (i: number) => number, reason: string): Promise<void> {
  const publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
  const records = letters.map((letter, i) => {
    const origin = { topic: SERVICE_EVENTS_TOPIC, incarnation: 'abcdefgh', partition: i % 12, offset: offsetOf(i), timestampMs: 1 };
    const whole = { group: 'indexer', reason, detail: '', origin, via: origin, attempts: 1, replays: 0, failedAtMs: Date.now() };
    return deadLetterRecord(
      { ...whole, key: Buffer.alloc(0), value: Buffer.from([i % 256, 0xff]), headers: [['n', null]], ...letter },
      DLQ,
    );
  });
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  await publisher.close(5000);
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
}

/** What the side channel holds above some ends, by the source's place. */
async function channelBehind(ends: ReadonlyMap<number, number>): Promise<ReadonlyMap<string, readonly SideRecord[]>> {
  const now = await admin.groupLag('nobody', [CHANNEL]);
  const found = new Map<string, SideRecord[]>();
  const ranges = now.map(({ topic, partition, logEnd }) => ({ topic, partition, from: ends.get(partition) ?? 0, to: logEnd }));
  for await (const records of readRanges(kafka, ranges)) {
    for (const record of records) {
      const side = decodeSideRecord(record);
      if (side === undefined) throw new Error('somebody else wrote into the side channel');
      expect(side.origin.partition).toBe(record.partition);
      const place = `${side.origin.partition}/${side.origin.offset}`;
      found.set(place, [...(found.get(place) ?? []), side]);
    }
  }
  return found;
}

const endsNow = async () => new Map((await admin.groupLag('nobody', [CHANNEL])).map(({ partition, logEnd }) => [partition, logEnd]));

it('dead letters of the real topic come into the side channel byte for byte, each record once, and the sixth round does not', async () => {
  const reason = `test-${randomUUID().slice(0, 8)}`;
  const base = Date.now();
  const place = (i: number): string => `${i % 12}/${base + i}`;
  await bury(
    Array.from({ length: 1500 }, () => ({})),
    (i) => base + i,
    reason,
  );
  // Of the first hundred records a second letter, of these the first ten of the fifth round.
  await bury(
    Array.from({ length: 100 }, (_, i) => ({ replays: i < 10 ? 5 : 1 })),
    (i) => base + i,
    reason,
  );
  const before = await endsNow();

  const dry = await tailrace('dlq', 'replay', '--group', 'indexer', '--reason', reason, '--dry-run');
  expect(dry).toMatchObject({ code: 1, told: '' });
  expect(dry.printed).toMatch(new RegExp(`^${DLQ}: 1500 of \\d+ dead letters`));
  expect(dry.printed).toContain('10 of them refused: brought back 5 times, and dead again');
  expect(await endsNow()).toEqual(before);

  const some = await tailrace('dlq', 'replay', '--group', 'indexer', '--reason', reason, '--source', `${SERVICE_EVENTS_TOPIC}/3`, '--yes');
  expect(some).toMatchObject({ code: 1, told: '' });
  expect(some.printed).toContain(`125 matched: 124 sent into ${CHANNEL}, 1 refused after 5 rounds.`);
  expect((await channelBehind(before)).size).toBe(124);
  const between = await endsNow();

  const all = await tailrace('--json', 'dlq', 'replay', '--group', 'indexer', '--reason', reason, '--yes');
  expect([all.code, all.told, JSON.parse(all.printed)]).toMatchObject([
    1,
    '',
    { matched: 1500, sent: 1490, refusedRounds: 10, into: CHANNEL },
  ]);
  const arrived = await channelBehind(between);
  expect([...arrived.keys()].sort()).toEqual(Array.from({ length: 1490 }, (_, i) => place(i + 10)).sort());
  for (let i = 10; i < 1500; i++) {
    const [side, ...more] = arrived.get(place(i)) ?? [];
    expect(more).toEqual([]);
    expect(side).toEqual({
      origin: { topic: SERVICE_EVENTS_TOPIC, incarnation: 'abcdefgh', partition: i % 12, offset: base + i, timestampMs: 1 },
      notes: [['dlq.replays', Buffer.from(i < 100 ? '2' : '1')]],
      key: Buffer.alloc(0),
      value: Buffer.from([i % 256, 0xff]),
      headers: [['n', null]],
    });
  }
  // What died again is told apart.
  expect((await tailrace('dlq', 'ls', '--reason', reason)).printed).toContain('100 of them had been brought back before, and died again');
});

it('a group without a side channel, and one without a terminal to ask at, are wrong use', async () => {
  expect(await tailrace('dlq', 'replay', '--group', 'archiver', '--yes')).toMatchObject({
    code: 2,
    told: expect.stringMatching(/^No group archiver/),
  });
  expect(await tailrace('dlq', 'replay', '--group', 'indexer')).toMatchObject({
    code: 2,
    told: expect.stringMatching(/say --yes, or --dry-run/),
  });
});
