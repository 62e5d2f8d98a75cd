import { afterEach, expect, it } from 'vitest';
import type { DeliveryFault } from '../broker/broker-producer.ts';
import { runtimeHealth } from '../observe/runtime-health.ts';
import type { OutgoingRecord } from '../publish/contract.ts';
import { readDeadLetter } from '../recover/dead-letter.ts';
import { encodeSideRecord } from '../recover/side-record.ts';
import { DEAD, DeadLetterRig } from '../testing/dead-letter-rig.ts';
import { GROUP, kinds, TOPIC } from '../testing/runtime-rig.ts';
import { type Outcome, STORED } from './contract.ts';

const AWAY: DeliveryFault = { reason: 'not now', certain: true, own: false };
const TOO_LARGE: DeliveryFault = { reason: 'too large', certain: true, own: true };

let rig = new DeadLetterRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const deadAt =
  (...at: readonly number[]) =>
  ({ offsets }: { offsets: readonly number[] }): Outcome[] =>
    offsets.map((offset) => (at.includes(offset) ? DEAD : STORED));

it('I7 a dead record is settled only after its dead letter is acknowledged, and nothing commits past it before', async () => {
  rig = await DeadLetterRig.open();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  let open = (): void => {};
  rig.producer.gate = new Promise((resolve) => {
    open = resolve;
  });
  rig.append(10);
  await rig.clock.advance(20_000);
  expect([rig.committed(), rig.lane(member).unsettled]).toEqual([5, 1]);
  open();
  await rig.until(() => rig.committed() === 10, 'all is committed');
  expect(rig.buried()).toHaveLength(1);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 10, settledRecords: 10, abandonedRecords: 0, committed: true });
});

it('a dead letter has the original bytes, where it stood, why, and which try it was', async () => {
  rig = await DeadLetterRig.open(3);
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = ({ offsets }) => {
    tries += 1;
    if (tries === 1) throw new Error('away');
    return offsets.map(() => DEAD);
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
  const [record] = rig.cluster.records({ topic: `${TOPIC}.${GROUP}.dlq`, partition: 2 });
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
  expect(rig.buried(2)[0]).toMatchObject({ ...original, origin: { topic: TOPIC, partition: 2, offset: 0 }, attempts: 2 });
});

it('a publish that fails for the moment is an outage: the lane waits, nothing passes, and it goes on by itself', async () => {
  rig = await DeadLetterRig.open(2);
  const member = await rig.running();
  await rig.until(() => rig.lane(member, 1).phase === 'running', 'both run');
  member.sink.respond = (write) => (write.partition === 0 ? deadAt(3)(write) : write.offsets.map(() => STORED));
  rig.producer.faults.deliver = () => AWAY;
  rig.append(10, 0);
  await rig.until(() => rig.lane(member).outage !== undefined, 'an outage');
  rig.append(20, 0);
  rig.append(20, 1);
  await rig.clock.advance(20_000);
  expect(member.sink.offsets(0)).toHaveLength(10);
  expect([rig.committed(0), rig.committed(1)]).toEqual([3, 20]);
  expect(rig.lane(member).outage).toMatchObject({ why: 'dead-letter', reason: expect.stringContaining('not now') });
  expect(runtimeHealth(member.runtime, undefined, rig.clock.nowMs())).toMatchObject({
    state: 'degraded',
    sentence: expect.stringContaining('not now'),
  });
  rig.producer.faults = {};
  await rig.until(() => rig.committed(0) === 30, 'it went on');
  expect(rig.buried()).toHaveLength(1);
  expect([rig.lane(member).outage, rig.lane(member).bufferedBytes]).toEqual([undefined, 0]);
});

it('records to try again and dead ones in one batch: each is settled once, in whatever order they come through', async () => {
  rig = await DeadLetterRig.open(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = ({ offsets }) => {
    tries += 1;
    return offsets.map((offset) => (offset % 5 === 3 && tries < 8 ? { kind: 'retry', reason: 'busy' } : offset % 5 === 1 ? DEAD : STORED));
  };
  let failing = 4;
  rig.producer.faults.deliver = () => {
    failing -= 1;
    return failing > 0 ? AWAY : undefined;
  };
  rig.appendDifferent(50);
  await rig.until(() => rig.committed() === 50, 'all is committed');
  expect(rig.buried()).toHaveLength(10);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 50, settledRecords: 50, abandonedRecords: 0 });
});

it('what is refused even as a dead letter is stored apart, and settled only then', async () => {
  rig = await DeadLetterRig.open();
  const member = await rig.running();
  member.sink.respond = deadAt(2, 4);
  rig.producer.faults.deliver = ({ headers }: OutgoingRecord) =>
    headers?.some(([name, value]) => name === 'dlq.source.offset' && String(value) === '4') ? TOO_LARGE : undefined;
  rig.storeFault = new Error('the bucket is away');
  rig.appendDifferent(10);
  await rig.clock.advance(10_000);
  expect([rig.committed(), rig.stored.length, rig.buried().length]).toEqual([4, 0, 1]);
  expect(rig.lane(member).outage).toMatchObject({
    why: 'dead-letter',
    reason: 'a dead record that was refused can not be stored apart: the bucket is away',
  });
  rig.storeFault = undefined;
  await rig.until(() => rig.committed() === 10, 'all is committed');
  expect(rig.stored).toEqual([{ letter: expect.objectContaining({ reason: 'not-json', attempts: 1 }), why: 'too large' }]);
  expect(rig.stored[0]?.letter.origin.offset).toBe(4);
  expect(kinds(member.events, 'dead-lettered', 'unsendable')).toEqual([
    { kind: 'dead-lettered', lane: rig.tp(), reason: 'not-json', records: 1 },
    { kind: 'unsendable', lane: rig.tp(), offset: 4, reason: 'not-json', why: 'too large' },
  ]);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 10, settledRecords: 10, abandonedRecords: 0 });
});

it('a lane that is given back while its dead letters can not be written leaves them to the next owner, and loses no time', async () => {
  rig = await DeadLetterRig.open();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  rig.producer.faults.deliver = () => AWAY;
  rig.append(10);
  await rig.until(() => (rig.lane(member).outage?.attempts ?? 0) > 7, 'some tries');
  const startedMs = rig.clock.nowMs();
  expect(await rig.stop(member)).toMatchObject({ settledRecords: 9, abandonedRecords: 1, committed: true });
  expect(rig.clock.nowMs() - startedMs).toBeLessThan(1000);
  expect(rig.committed()).toBe(5);
  rig.producer.faults = {};
  const next = await rig.running();
  next.sink.respond = deadAt(5);
  await rig.until(() => rig.committed() === 10, 'the next owner has done it');
  expect(rig.buried().map((letter) => letter?.origin.offset)).toEqual([5]);
});

it('while dead letters wait, a batch that was in the sink beside them may end, and none is handed over behind it', async () => {
  rig = await DeadLetterRig.open(1, { inFlightPerLane: 2 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.producer.faults.deliver = () => AWAY;
  rig.append(40);
  await rig.until(() => member.sink.open.length === 2, 'two in the sink');
  const [first, second] = member.sink.open;
  first?.answer(deadAt(5)(first));
  await rig.until(() => rig.lane(member).outage !== undefined, 'an outage');
  second?.store();
  await rig.clock.advance(20_000);
  expect([member.sink.offsets().length, rig.lane(member).outage?.why, rig.committed()]).toEqual([20, 'dead-letter', 5]);
  rig.producer.faults = {};
  member.sink.hold = false;
  await rig.until(() => rig.committed() === 40, 'all is committed');
});

it('dead records of a batch whose bytes the sink let go are read again, since a dead letter without them would be none', async () => {
  rig = await DeadLetterRig.open();
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
  expect(rig.buried()[0]?.value).toHaveLength(10);
});

it('a revoke waits for dead letters that are on their way', async () => {
  rig = await DeadLetterRig.open();
  const member = await rig.running();
  member.sink.respond = deadAt(5);
  let open = (): void => {};
  rig.producer.gate = new Promise((resolve) => {
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
    rig = await DeadLetterRig.open(1, { sideChannels });
    rig.cluster.createTopic(`first.${GROUP}.dlq`, 1);
    const member = await rig.running();
    member.sink.respond = deadAt(0);
    const headers = [['a', Buffer.from('1')]] as const;
    const notes = [['dlq.replays', Buffer.from('2')]] as const;
    rig.cluster.append(rig.tp(), encodeSideRecord({ origin, notes, key: null, value: Buffer.alloc(0), headers }));
    await rig.until(() => rig.committed() === 1, 'it is committed');
    if (sideChannels.length === 0) {
      expect(rig.buried()[0]).toMatchObject({ origin: { topic: TOPIC, offset: 0 }, replays: 0, value: null });
      expect(rig.buried()[0]?.headers.map(([name]) => name)).toContain('origin.topic');
    } else {
      const [record] = rig.cluster.records({ topic: `first.${GROUP}.dlq`, partition: 0 });
      const via = { topic: TOPIC, partition: 0, offset: 0 };
      expect(record && readDeadLetter(record)).toMatchObject({ origin, via, replays: 2, value: Buffer.alloc(0), headers });
    }
    await rig.stop(member);
  }
});
