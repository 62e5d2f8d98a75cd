import { afterEach, beforeEach, expect, it } from 'vitest';
import { POSITIONS, PositionsRig } from '../testing/positions-rig.ts';
import { GROUP, kinds, type Member, TOPIC } from '../testing/runtime-rig.ts';

let rig: PositionsRig;
beforeEach(async () => {
  rig = await PositionsRig.open();
});
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const commitAt = (nextToRead: number, partition = 0): void => rig.cluster.group(GROUP).setCommitted({ ...rig.tp(partition), nextToRead });
const outcomes = ({ events }: Member): string[] =>
  kinds(events, 'positions').map((event) => (event.kind === 'positions' ? `${event.outcome} ${event.count}` : ''));
const read = (member: Member, count: number, partition = 0): Promise<void> =>
  rig.until(() => member.sink.offsets(partition).length >= count, `${count} records are read`);

it('a position is written once a minute at most while it moves, and again when the group stops, behind its commit', async () => {
  commitAt(0);
  const member = await rig.running();
  await rig.until(() => rig.written().length === 1, 'kept at once');
  for (let i = 0; i < 150; i += 1) {
    rig.append(1);
    await rig.clock.advance(1000);
  }
  expect(rig.written().length).toBe(3);
  rig.append(3);
  await rig.until(() => member.sink.offsets().length === 153, 'read');
  expect(await rig.stop(member)).toMatchObject({ committed: true, closed: true });
  expect([rig.committed(), rig.written().at(-1), rig.written().length]).toEqual([153, 'mem00001:153', 4]);
});

it('a position is never ahead of the broker’s word on the commit', async () => {
  rig.append(50);
  commitAt(0);
  const member = rig.member();
  member.consumer.commitsUnanswered = true;
  await rig.start(member);
  await read(member, 50);
  await rig.clock.advance(120_000);
  expect(rig.written()).toEqual(['mem00001:0']);
});

it('a rebalance in the middle: what was given back is kept at once, and the next owner goes on there when Kafka forgets', async () => {
  rig = await PositionsRig.open(2);
  for (const partition of [0, 1]) rig.append(50, partition);
  const first = await rig.running();
  await rig.until(() => rig.committed(0) === 50 && rig.committed(1) === 50, 'read');
  await rig.until(() => rig.written(1).length === 2, 'kept');
  rig.append(10, 1);
  await read(first, 60, 1);
  const second = await rig.running();
  const moved = second.runtime.lanes()[0]?.partition ?? -1;
  const own = moved === 1 ? 'mem00001:60' : 'mem00001:50';
  await rig.until(() => rig.written(moved).at(-1) === own, 'the position of what was given back');
  await rig.stop(first);
  await rig.stop(second);
  rig.cluster.group(GROUP).forget(TOPIC);
  const third = await rig.running();
  await rig.until(() => third.runtime.lanes().every(({ phase }) => phase === 'running'), 'open');
  expect(third.runtime.lanes().map(({ nextToRead }) => nextToRead)).toEqual([50, 60]);
  expect(third.sink.offsets()).toEqual([]);
});

it('lanes that open at the same time share one reading', async () => {
  rig = await PositionsRig.open(6);
  for (let partition = 0; partition < 6; partition += 1) commitAt(0, partition);
  const member = await rig.running();
  await rig.until(() => member.runtime.lanes().every(({ phase }) => phase === 'running'), 'all are open');
  expect(rig.readings).toBe(1);
});

it('records that nobody can read, and those of others, are passed; ours are counted', async () => {
  const place = { topic: POSITIONS, partition: 0 };
  rig.cluster.append(place, { key: null, value: Buffer.from('x') }, { key: Buffer.from('["sent",1]'), value: Buffer.from('x') });
  rig.append(50);
  rig.keep(40);
  rig.cluster.append(place, { key: Buffer.from(`["position","${GROUP}","${TOPIC}",0]`), value: Buffer.from('{"next":3}') });
  const member = await rig.running();
  await read(member, 10);
  expect([member.sink.offsets()[0], outcomes(member)[0]]).toEqual([40, 'unreadable 2']);
});

it('a tombstone drops the position', async () => {
  rig.append(50);
  rig.keep(40);
  const key = Buffer.from(`["position","${GROUP}","${TOPIC}",0]`);
  rig.cluster.append({ topic: POSITIONS, partition: 0 }, { key, value: null });
  const member = await rig.running();
  await read(member, 50);
  expect(member.sink.offsets()[0]).toBe(0);
});

it('the topic is away: a lane with a commit opens by it; one without waits, says so, and goes on when it is back', async () => {
  rig = await PositionsRig.open(2);
  for (const partition of [0, 1]) rig.append(5, partition);
  commitAt(2);
  rig.cluster.deleteTopic(POSITIONS);
  const member = await rig.running();
  await rig.until(() => rig.committed(0) === 5, 'the one with a commit');
  await rig.clock.advance(30_000);
  expect(rig.lane(member, 1)).toMatchObject({
    phase: 'opening',
    outage: { why: 'open', reason: expect.stringMatching(/positions of group readers can not be read .*npx tailrace topics apply/) },
  });
  expect(member.runtime.state.kind).toBe('running');
  expect(outcomes(member)).toContain('not-read 1');
  rig.cluster.createTopic(POSITIONS, 1);
  await rig.until(() => rig.committed(1) === 5, 'the other one');
});

it('a slow topic: a lane with a commit does not wait for it for ever', async () => {
  rig.append(5);
  commitAt(2);
  rig.gate = new Promise(() => {});
  const member = await rig.running();
  await read(member, 3);
  expect(member.sink.offsets()).toEqual([2, 3, 4]);
});

it('positions that can not be written are tried again and counted, and hold up no record', async () => {
  rig.append(50);
  commitAt(0);
  rig.producer.faults.deliver = () => ({ reason: 'no such topic', certain: true, own: false });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 50, 'read all the same');
  await rig.clock.advance(30_000);
  expect(rig.written()).toEqual([]);
  expect(outcomes(member).filter((each) => each === 'not-written 1').length).toBeGreaterThan(3);
  rig.producer.faults = {};
  await rig.until(() => rig.written().at(-1) === 'mem00001:50', 'kept in the end');
  expect(rig.lane(member).outage).toBeUndefined();
});

it('I6 a stop does not wait for positions beyond its time, and is not said to be incomplete for them', async () => {
  rig.append(50);
  commitAt(0);
  const member = await rig.running();
  await rig.until(() => rig.written().length === 1 && rig.committed() === 50, 'read');
  rig.producer.gate = new Promise(() => {});
  const startedMs = rig.clock.nowMs();
  expect(await rig.stop(member)).toMatchObject({ committed: true, closed: true, abandonedRecords: 0 });
  expect(rig.clock.nowMs() - startedMs).toBeLessThan(8000);
});
