import { randomUUID } from 'node:crypto';
import { SERVICE_EVENTS_TOPIC, sideTopicName, topicsFor } from '@tailrace/events';
import { connectAdmin, connectPublisher, deadLetterRecord, planTopics } from '@tailrace/kafka-kit';
import { endpointsFromEnvironment } from '@tailrace/stack';
import { afterEach, expect, it, vi } from 'vitest';
import { main } from './main.ts';

afterEach(() => vi.restoreAllMocks());

async function tailrace(...words: string[]): Promise<{ code: number; printed: Readonly<Record<string, unknown>>; told: string }> {
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
  const code = await main(['--json', ...words]);
  vi.restoreAllMocks();
  return { code, printed: printed === '' ? {} : JSON.parse(printed), told };
}

it('dead letters of the real topic are counted and shown byte for byte, by their place and by their source', async () => {
  const { kafkaBootstrapServers } = endpointsFromEnvironment();
  const kafka = { bootstrapServers: kafkaBootstrapServers, clientId: 'cli-test', securityProtocol: 'plaintext' } as const;
  const topic = sideTopicName(SERVICE_EVENTS_TOPIC, 'indexer', 'dlq');
  const admin = await connectAdmin(kafka);
  const specs = topicsFor('local').filter(({ state }) => state === 'active');
  await admin.apply(planTopics(specs, await admin.readTopics(specs.map(({ name }) => name))));
  await admin.close();
  const publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 10_000_000, log: () => {} });
  const reason = `test-${randomUUID().slice(0, 8)}`;
  const offset = Date.now();
  const records = Array.from({ length: 1500 }, (_, i) => {
    const origin = { topic: SERVICE_EVENTS_TOPIC, incarnation: 'abcdefgh', partition: i % 12, offset: offset + i, timestampMs: 1 };
    const letter = {
      group: 'indexer',
      reason,
      detail: `detail ${i}`,
      origin,
      via: origin,
      attempts: 1,
      replays: 0,
      failedAtMs: Date.now(),
    };
    return deadLetterRecord({ ...letter, key: Buffer.alloc(0), value: Buffer.from([i % 256, 0xff]), headers: [['n', null]] }, topic);
  });
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  await publisher.close(5000);
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));

  const all = await tailrace('dlq', 'ls', '--reason', reason);
  expect(all).toMatchObject({
    code: 1,
    printed: { topics: [{ topic, deadLetters: 1500, heaps: [{ reason, service: null, records: 1500 }] }], unsendable: {} },
  });
  const one = await tailrace('dlq', 'ls', '--reason', reason, '--source', `${SERVICE_EVENTS_TOPIC}/5`);
  expect(one.printed).toMatchObject({ topics: [{ deadLetters: 125 }] });
  const shown = await tailrace('dlq', 'show', '--source', `${SERVICE_EVENTS_TOPIC}/5/${offset + 17}`);
  const exact = { reason, detail: 'detail 17', key: { text: '' }, value: { base64: 'Ef8=' }, headers: [['n', null]] };
  expect(shown).toMatchObject({ code: 0, printed: exact });
  const { partition, offset: at } = shown.printed as { readonly partition: number; readonly offset: number };
  expect(await tailrace('dlq', 'show', '--at', `${partition}/${at}`)).toMatchObject({ code: 0, printed: exact });
  expect(await tailrace('dlq', 'show', '--at', `${partition}/${at + 1_000_000}`)).toMatchObject({
    code: 1,
    told: expect.stringMatching(/ends before offset/),
  });
});
