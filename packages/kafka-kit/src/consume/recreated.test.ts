import { afterEach, expect, it } from 'vitest';
import type { GapPolicy } from '../recover/gap-policy.ts';
import { chain, gapsOf, recorder } from '../testing/gap-sinks.ts';
import { GROUP, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const RECORD: GapPolicy = { kind: 'record-and-go-on' };
const log = () => rig.cluster.log(rig.tp());
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

it('recreated while it runs, record-and-go-on: told on the old lane at the end of what is proven, then the new topic is read from its start', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD, inFlightPerLane: 100 });
  const member = await rig.running(sink);
  sink.hold = true;
  rig.append(10);
  // The comparison of ids every 10 s proves these ten; those that follow are proven by nothing.
  await rig.clock.advance(10_500);
  rig.append(7);
  await rig.until(() => sink.open.length === 2, 'two batches');
  rig.cluster.recreateTopic(TOPIC);
  sink.hold = false;
  rig.append(4);
  await rig.until(() => sink.offsets().length === 21, 'the new topic is read', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 16']);
  expect(sink.writes.at(-1)?.batch.source.incarnation).toBe('mem00002');
  expect(sink.offsets()).toEqual([...range(0, 17), ...range(0, 4)]);
  // What the old lane's batches are answered with settles nothing of the new one.
  for (const write of [...sink.open]) write.store();
  await rig.until(() => rig.committed() === 4, 'the new topic is committed');
  expect(gapsOf(member)).toEqual(['recreated 10-10 recorded']);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 21, settledRecords: 4, abandonedRecords: 17, committed: true });
});

it('recreated: what is delivered while a look-up is under way is not proven by its answer', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => sink.offsets().length === 10, 'ten records');
  const incarnation = member.consumer.incarnation.bind(member.consumer);
  let asked = 0;
  member.consumer.incarnation = async (topic) => {
    const answer = await incarnation(topic);
    asked += 1;
    if (asked === 1) await rig.clock.sleep(500);
    return answer;
  };
  await rig.until(() => asked === 1, 'the comparison of ids');
  rig.append(7);
  await rig.until(() => sink.offsets().length === 17, 'seven more');
  await rig.clock.advance(1000);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => told.length === 1, 'told', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 16']);
});

it('recreated: a commit of the old life that was never answered holds up no stop', async () => {
  const { sink, told } = chain();
  const { assign } = sink;
  sink.assign = async (lane) => {
    // Where the new topic begins can not be told yet, so nothing of it takes the place of that commit.
    if (lane.incarnation !== 'mem00001') throw new Error('the ledger is away');
    return assign?.(lane);
  };
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  member.consumer.commitsUnanswered = true;
  rig.append(10);
  await rig.until(() => sink.offsets().length === 10, 'ten records');
  await rig.clock.advance(1000);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => told.length === 1, 'told', 60_000);
  expect(await rig.stop(member)).toMatchObject({ committed: true, closed: true });
});

it('recreated: what waits behind the end of what is proven is never handed over', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD, inFlightPerLane: 1, batch: { maxRecords: 8, maxBytes: 1_000_000, maxAgeMs: 100 } });
  const member = await rig.running(sink);
  sink.hold = true;
  rig.append(20);
  await rig.clock.advance(10_500);
  rig.append(15);
  await rig.clock.advance(500);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => rig.lane(member).phase === 'ending', 'ending', 60_000);
  // [0,8) is in the sink, [8,16) and [16,20) are proven, what was delivered in one batch with 20 to 23 is cut.
  for (let i = 0; i < 3; i += 1) {
    await rig.until(() => sink.open.length === 1, `batch ${i}`);
    expect(told).toEqual([]);
    sink.waiting.store();
  }
  await rig.until(() => rig.lane(member).phase === 'running', 'the new lane');
  expect(told).toEqual(['recreated 20-20 of mem00001 after 19']);
  expect([sink.offsets(), rig.lane(member).bufferedBytes, rig.committed()]).toEqual([range(0, 20), 0, null]);
});

it('recreated between two ownerships of one process, record-and-go-on: the sink is told before it is asked where the new one begins', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.clock.advance(10_500);
  const { assign } = sink;
  sink.assign = async (lane) => {
    told.push(`assign of ${lane.incarnation}`);
    return assign?.(lane);
  };
  rig.cluster.recreateTopic(TOPIC);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 10 });
  member.consumer.endSession();
  await rig.until(() => member.runtime.lanes().length === 0, 'lost');
  rig.append(30);
  await rig.until(() => sink.offsets().length === 40, 'the new topic is read', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 9', 'assign of mem00002']);
  expect(sink.offsets()).toEqual([...range(0, 10), ...range(0, 30)]);
});

it('a new life that has lost its beginning already is told as expired, not passed over', async () => {
  const { sink, told } = recorder();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  rig.cluster.recreateTopic(TOPIC);
  rig.append(30);
  log().deleteBefore(12);
  await rig.until(() => rig.committed() === 30, 'the new topic is read', 60_000);
  expect(told.map((each) => each.replace(/ after.*/, ''))).toEqual(['recreated 0-0 of mem00001', 'expired 0-12 of mem00002']);
  expect(sink.offsets()).toEqual([...range(0, 10), ...range(12, 30)]);
  expect(gapsOf(member)).toHaveLength(2);
});

it('a partition that is given back while the end of its topic is told begins no second lane', async () => {
  const { sink } = chain();
  let told = (): void => {};
  let asked = 0;
  sink.gap = () => {
    asked += 1;
    return new Promise((resolve) => (told = resolve));
  };
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => asked === 1, 'told', 60_000);
  const other = rig.member(recorder().sink);
  await rig.start(other);
  rig.cluster.group(GROUP).move(rig.tp(), other.consumer.id);
  await rig.until(() => other.runtime.lanes().length === 1, 'given away');
  told();
  await rig.clock.advance(1000);
  expect(member.runtime.lanes()).toEqual([]);
});
