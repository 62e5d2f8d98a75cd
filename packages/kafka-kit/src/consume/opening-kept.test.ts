import { afterEach, beforeEach, expect, it } from 'vitest';
import { recorder } from '../testing/gap-sinks.ts';
import { PositionsRig } from '../testing/positions-rig.ts';
import { GROUP, type Member, TOPIC } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig: PositionsRig;
beforeEach(async () => {
  rig = await PositionsRig.open();
});
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const commitAt = (nextToRead: number, partition = 0): void => rig.cluster.group(GROUP).setCommitted({ ...rig.tp(partition), nextToRead });
const read = (member: Member, count: number, partition = 0): Promise<void> =>
  rig.until(() => member.sink.offsets(partition).length >= count, `${count} records are read`);

it('a commit counts, also where the position is above it, and the position follows', async () => {
  rig.append(50);
  rig.keep(40);
  commitAt(12);
  const member = await rig.running();
  await read(member, 38);
  expect(member.sink.offsets()[0]).toBe(12);
  await rig.until(() => rig.written().includes('mem00001:12'), 'a reset is kept');
});

it('a commit without a position counts, and is kept before it moves', async () => {
  rig.append(50);
  commitAt(50);
  await rig.running();
  await rig.until(() => rig.written().length === 1, 'kept');
  expect(rig.written()).toEqual(['mem00001:50']);
});

it('only a position: it counts, and is not written again as it was', async () => {
  rig.append(50);
  rig.keep(40);
  const member = await rig.running();
  await read(member, 10);
  expect(member.sink.offsets()[0]).toBe(40);
  await rig.until(() => rig.written().includes('mem00001:50'), 'it follows the commit');
  expect(rig.written()).toEqual(['mem00001:40', 'mem00001:50']);
});

it('I9 only a position, and the log begins above it: the records between are missing, not passed', async () => {
  rig.append(50);
  rig.cluster.log(rig.tp()).deleteBefore(30);
  rig.keep(20);
  const member = await rig.running();
  expect(rig.lane(member).halted).toMatch(/needs offsets 20 to 29 of events, partition 0, which Kafka no longer holds/);
});

it('neither for the partition, but another one has a position: the log’s start, whatever the start policy says', async () => {
  rig = await PositionsRig.open(2, { start: 'latest' });
  for (const partition of [0, 1]) rig.append(50, partition);
  rig.cluster.log(rig.tp(1)).deleteBefore(5);
  rig.keep(50);
  const member = await rig.running();
  await read(member, 45, 1);
  expect([member.sink.offsets(0), member.sink.offsets(1)[0]]).toEqual([[], 5]);
});

it('neighbours where the group has only just begun say nothing: a new group starts where its start says', async () => {
  rig = await PositionsRig.open(2, { start: 'latest' });
  for (const partition of [0, 1]) rig.append(50, partition);
  rig.keep(50, 0, { first: true });
  const member = await rig.running();
  await rig.until(() => rig.lane(member, 1).phase === 'running', 'open');
  expect(rig.lane(member, 1).nextToRead).toBe(50);
});

it.each([
  ['earliest', 10],
  ['latest', 50],
] as const)('a new group with start %s keeps and commits its first position before it reads a record', async (start, at) => {
  rig = await PositionsRig.open(1, { start });
  rig.append(50);
  rig.cluster.log(rig.tp()).deleteBefore(10);
  const member = rig.member();
  let before: unknown;
  member.sink.respond = ({ offsets }) => {
    before ??= [offsets[0], rig.written(), rig.committed()];
    return offsets.map(() => STORED);
  };
  await rig.start(member);
  await rig.until(() => rig.lane(member).phase === 'running', 'open');
  rig.append(5);
  await rig.until(() => rig.committed() === 55, 'read');
  expect(before).toEqual([at, [`mem00001:${at} first`], at]);
});

it('a new group that is killed between its position and its commit begins where the position says', async () => {
  rig = await PositionsRig.open(1, { start: 'latest' });
  rig.append(50);
  const first = rig.member();
  first.consumer.commitsUnanswered = true;
  await rig.start(first);
  await rig.until(() => rig.written().length === 1, 'kept');
  first.consumer.kill();
  first.consumer.endSession();
  expect(rig.committed()).toBe(null);
  rig.append(20);
  const second = await rig.running();
  await read(second, 20);
  expect(second.sink.offsets()[0]).toBe(50);
});

it('a member that is killed between a commit and its position: the commit counts', async () => {
  rig.append(50);
  rig.keep(10);
  const first = await rig.running();
  await rig.until(() => rig.committed() === 50, 'committed');
  rig.append(10);
  await rig.until(() => rig.committed() === 60, 'committed further');
  first.consumer.kill();
  first.consumer.endSession();
  expect(rig.written().at(-1)).toBe('mem00001:50');
  rig.append(5);
  const second = await rig.running();
  await read(second, 5);
  expect(second.sink.offsets()[0]).toBe(60);
});

it('recreated: a topic that was made anew while the group was stopped halts by name, when a second look-up agrees, and after a restart too', async () => {
  rig.append(50);
  rig.keep(40);
  rig.cluster.recreateTopic(TOPIC);
  rig.append(90);
  const member = rig.member();
  await rig.start(member);
  await rig.clock.advance(9000);
  expect(rig.lane(member)).toMatchObject({ phase: 'opening', outage: { reason: expect.stringMatching(/made anew/) } });
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted');
  expect(rig.lane(member).halted).toMatch(/^Topic events was deleted and made anew while group readers .*--to earliest/);
  await rig.stop(member);
  const again = await rig.running();
  await rig.until(() => rig.lane(again).phase === 'halted', 'halted again');
  expect([...member.sink.offsets(), ...again.sink.offsets(), ...rig.written()]).toEqual(['mem00001:40']);
});

it('recreated: a late commit of the old life does not hide the new topic’s records', async () => {
  rig.append(50);
  rig.keep(40);
  rig.cluster.recreateTopic(TOPIC);
  rig.append(90);
  commitAt(45);
  const member = await rig.running();
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted');
});

it('recreated, record-and-go-on: told on the old life at its position, then the new topic is read and kept from its start', async () => {
  const { sink, told } = recorder();
  rig = await PositionsRig.open(1, { gaps: { kind: 'record-and-go-on' } });
  rig.append(50);
  rig.keep(40);
  rig.cluster.recreateTopic(TOPIC);
  rig.append(3);
  const member = await rig.running(sink);
  await read(member, 3);
  expect([told, sink.offsets()]).toEqual([['recreated 40-40 of mem00001 after nothing'], [0, 1, 2]]);
  await rig.until(() => rig.written().at(-1) === 'mem00003:3', 'the new life is kept', 90_000);
});

it('another topic id that a second look-up does not find again is no gap', async () => {
  rig.append(50);
  rig.keep(40, 0, { incarnation: 'zombie00' });
  const member = rig.member();
  await rig.start(member);
  await rig.until(() => rig.lane(member).outage !== undefined, 'a suspicion');
  rig.keep(30);
  await read(member, 20);
  expect(member.sink.offsets()[0]).toBe(30);
});

it('a lane whose id this process has read itself believes no older position', async () => {
  rig.append(50);
  const member = await rig.running();
  await rig.until(() => rig.committed() === 50, 'read');
  rig.keep(7, 0, { incarnation: 'zombie00' });
  rig.cluster.group(GROUP).forget(TOPIC);
  member.consumer.endSession();
  rig.append(1);
  await read(member, 101);
  expect(rig.lane(member).phase).toBe('running');
});

it('a sink with its own position keeps it, whatever is kept', async () => {
  rig.append(50);
  rig.keep(40, 0, { incarnation: 'zombie00' });
  const member = rig.member();
  member.sink.assign = async () => ({ startAt: 30 });
  await rig.start(member);
  await read(member, 20);
  expect(member.sink.offsets()[0]).toBe(30);
});

it('without the port nothing is kept, and no commit means a new group', async () => {
  rig.positions = undefined;
  rig.append(50);
  rig.keep(40);
  const member = await rig.running();
  await read(member, 50);
  expect([member.sink.offsets()[0], rig.readings, rig.written()]).toEqual([0, 0, ['mem00001:40']]);
});
