import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DeliveryFault } from '../broker/broker-producer.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { MemoryCluster } from '../testing/memory-cluster.ts';
import { MemoryProducer } from '../testing/memory-producer.ts';
import type { OutgoingRecord, Published, Publisher } from './contract.ts';
import { createPublisher } from './publisher.ts';

const TOPIC = 'events';
const TOO_LARGE: DeliveryFault = { reason: 'too large', certain: true, own: true };
const TIMED_OUT: DeliveryFault = { reason: 'timed out', certain: false, own: false };

let clock: ManualClock;
let cluster: MemoryCluster;
let producers: MemoryProducer[];
let publisher: Publisher;

async function open(count = 1, maxInFlightBytes = 1_000_000): Promise<void> {
  producers = Array.from({ length: count }, () => new MemoryProducer(cluster));
  const opening = createPublisher({ producers, maxInFlightBytes, clock, log: () => {} });
  await clock.advance(10);
  publisher = await opening;
}

beforeEach(async () => {
  clock = new ManualClock();
  cluster = new MemoryCluster(clock);
  cluster.createTopic(TOPIC, 1);
  await open();
});

// Whatever became of the records: their bytes leave the bound.
afterEach(async () => {
  await clock.advance(60_000);
  expect(publisher.inFlightBytes).toBe(0);
});

const record = (value: string, key: string | null = null, more: Partial<OutgoingRecord> = {}): OutgoingRecord => ({
  topic: TOPIC,
  key: key === null ? null : Buffer.from(key),
  value: Buffer.from(value),
  ...more,
});
const written = (): string[] => cluster.records({ topic: TOPIC, partition: 0 }).map(({ value }) => String(value));
const is =
  (value: string, fault: DeliveryFault) =>
  ({ value: bytes }: OutgoingRecord): DeliveryFault | undefined =>
    String(bytes) === value ? fault : undefined;

async function publish(records: readonly OutgoingRecord[], deadlineMs = 10_000): Promise<Published['kind'][]> {
  let fates: readonly Published[] | undefined;
  void publisher.publish(records, { deadlineMs }).then((all) => {
    fates = all;
  });
  await clock.until(() => fates !== undefined, 'an answer', deadlineMs + 20);
  return (fates ?? []).map(({ kind }) => kind);
}

it('acknowledged: it is in the log; no records are an answer too', async () => {
  expect(await publish([record('a'), record('b')])).toEqual(['acknowledged', 'acknowledged']);
  expect(written()).toEqual(['a', 'b']);
  expect(await publish([])).toEqual([]);
});

it('what waits while a group is in flight is one next group, in the order of the calls', async () => {
  let let_ = (): void => {};
  if (producers[0]) producers[0].gate = new Promise((resolve) => (let_ = resolve));
  const first = publish([record('0')]);
  await clock.advance(10);
  const rest = Promise.all(Array.from({ length: 20 }, (_, i) => publisher.publish([record(`${i + 1}`)], { deadlineMs: 10_000 })));
  await clock.advance(10);
  let_();
  await first;
  await clock.advance(100);
  expect((await rest).flat().every(({ kind }) => kind === 'acknowledged')).toBe(true);
  expect([written(), producers[0]?.groups]).toEqual([Array.from({ length: 21 }, (_, i) => `${i}`), [1, 20]]);
});

it('refused is a record’s own fault, said by the client or by the broker, and its group’s others are acknowledged', async () => {
  if (producers[0]) producers[0].faults = { hand: is('x', TOO_LARGE), deliver: is('y', TOO_LARGE) };
  expect(await publish(['a', 'x', 'b', 'y', 'c'].map((value) => record(value)))).toEqual([
    'acknowledged',
    'refused',
    'acknowledged',
    'refused',
    'acknowledged',
  ]);
  expect(written()).toEqual(['a', 'b', 'c']);
});

it('records that the broker refused for a neighbour of theirs are written, in their order, and only the guilty one is refused', async () => {
  // As Kafka does: the whole batch is refused for one record of it.
  let batch: string[] = [];
  const [producer] = producers;
  if (producer === undefined) throw new Error('no producer');
  const hand = producer.hand.bind(producer);
  const settle = producer.settle.bind(producer);
  producer.hand = (each) => {
    batch.push(String(each.value));
    return hand(each);
  };
  producer.settle = async () => {
    const guilty = batch.includes('13');
    producer.faults = guilty ? { deliver: () => TOO_LARGE } : {};
    batch = [];
    return settle();
  };
  const fates = await publish(Array.from({ length: 40 }, (_, i) => record(`${i}`)));
  expect(fates).toEqual(Array.from({ length: 40 }, (_, i) => (i === 13 ? 'refused' : 'acknowledged')));
  expect(written()).toEqual(Array.from({ length: 40 }, (_, i) => `${i}`).filter((value) => value !== '13'));
});

it('unknown: the broker’s answer is missing; withdrawn: it is certain that it is not in the log', async () => {
  if (producers[0]) {
    producers[0].faults = {
      deliver: (each) => is('u', TIMED_OUT)(each) ?? is('w', { reason: 'purged', certain: true, own: false })(each),
      hand: is('h', { reason: 'not connected', certain: true, own: false }),
    };
  }
  expect(await publish(['a', 'u', 'w', 'h'].map((value) => record(value)))).toEqual(['acknowledged', 'unknown', 'withdrawn', 'withdrawn']);
  expect(written()).toEqual(['a', 'u']);
});

it('a client that throws while it is handed a record leaves nothing hanging', async () => {
  if (producers[0]) {
    producers[0].faults = {
      hand: ({ value }) => {
        if (String(value) === 'x') throw new Error('broken');
        return undefined;
      },
    };
  }
  expect(await publish([record('a'), record('x'), record('b')])).toEqual(['acknowledged', 'unknown', 'acknowledged']);
});

it('by the deadline what was handed over is unknown, and what was not is withdrawn and never written', async () => {
  const [producer] = producers;
  if (producer === undefined) throw new Error('no producer');
  producer.capacity = 3;
  let let_ = (): void => {};
  producer.gate = new Promise((resolve) => (let_ = resolve));
  const startedMs = clock.nowMs();
  expect(
    await publish(
      ['a', 'b', 'c', 'd', 'e'].map((value) => record(value)),
      2000,
    ),
  ).toEqual(['unknown', 'unknown', 'unknown', 'withdrawn', 'withdrawn']);
  expect(clock.nowMs() - startedMs).toBeLessThanOrEqual(2010);
  expect(publisher.inFlightBytes).toBe(5);
  let_();
  await clock.advance(1000);
  expect([written(), publisher.inFlightBytes]).toEqual([['a', 'b', 'c'], 0]);
});

it('a full client is waited for, and the order stays', async () => {
  if (producers[0]) producers[0].capacity = 4;
  expect(new Set(await publish(Array.from({ length: 30 }, (_, i) => record(`${i}`))))).toEqual(new Set(['acknowledged']));
  expect(written()).toEqual(Array.from({ length: 30 }, (_, i) => `${i}`));
});

it('more bytes than may be in flight are withdrawn at once; one request alone is taken, however large', async () => {
  await open(1, 100);
  let let_ = (): void => {};
  if (producers[0]) producers[0].gate = new Promise((resolve) => (let_ = resolve));
  const large = publisher.publish([record('x'.repeat(500))], { deadlineMs: 10_000 });
  expect(publisher.inFlightBytes).toBe(500);
  const startedMs = clock.nowMs();
  expect(await publish([record('y')])).toEqual(['withdrawn']);
  expect(clock.nowMs() - startedMs).toBeLessThan(5);
  let_();
  await clock.advance(100);
  expect((await large)[0]?.kind).toBe('acknowledged');
  expect([await publish([record('z')]), written().length]).toEqual([['acknowledged'], 2]);
});

it('a flush that rejects leaves its group unknown, and the next group goes on', async () => {
  let broken = true;
  if (producers[0]) producers[0].faults = { settle: () => (broken ? new Error('flush broke') : undefined) };
  expect(await publish([record('a'), record('b')])).toEqual(['unknown', 'unknown']);
  broken = false;
  expect(await publish([record('c')])).toEqual(['acknowledged']);
});

it('a failure that belongs to no record leaves the whole group unknown', async () => {
  producers[0]?.strangers.push({ topic: TOPIC, key: null, value: Buffer.from('of an earlier group'), ...TIMED_OUT });
  expect(await publish([record('a'), record('b')])).toEqual(['unknown', 'unknown']);
  expect(await publish([record('c')])).toEqual(['acknowledged']);
});

it('a record that is added in the very moment in which a group ends does not wait for the next one', async () => {
  // As many turns of the microtask queue behind the flush as it takes to hit every moment of the group's end.
  for (let turns = 0; turns < 12; turns += 1) {
    await open();
    const [producer] = producers;
    if (producer === undefined) throw new Error('no producer');
    const settle = producer.settle.bind(producer);
    let late: Promise<readonly Published[]> | undefined;
    producer.settle = async () => {
      const failed = await settle();
      if (late === undefined) void after(turns, () => (late = publisher.publish([record('late')], { deadlineMs: 1000 })));
      return failed;
    };
    expect(await publish([record('a')])).toEqual(['acknowledged']);
    await clock.advance(2000);
    expect([turns, (await late)?.map(({ kind }) => kind)]).toEqual([turns, ['acknowledged']]);
  }
});

async function after(turns: number, act: () => unknown): Promise<void> {
  for (let i = 0; i < turns; i += 1) await Promise.resolve();
  act();
}

it('close waits for what is in flight, answers everything by its time, and takes nothing more', async () => {
  const [producer] = producers;
  if (producer === undefined) throw new Error('no producer');
  producer.capacity = 1;
  producer.gate = new Promise(() => {});
  const stuck = publisher.publish([record('a'), record('b')], { deadlineMs: 60_000 });
  await clock.advance(10);
  let closed = false;
  void publisher.close(3000).then(() => {
    closed = true;
  });
  expect(await publish([record('c')])).toEqual(['withdrawn']);
  await clock.advance(2900);
  expect(closed).toBe(false);
  await clock.advance(200);
  expect([closed, producer.closed, (await stuck).map(({ kind }) => kind)]).toEqual([true, true, ['unknown', 'withdrawn']]);
  producer.gate = undefined;
  await open();
});

it('close returns as soon as nothing is in flight', async () => {
  void publisher.publish([record('a')], { deadlineMs: 10_000 });
  const startedMs = clock.nowMs();
  let closed = false;
  void publisher.close(30_000).then(() => {
    closed = true;
  });
  await clock.until(() => closed, 'closed');
  expect([clock.nowMs() - startedMs < 50, written()]).toEqual([true, ['a']]);
});

it('a key always travels through the same producer, and order per key holds over several', async () => {
  await open(3);
  const keys = Array.from({ length: 31 }, (_, i) => `customer ${i}`);
  const seen = new Map<string, Set<number>>();
  for (const [i, producer] of producers.entries()) {
    const hand = producer.hand.bind(producer);
    producer.hand = (each) => {
      seen.set(String(each.key), (seen.get(String(each.key)) ?? new Set()).add(i));
      return hand(each);
    };
  }
  const all = Array.from({ length: 310 }, (_, i) => record(`${i}`, keys[i % keys.length]));
  await Promise.all([publish(all.slice(0, 150)), publish(all.slice(150))]);
  expect([...seen.values()].every((used) => used.size === 1)).toBe(true);
  expect(new Set([...seen.values()].flatMap((used) => [...used])).size).toBe(3);
  const order = cluster.records({ topic: TOPIC, partition: 0 });
  for (const key of keys) {
    const values = order.filter((each) => String(each.key) === key).map(({ value }) => Number(value));
    expect(values).toEqual([...values].sort((a, b) => a - b));
    expect(values).toHaveLength(10);
  }
});

it('where one producer can not be connected, the others are closed again', async () => {
  const pair = [new MemoryProducer(cluster), new MemoryProducer(cluster)];
  if (pair[1]) pair[1].connect = async () => Promise.reject(new Error('no route'));
  const opening = createPublisher({ producers: pair, maxInFlightBytes: 1, clock, log: () => {} }).catch((error: Error) => error.message);
  await clock.advance(100);
  expect([await opening, pair.map(({ closed }) => closed)]).toEqual(['no route', [true, true]]);
});
