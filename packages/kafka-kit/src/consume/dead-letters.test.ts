import { afterEach, beforeEach, expect, it } from 'vitest';
import type { DeliveryFault } from '../broker/broker-producer.ts';
import { runtimeHealth } from '../observe/runtime-health.ts';
import type { OutgoingRecord } from '../publish/contract.ts';
import { createPublisher } from '../publish/publisher.ts';
import { type DeadLetter, readDeadLetter } from '../recover/dead-letter.ts';
import { encodeSideRecord } from '../recover/side-record.ts';
import { MemoryProducer } from '../testing/memory-producer.ts';
import { GROUP, kinds, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { type Outcome, STORED } from './contract.ts';
import type { DeadLetterHalt } from './dead-letters.ts';

const DLQ = `${TOPIC}.${GROUP}.dlq`;
const AWAY: DeliveryFault = { reason: 'not now', certain: true, own: false };
const TOO_LARGE: DeliveryFault = { reason: 'too large', certain: true, own: true };

let rig = new RuntimeRig();
let producer: MemoryProducer;
let stored: { letter: DeadLetter; why: string }[];
let storeFault: Error | undefined;

async function withDeadLetters(partitions = 1, settings: ConstructorParameters<typeof RuntimeRig>[1] = {}, budget?: DeadLetterHalt) {
  rig = new RuntimeRig(partitions, settings);
  rig.cluster.createTopic(DLQ, partitions);
  producer = new MemoryProducer(rig.cluster);
  const opening = createPublisher({ producers: [producer], maxInFlightBytes: 1_000_000, clock: rig.clock, log: () => {} });
  await rig.clock.advance(10);
  rig.deadLetters = {
    publisher: await opening,
    topic: (source) => `${source}.${GROUP}.dlq`,
    unsendable: async (letter, why) => {
      if (storeFault !== undefined) throw storeFault;
      stored.push({ letter, why });
    },
    budget,
  };
}

beforeEach(() => {
  stored = [];
  storeFault = undefined;
});
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const dead: Outcome = { kind: 'dead', reason: 'not-json', cause: new Error('no brace', { cause: new Error('at 7') }) };
const deadAt =
  (...at: readonly number[]) =>
  ({ offsets }: { offsets: readonly number[] }): Outcome[] =>
    offsets.map((offset) => (at.includes(offset) ? dead : STORED));
/** Records that differ: of equal ones that were sent together, a failure of one counts for all. */
const appendDifferent = (count: number): void =>
  rig.cluster.append(rig.tp(), ...Array.from({ length: count }, (_, i) => ({ value: Buffer.from(`value ${i}`) })));
const buried = (partition = 0): (DeadLetter | undefined)[] =>
  rig.cluster.records({ topic: DLQ, partition }).map((record) => readDeadLetter(record));

it('I7 a dead record is settled only after its dead letter is acknowledged, and nothing commits past it before', async () => {
  await withDeadLetters();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  let open = (): void => {};
  producer.gate = new Promise((resolve) => {
    open = resolve;
  });
  rig.append(10);
  await rig.clock.advance(20_000);
  expect([rig.committed(), rig.lane(member).unsettled]).toEqual([5, 1]);
  open();
  await rig.until(() => rig.committed() === 10, 'all is committed');
  expect(buried()).toHaveLength(1);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 10, settledRecords: 10, abandonedRecords: 0, committed: true });
});

it('a dead letter has the original bytes, where it stood, why, and which try it was', async () => {
  await withDeadLetters(3);
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = ({ offsets }) => {
    tries += 1;
    if (tries === 1) throw new Error('away');
    return offsets.map(() => dead);
  };
  const original = {
    key: Buffer.alloc(0),
    value: Buffer.from('{"a":\n'),
    headers: [
      ['event.type', Buffer.from('x')],
      ['origin.topic', Buffer.from('not ours')],
      ['', null],
    ] as const,
  };
  rig.cluster.append(rig.tp(2), original);
  await rig.until(() => rig.committed(2) === 1, 'it is committed');
  const [record] = rig.cluster.records({ topic: DLQ, partition: 2 });
  const text = Object.fromEntries((record?.headers ?? []).map(([name, value]) => [name, String(value)]));
  expect(text).toMatchObject({
    'origin.topic': TOPIC,
    'origin.partition': '2',
    'origin.empty': 'key',
    'dlq.reason': 'not-json',
    'dlq.detail': 'no brace: at 7',
    'dlq.source.topic': TOPIC,
    'dlq.source.partition': '2',
    'dlq.source.offset': '0',
    'dlq.via.topic': TOPIC,
    'dlq.group': GROUP,
    'dlq.attempts': '2',
    'dlq.replays': '0',
    'dlq.failed_at': expect.stringMatching(/^2026-01-01T00:00:\d\d\.\d{3}Z$/),
    'event.type': 'x',
  });
  expect(buried(2)[0]).toMatchObject({ ...original, origin: { topic: TOPIC, partition: 2, offset: 0 }, attempts: 2 });
});

it('a publish that fails for the moment is an outage: the lane waits, nothing passes, and it goes on by itself', async () => {
  await withDeadLetters(2);
  const member = await rig.running();
  await rig.until(() => rig.lane(member, 1).phase === 'running', 'both run');
  member.sink.respond = (write) => (write.partition === 0 ? deadAt(3)(write) : write.offsets.map(() => STORED));
  producer.faults.deliver = () => AWAY;
  rig.append(10, 0);
  await rig.until(() => rig.lane(member).outage !== undefined, 'an outage');
  rig.append(20, 0);
  rig.append(20, 1);
  await rig.clock.advance(20_000);
  expect(member.sink.offsets(0)).toHaveLength(10);
  expect([rig.committed(0), rig.committed(1)]).toEqual([3, 20]);
  expect(rig.lane(member).outage).toMatchObject({ why: 'dead-letter', reason: expect.stringContaining('not now') });
  expect(runtimeHealth(member.runtime, rig.clock.nowMs())).toMatchObject({
    state: 'degraded',
    sentence: expect.stringContaining('not now'),
  });
  producer.faults = {};
  await rig.until(() => rig.committed(0) === 30, 'it went on');
  expect(buried()).toHaveLength(1);
  expect([rig.lane(member).outage, rig.lane(member).bufferedBytes]).toEqual([undefined, 0]);
});

it('records to try again and dead ones in one batch: each is settled once, in whatever order they come through', async () => {
  await withDeadLetters(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = ({ offsets }) => {
    tries += 1;
    return offsets.map((offset) => (offset % 5 === 3 && tries < 8 ? { kind: 'retry', reason: 'busy' } : offset % 5 === 1 ? dead : STORED));
  };
  let failing = 4;
  producer.faults.deliver = () => {
    failing -= 1;
    return failing > 0 ? AWAY : undefined;
  };
  appendDifferent(50);
  await rig.until(() => rig.committed() === 50, 'all is committed');
  expect(buried()).toHaveLength(10);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 50, settledRecords: 50, abandonedRecords: 0 });
});

it('what is refused even as a dead letter is stored apart, and settled only then', async () => {
  await withDeadLetters();
  const member = await rig.running();
  member.sink.respond = deadAt(2, 4);
  producer.faults.deliver = ({ headers }: OutgoingRecord) =>
    headers?.some(([name, value]) => name === 'dlq.source.offset' && String(value) === '4') ? TOO_LARGE : undefined;
  storeFault = new Error('the bucket is away');
  appendDifferent(10);
  await rig.clock.advance(10_000);
  expect([rig.committed(), stored.length, buried().length]).toEqual([4, 0, 1]);
  expect(rig.lane(member).outage).toMatchObject({ why: 'dead-letter', reason: 'the bucket is away' });
  storeFault = undefined;
  await rig.until(() => rig.committed() === 10, 'all is committed');
  expect(stored).toEqual([{ letter: expect.objectContaining({ reason: 'not-json', attempts: 1 }), why: 'too large' }]);
  expect(stored[0]?.letter.origin.offset).toBe(4);
  expect(kinds(member.events, 'dead-lettered', 'unsendable')).toEqual([
    { kind: 'dead-lettered', lane: rig.tp(), reason: 'not-json', records: 1 },
    { kind: 'unsendable', lane: rig.tp(), offset: 4, reason: 'not-json', why: 'too large' },
  ]);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 10, settledRecords: 10, abandonedRecords: 0 });
});

it('a lane that is given back while its dead letters can not be written leaves them to the next owner, and loses no time', async () => {
  await withDeadLetters();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  producer.faults.deliver = () => AWAY;
  rig.append(10);
  await rig.until(() => (rig.lane(member).outage?.attempts ?? 0) > 7, 'some tries');
  const startedMs = rig.clock.nowMs();
  expect(await rig.stop(member)).toMatchObject({ settledRecords: 9, abandonedRecords: 1, committed: true });
  expect(rig.clock.nowMs() - startedMs).toBeLessThan(1000);
  expect(rig.committed()).toBe(5);
  producer.faults = {};
  const next = await rig.running();
  next.sink.respond = deadAt(5);
  await rig.until(() => rig.committed() === 10, 'the next owner has done it');
  expect(buried().map((letter) => letter?.origin.offset)).toEqual([5]);
});

it('while dead letters wait, a batch that was in the sink beside them may end, and none is handed over behind it', async () => {
  await withDeadLetters(1, { inFlightPerLane: 2 });
  const member = await rig.running();
  member.sink.hold = true;
  producer.faults.deliver = () => AWAY;
  rig.append(40);
  await rig.until(() => member.sink.open.length === 2, 'two in the sink');
  const [first, second] = member.sink.open;
  first?.answer(deadAt(5)(first));
  await rig.until(() => rig.lane(member).outage !== undefined, 'an outage');
  second?.store();
  await rig.clock.advance(20_000);
  expect([member.sink.offsets().length, rig.lane(member).outage?.why, rig.committed()]).toEqual([20, 'dead-letter', 5]);
  producer.faults = {};
  member.sink.hold = false;
  await rig.until(() => rig.committed() === 40, 'all is committed');
});

it('dead records of a batch whose bytes the sink let go are read again, since a dead letter without them would be none', async () => {
  await withDeadLetters();
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = (write) => {
    tries += 1;
    if (tries === 1) write.batch.release();
    return deadAt(2)(write);
  };
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'all is committed');
  expect(kinds(member.events, 'lane-reopened')).toHaveLength(1);
  expect(buried()[0]?.value).toHaveLength(10);
});

it('a lane that has stopped buries no more, whatever was still in the sink', async () => {
  const rule = { windowRecords: 1000, recordsPerKey: 1, minKeys: 5, minRecords: 5 };
  await withDeadLetters(1, { inFlightPerLane: 3 }, { keyOf: ({ via }) => `k${via.offset}`, wayOut: 'x', rule });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(30);
  await rig.until(() => member.sink.open.length === 3, 'three in the sink');
  const [first, second, third] = member.sink.open;
  for (const each of [second, third, first]) each?.answer(each.offsets.map(() => dead));
  await rig.clock.advance(20_000);
  expect([kinds(member.events, 'lane-halted').length, buried().length, rig.committed()]).toEqual([1, 0, 0]);
  expect(await rig.stop(member)).toMatchObject({ settledRecords: 0, abandonedRecords: 30 });
});

it('a revoke waits for dead letters that are on their way', async () => {
  await withDeadLetters();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  let open = (): void => {};
  producer.gate = new Promise((resolve) => {
    open = resolve;
  });
  rig.append(10);
  await rig.clock.advance(500);
  const stopping = rig.stop(member);
  await rig.clock.advance(500);
  open();
  expect(await stopping).toMatchObject({ settledRecords: 10, abandonedRecords: 0, committed: true });
});

it('on a declared side channel the origin’s coordinates count, and elsewhere its headers count for nothing', async () => {
  const origin = { topic: 'first', incarnation: 'abcdefgh', partition: 0, offset: 77, timestampMs: 1234 };
  for (const sideChannels of [[TOPIC], []]) {
    await withDeadLetters(1, { sideChannels });
    rig.cluster.createTopic(`first.${GROUP}.dlq`, 1);
    const member = await rig.running();
    member.sink.respond = deadAt(0);
    const headers = [['a', Buffer.from('1')]] as const;
    const notes = [['dlq.replays', Buffer.from('2')]] as const;
    rig.cluster.append(rig.tp(), encodeSideRecord({ origin, notes, key: null, value: Buffer.alloc(0), headers }));
    await rig.until(() => rig.committed() === 1, 'it is committed');
    if (sideChannels.length === 0) {
      expect(buried()[0]).toMatchObject({ origin: { topic: TOPIC, offset: 0 }, replays: 0, value: null });
      expect(buried()[0]?.headers.map(([name]) => name)).toContain('origin.topic');
    } else {
      const [record] = rig.cluster.records({ topic: `first.${GROUP}.dlq`, partition: 0 });
      const via = { topic: TOPIC, partition: 0, offset: 0 };
      expect(record && readDeadLetter(record)).toMatchObject({ origin, via, replays: 2, value: Buffer.alloc(0), headers });
    }
    await rig.stop(member);
  }
});

it('one bad key buries as much as it likes, and the lane goes on; when most keys fail at once it stops, names them, and loses nothing', async () => {
  const keyOf = ({ value, reason }: DeadLetter): string => `${reason} ${value?.toString()}`;
  await withDeadLetters(1, {}, { keyOf, wayOut: 'if the records are bad indeed, restart it without the halt' });
  const member = await rig.running();
  const bad = new Set(['s0']);
  member.sink.respond = ({ batch, offsets }) => offsets.map((_, i) => (bad.has(String(batch.value(i))) ? dead : STORED));
  const send = (count: number, services: number): void => {
    rig.cluster.append(rig.tp(), ...Array.from({ length: count }, (_, i) => ({ value: Buffer.from(`s${i % services}`) })));
  };
  send(2000, 1);
  send(2000, 20);
  await rig.until(() => rig.committed() === 4000, 'one bad service stops nobody');
  expect(buried()).toHaveLength(2100);
  for (let i = 0; i < 20; i += 1) bad.add(`s${i}`);
  send(5000, 20);
  await rig.until(() => rig.lane(member).phase === 'halted', 'it stops');
  const stoppedAt = rig.committed() ?? 0;
  // About half of the window had to turn bad first.
  expect(stoppedAt - 4000).toBeGreaterThan(400);
  expect(stoppedAt - 4000).toBeLessThan(700);
  expect(rig.lane(member).halted).toMatch(
    new RegExp(
      `^Group ${GROUP} stopped this partition: of the last 1000 records of ${TOPIC}, partition 0, \\d+ are dead, under 20 keys ` +
        `\\((not-json s\\d+: \\d+, ){4}not-json s\\d+: \\d+ and 15 more\\), which looks like a fault of its own\\. ` +
        `Put it right and restart it: it reads on from offset ${stoppedAt}; if the records are bad indeed, restart it without the halt\\.$`,
    ),
  );
  expect(runtimeHealth(member.runtime, rig.clock.nowMs())).toMatchObject({ state: 'degraded', sentence: rig.lane(member).halted });
  await rig.clock.advance(60_000);
  expect(rig.committed()).toBe(stoppedAt);
  await rig.stop(member);
  bad.clear();
  await rig.running();
  await rig.until(() => rig.committed() === 9000, 'put right and restarted, it reads on');
  expect(buried()).toHaveLength(2100 + stoppedAt - 4000);
});
