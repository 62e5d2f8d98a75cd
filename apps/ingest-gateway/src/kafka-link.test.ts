import { ContractError } from '@tailrace/kafka-kit';
import { createLogger } from '@tailrace/service';
import { expect, test } from 'vitest';
import { KafkaLink, type LinkSteps } from './kafka-link.ts';
import { FakePublisher } from './testing/fake-publisher.ts';

const record = { topic: 't', key: null, value: Buffer.from('{}') };

function linkWith(steps: Partial<LinkSteps>) {
  const publisher = new FakePublisher();
  const log = createLogger({ name: 'test', level: 'silent' });
  const link = new KafkaLink(
    { connect: async () => publisher, checkTopics: async () => undefined, ...steps },
    { at: 'k:1', maxInFlightBytes: 1000, log },
  );
  return { link, publisher, stop: new AbortController() };
}

test('before it is open posts are refused and nothing is written; then it is what its publisher is', async () => {
  const { link, publisher, stop } = linkWith({});
  expect([link.closedBecause(), link.check().state, link.inFlightBytes]).toEqual(['kafka_unavailable', 'not-ready', 0]);
  expect(await link.publish([record], { deadlineMs: 1 })).toEqual([{ kind: 'withdrawn', reason: 'Kafka was not reached yet' }]);
  await link.open(stop.signal);
  expect([link.closedBecause(), link.check().state]).toEqual([undefined, 'ok']);
  expect(await link.publish([record], { deadlineMs: 1 })).toEqual([{ kind: 'acknowledged' }]);
  publisher.reachable = false;
  expect([link.closedBecause(), link.check().state]).toEqual(['kafka_unavailable', 'not-ready']);
  publisher.reachable = true;
  expect(link.closedBecause()).toBeUndefined();
});

test('an outage while connecting or while checking the topics is tried again, with one connection only', async () => {
  let connects = 0;
  let checks = 0;
  const told: string[] = [];
  const publisher = new FakePublisher();
  const { link, stop } = linkWith({
    async connect() {
      connects++;
      if (connects === 1) throw new Error('no broker');
      return publisher;
    },
    async checkTopics() {
      checks++;
      told.push(`${link.closedBecause()}: ${link.check().sentence}`);
      if (checks === 1) throw new Error('broker went away');
    },
  });
  await link.open(stop.signal);
  expect([connects, checks]).toEqual([2, 2]);
  expect(told).toEqual([
    'kafka_unavailable: Kafka at k:1 was not reached yet: no broker',
    'kafka_unavailable: Kafka at k:1 was not reached yet: broker went away',
  ]);
  expect(link.closedBecause()).toBeUndefined();
});

test('topics that are not as declared are no outage', async () => {
  const { link, stop } = linkWith({ checkTopics: () => Promise.reject(new ContractError('not as declared')) });
  await expect(link.open(stop.signal)).rejects.toThrow('not as declared');
  expect(link.closedBecause()).toBe('kafka_unavailable');
});

test.each(['connect', 'checkTopics'] as const)('a stop ends the step %s of the first connect, which told no outage', async (step) => {
  let begun: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const steps: Partial<LinkSteps> = {
    connect: (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')));
        begun();
      }),
    checkTopics: () => {
      begun();
      return new Promise(() => undefined); // As a broker that never answers.
    },
  };
  const { link, stop } = linkWith({ [step]: steps[step] });
  const opening = link.open(stop.signal);
  await reached;
  stop.abort();
  await Promise.all([opening, link.close(0)]);
  expect(link.check().sentence).toBe('Kafka at k:1 was not reached yet.');
});

test('a stop ends the waiting, and closing waits for the attempt that is under way and closes what it gave', async () => {
  let connected: () => void = () => undefined;
  let closed = false;
  const publisher = new FakePublisher();
  publisher.close = async () => {
    closed = true;
  };
  const { link, stop } = linkWith({
    connect: () =>
      new Promise((resolve) => {
        connected = () => resolve(publisher);
      }),
  });
  const opening = link.open(stop.signal);
  stop.abort();
  const closing = link.close(10_000);
  expect(closed).toBe(false);
  connected();
  await Promise.all([opening, closing]);
  expect(closed).toBe(true);

  const away = linkWith({ connect: () => Promise.reject(new Error('no broker')) });
  const waiting = away.link.open(away.stop.signal);
  away.stop.abort();
  await waiting;
  await away.link.close(0);
});
