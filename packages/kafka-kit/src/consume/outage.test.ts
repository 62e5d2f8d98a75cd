import { afterEach, expect, it } from 'vitest';
import { BrokerError } from '../broker/broker-consumer.ts';
import { kinds, type Member, RuntimeRig } from '../testing/runtime-rig.ts';
import { type Outcome, STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const polls = (member: Member): number => kinds(member.events, 'polled').length;

it('an outage hands nothing over behind the batch that threw, pauses its lane, and goes on polling', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let out = true;
  member.sink.respond = ({ offsets }) => {
    if (out && offsets[0] === 10) throw new Error('the store is away');
    return offsets.map(() => STORED);
  };
  rig.append(50);
  await rig.until(() => rig.lane(member).outage !== undefined, 'the outage');
  await rig.clock.advance(20_000);
  const { outage, paused } = rig.lane(member);
  expect({ why: outage?.why, reason: outage?.reason, paused }).toEqual({ why: 'sink', reason: 'the store is away', paused: true });
  expect(new Set(member.sink.writes.slice(1).map(({ offsets }) => offsets[0]))).toEqual(new Set([10]));
  const before = polls(member);
  await rig.clock.advance(1000);
  expect(polls(member) - before).toBeGreaterThanOrEqual(10);
  out = false;
  await rig.until(() => rig.committed() === 50, 'it goes on by itself');
  expect(rig.lane(member)).toMatchObject({ outage: undefined, paused: false });
  expect(kinds(member.events, 'recovered')).toHaveLength(1);
});

it('waits longer from try to try', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  const atMs: number[] = [];
  member.sink.respond = () => {
    atMs.push(rig.clock.nowMs());
    throw new Error('away');
  };
  rig.append(10);
  await rig.clock.advance(20_000);
  const waits = atMs.slice(1).map((ms, i) => ms - (atMs[i] ?? 0));
  // 100, 200, 400 … 5000 ms, each noticed by the next turn, which a poll of 50 ms may hold up.
  [100, 200, 400, 800, 1600, 3200, 5000].forEach((wait, i) => {
    expect(waits[i]).toBeGreaterThanOrEqual(wait);
    expect(waits[i]).toBeLessThanOrEqual(wait + 120);
  });
});

it('a sink that throws before its first await is an outage like any other', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  const write = member.sink.write.bind(member.sink);
  let calls = 0;
  member.sink.write = (batch, signal) => {
    calls += 1;
    if (calls === 1) throw new TypeError('no promise');
    return write(batch, signal);
  };
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'the second try');
  expect(calls).toBe(2);
});

it('several batches that threw are handed over again in offset order, one at a time, before anything behind them', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(50);
  await rig.until(() => member.sink.open.length === 3, 'three batches in the sink');
  const [first, second, third] = member.sink.open;
  third?.fail('c');
  await rig.clock.advance(10);
  first?.fail('a');
  await rig.clock.advance(10);
  second?.store();
  await rig.clock.advance(1000);
  expect(member.sink.waiting.offsets[0]).toBe(0);
  await rig.clock.advance(10_000);
  // The lane owes [0,10) and [20,30); [30,40) waits behind them.
  member.sink.waiting.store();
  await rig.clock.advance(1000);
  expect(member.sink.waiting.offsets[0]).toBe(20);
  member.sink.waiting.store();
  await rig.clock.advance(1000);
  expect(member.sink.open.map(({ offsets }) => offsets[0])).toEqual([30, 40]);
  expect(rig.committed()).toBe(30);
});

it('a release that comes after its batch failed frees nothing of the next try', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(10);
  await rig.until(() => member.sink.open.length === 1, 'the batch');
  const first = member.sink.waiting;
  first.fail('away');
  await rig.until(() => rig.lane(member).outage !== undefined, 'the outage is noticed');
  first.batch.release();
  await rig.until(() => member.sink.open.length === 1, 'the batch again');
  const held = rig.lane(member).bufferedBytes;
  expect(held).toBeGreaterThan(0);
  first.batch.release();
  expect(rig.lane(member).bufferedBytes).toBe(held);
  expect(member.sink.waiting.batch.value(9)).toEqual(Buffer.alloc(10, 1));
  member.sink.waiting.store();
  await rig.until(() => rig.lane(member).bufferedBytes === 0, 'every byte is let go');
});

it('a retry outcome is tried again alone and in place, for as long as it takes, with the lane waiting', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let tries = 0;
  member.sink.respond = ({ offsets }) =>
    offsets.map((offset): Outcome => {
      if (offset !== 4 && offset !== 7) return STORED;
      if (offset === 4) tries += 1;
      return tries > 12 ? STORED : { kind: 'retry', reason: 'shard' };
    });
  rig.append(30);
  await rig.until(() => tries === 12, 'twelve tries');
  expect(rig.lane(member).outage).toMatchObject({ why: 'retry', reason: 'shard' });
  expect(member.sink.writes.slice(1).map(({ offsets }) => offsets)).toEqual(Array.from({ length: 11 }, () => [4, 7]));
  expect(rig.committed()).toBe(4);
  await rig.until(() => rig.committed() === 30, 'the lane goes on');
});

it.each<[string, unknown]>([
  ['too few outcomes', [STORED]],
  ['too many outcomes', Array.from({ length: 11 }, () => STORED)],
  ['an unknown kind', Array.from({ length: 10 }, () => ({ kind: 'fine' }))],
  ['a skip without a reason', Array.from({ length: 10 }, () => ({ kind: 'skipped' }))],
  ['undefined', undefined],
  ['a string of the right length', 'ssssssssss'],
  ['holes', Object.assign(new Array(10), { 0: STORED, 9: STORED })],
  ['null among outcomes', [...Array.from({ length: 9 }, () => STORED), null]],
])('%s is an outage: nothing is settled', async (_, nonsense) => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let sane = false;
  member.sink.respond = ({ offsets }) => (sane ? offsets.map(() => STORED) : (nonsense as readonly Outcome[]));
  rig.append(10);
  await rig.clock.advance(5000);
  expect(rig.committed()).toBe(0);
  expect(rig.lane(member).outage?.reason).toMatch(/^sink scripted answered .* for 10 records$/);
  sane = true;
  await rig.until(() => rig.committed() === 10, 'the same batch, answered well');
});

it('an outage of one lane does not hold up the others', async () => {
  rig = new RuntimeRig(3);
  const member = await rig.running();
  member.sink.respond = ({ offsets, partition }) => {
    if (partition === 1) throw new Error('only this one');
    return offsets.map(() => STORED);
  };
  for (const partition of [0, 1, 2]) rig.append(100, partition);
  await rig.until(() => rig.committed(0) === 100 && rig.committed(2) === 100, 'the others');
  expect(rig.committed(1)).toBe(0);
});

it('an outage ends at the latest when the lane is revoked: what it owes is the next owner’s', async () => {
  rig = new RuntimeRig(2);
  const one = await rig.running();
  one.sink.respond = () => {
    throw new Error('away');
  };
  rig.append(20, 1);
  await rig.until(() => rig.lane(one, 1).outage !== undefined, 'the outage');
  const two = rig.member();
  await rig.start(two);
  await rig.until(() => rig.committed(1) === 20, 'the second has stored all of it');
  expect(kinds(one.events, 'drained')).toEqual([expect.objectContaining({ why: 'revoke', abandonedRecords: 20 })]);
  const handedOver = one.sink.writes.length;
  await rig.clock.advance(10_000);
  expect(one.sink.writes.length).toBe(handedOver);
});

it('a poll that rejects loses nothing, and a fatal one ends the runtime with the truth', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(15);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  member.consumer.failPoll(new BrokerError('max.poll exceeded', -147, false));
  await rig.clock.advance(200);
  expect(kinds(member.events, 'broker-error')).toHaveLength(1);
  expect(member.runtime.state.kind).toBe('running');
  let ended: Error | undefined;
  member.runtime.finished.catch((error: Error) => {
    ended = error;
  });
  member.consumer.failPoll(new BrokerError('fenced', -150, true));
  await rig.until(() => ended !== undefined, 'the end');
  expect(ended?.message).toBe('fenced');
  expect(member.runtime.state).toMatchObject({ kind: 'failed', report: { deliveredRecords: 15, settledRecords: 0, abandonedRecords: 15 } });
  expect([member.sink.waiting.signal.aborted, member.sink.closed, member.runtime.lanes()]).toEqual([true, 1, []]);
  expect(await rig.stop(member)).toMatchObject({ abandonedRecords: 15 });
});

it('a first connection that fails rejects the start, and a stop behind it returns', async () => {
  rig = new RuntimeRig();
  const member = rig.member();
  rig.cluster.down = true;
  const started = member.runtime.start().then(
    () => 'started',
    (error: Error) => error.message,
  );
  await rig.clock.advance(2000);
  expect(await started).toBe('the cluster does not answer');
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 0 });
  expect(member.runtime.state.kind).toBe('failed');
  expect(member.sink.closed).toBe(0);
});
