import { afterEach, expect, it } from 'vitest';
import { runtimeHealth } from '../observe/runtime-health.ts';
import { recorder } from '../testing/gap-sinks.ts';
import { RestoreRig, range, restoresOf } from '../testing/restore-rig.ts';
import { GROUP, kinds, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';

let rig = new RestoreRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

it('expired at the opening: reads from the history up to its end, and goes on from Kafka without a seam', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 20, kept: 70, start: 50 });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 100, 'all is committed');
  expect(member.sink.offsets()).toEqual(range(20, 100));
  expect(restoresOf(member)).toEqual(['expired 20-50 restored', 'ended 20-70 records 50 passed 0']);
  rig.append(5);
  await rig.until(() => rig.committed() === 105, 'it reads on');
  expect([rig.kept.readings, rig.kept.open]).toEqual([[{ partition: 0, from: 20 }], 0]);
});

it.each([true, false])('expired while it runs (records behind the hole: %s): behind what is in flight, in order', async (behind) => {
  rig = new RestoreRig(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(10);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  rig.append(30);
  rig.kept.archive(rig.log(), 40);
  rig.log().deleteBefore(40);
  if (behind) rig.append(5);
  await rig.until(() => restoresOf(member).length > 0, 'found');
  if (!behind) rig.append(5);
  await rig.clock.advance(2000);
  expect([rig.committed() ?? 0, member.sink.open.map(({ offsets }) => offsets[0])]).toEqual([0, [0, 10, 20]]);
  member.sink.hold = false;
  for (const write of [...member.sink.open]) write.store();
  await rig.until(() => rig.committed() === 45, 'it reads on');
  expect(member.sink.offsets()).toEqual(range(0, 45));
  expect(restoresOf(member)).toEqual(['expired 10-40 restored', 'ended 10-40 records 30 passed 0']);
});

it('what is not archived yet is waited for, asked for every 30 s, and named in health', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 20, kept: 30, start: 50 });
  const member = await rig.running();
  await rig.until(() => restoresOf(member).length === 2, 'it waits');
  expect(restoresOf(member)).toEqual(['expired 20-50 restored', 'waits 30-50']);
  await rig.until(() => rig.committed() === 30, 'what there was is settled');
  await rig.clock.advance(70_000);
  // At the begin, and once each 30 s.
  expect(rig.kept.readings.map(({ from }) => from)).toEqual([20, 30, 30]);
  expect(rig.lane(member)).toMatchObject({
    phase: 'restoring',
    restore: { from: 20, next: 30, logStart: 50, records: 10 },
    halted: undefined,
  });
  const health = runtimeHealth(member.runtime, { kafka: 'Kafka', sink: 'the sink', history: 'the lake' }, rig.clock.nowMs());
  expect(health.state).toBe('degraded');
  expect(health.sentence).toMatch(
    /^events, partition 0 has been waiting for offsets 30 to 49 since .*: Kafka no longer holds that, and it is not in the lake yet\./,
  );
  const archived = rig.clock.nowMs();
  rig.kept.of(rig.tp()).push(...rig.log().read(30, 10).records);
  await rig.until(() => rig.committed() === 40, 'ten more');
  expect(rig.clock.nowMs() - archived).toBeLessThan(31_000);
  await rig.clock.advance(5000);
  expect(restoresOf(member).slice(2)).toEqual(['waits 40-50']);
  rig.kept.archive(rig.log(), 100);
  rig.kept.of(rig.tp()).splice(40, 10, ...rig.log().read(40, 10).records);
  await rig.until(() => rig.committed() === 100, 'it goes on');
  expect(member.sink.offsets()).toEqual(range(20, 100));
});

it('declared losses are passed with a count, voids in silence, the sink told of both in their place', async () => {
  const { sink, told } = recorder();
  rig = new RestoreRig();
  rig.append(60);
  rig.log().removeAt([...range(10, 15), 33]);
  rig.kept.archive(rig.log(), 60);
  rig.kept.of(rig.tp()).fill('before-archive', 0, 5).fill('lost', 20, 30);
  rig.log().deleteBefore(55);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 2 });
  const member = await rig.running(sink);
  await rig.until(() => rig.committed() === 60, 'all is committed');
  expect(sink.offsets()).toEqual([...range(5, 10), ...range(15, 20), ...range(30, 33), ...range(34, 60)]);
  expect(told.map((each) => each.replace('of mem00001 ', ''))).toEqual([
    'expired 2-5 after nothing',
    'void 10-15 after 9',
    'expired 20-30 after 19',
    'void 33-34 after 32',
  ]);
  expect(restoresOf(member)).toEqual([
    'expired 2-55 restored',
    'passed 2-5 before-archive',
    'void 10-15 void',
    'passed 20-30 lost',
    'void 33-34 void',
    'ended 2-60 records 39 passed 13',
  ]);
});

it('the last of a history may be a loss: the commit passes it also when nothing comes behind it', async () => {
  rig = new RestoreRig();
  rig.overtaken(30, { at: 10 });
  rig.kept.of(rig.tp()).fill('lost', 10, 30);
  await rig.running();
  await rig.until(() => rig.committed() === 30, 'passed');
});

it('I9 an undeclared hole halts the lane before it, by its exact range; restarted when it is mended, it goes on there', async () => {
  rig = new RestoreRig();
  rig.overtaken(60, { at: 10, start: 50 });
  const hole = rig.log().read(20, 5).records;
  rig.kept.of(rig.tp()).fill('hole', 20, 25);
  const member = await rig.running();
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted');
  await rig.until(() => rig.committed() === 20, 'what stands before it is settled');
  expect(rig.lane(member).haltedBy).toBe('expired');
  expect(rig.lane(member).halted).toMatch(
    /^Group readers needs offsets 20 to 24 of events, partition 0, which Kafka no longer holds, and that can not be restored: nobody declared them;.* --to offset:25,/,
  );
  expect(restoresOf(member)).toEqual(['expired 10-50 restored', 'expired 20-25 halted']);
  await rig.clock.advance(100_000);
  expect([member.sink.offsets(), rig.kept.open]).toEqual([range(10, 20), 0]);
  await rig.stop(member);
  rig.kept.of(rig.tp()).splice(20, 5, ...hole);
  const next = await rig.running();
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(next.sink.offsets()).toEqual(range(20, 60));
});

it.each(['hole', 'lost', 'before-archive'] as const)('what Kafka has is read there, although the history says %s', async (kind) => {
  rig = new RestoreRig();
  rig.overtaken(60, { at: 10, start: 25 });
  rig.kept.of(rig.tp()).fill(kind, 25, 40);
  const member = await rig.running();
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(member.sink.offsets()).toEqual(range(10, 60));
});

it('a loss that reaches into what Kafka has is one only up to there', async () => {
  rig = new RestoreRig();
  rig.overtaken(60, { at: 10, start: 25 });
  rig.kept.of(rig.tp()).fill('lost', 20, 40);
  const member = await rig.running();
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(member.sink.offsets()).toEqual([...range(10, 20), ...range(25, 60)]);
  expect(restoresOf(member)).toContain('passed 20-25 lost');
});

it('a history that fails is an outage with backoff, and goes on where it was', async () => {
  rig = new RestoreRig();
  rig.overtaken(60, { at: 10 });
  let failures = 0;
  rig.kept.fault = (at) => {
    if (at < 31 || failures >= 4) return;
    failures += 1;
    throw new Error('the bucket is away');
  };
  const member = await rig.running();
  await rig.until(() => failures === 3, 'three tries');
  expect(rig.lane(member).outage).toMatchObject({ why: 'history', reason: 'the bucket is away' });
  const { state, sentence } = runtimeHealth(member.runtime, { kafka: 'Kafka', sink: 'S', history: 'the lake' }, rig.clock.nowMs());
  expect([state, sentence]).toEqual(['degraded', expect.stringContaining('waiting for the lake for')]);
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(member.sink.offsets()).toEqual(range(10, 60));
  expect(rig.kept.readings.map(({ from }) => from)).toEqual([10, 31, 31, 31, 31]);
  expect([kinds(member.events, 'outage').length, kinds(member.events, 'recovered').length]).toEqual([4, 1]);
});

it('a history that is out of step is not believed', async () => {
  rig = new RestoreRig();
  rig.overtaken(60, { at: 10 });
  const kept = rig.kept.of(rig.tp());
  const [record] = kept.splice(20, 1);
  const member = await rig.running();
  await rig.until(() => rig.lane(member).outage !== undefined, 'an outage');
  expect(rig.lane(member).outage?.reason).toBe('the history gave offset 21 where 20 was next');
  if (record !== undefined) kept.splice(20, 0, record);
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(member.sink.offsets()).toEqual(range(10, 60));
});

it('a log start that moves on while it is read is followed', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 10, kept: 40, start: 30 });
  rig.kept.fault = (at) => {
    if (at < 38) return;
    rig.log().deleteBefore(60);
    rig.kept.of(rig.tp()).push(...rig.log().read(40, 10).records);
    rig.kept.fault = undefined;
  };
  const member = await rig.running();
  await rig.until(() => restoresOf(member).length === 2, 'it waits');
  expect(restoresOf(member)).toEqual(['expired 10-60 restored', 'waits 50-60'].map((each) => each.replace('10-60', '10-30')));
  rig.kept.of(rig.tp()).push(...rig.log().read(50, 10).records);
  await rig.until(() => rig.committed() === 100, 'all is read');
  expect(member.sink.offsets()).toEqual(range(10, 100));
});

it('goes on from Kafka before the history’s end as soon as the next record stays there for long enough', async () => {
  const retentionMs = 48 * 3_600_000;
  rig = new RestoreRig(1, { gaps: { kind: 'restore', retentionMs: new Map([[TOPIC, retentionMs]]) } });
  // 100 records, one every 50 minutes, the last one now.
  const nowMs = rig.clock.nowMs();
  for (const i of range(0, 100)) rig.cluster.append(rig.tp(), { value: Buffer.from('v'), timestampMs: nowMs - (99 - i) * 3_000_000 });
  rig.kept.archive(rig.log(), 100);
  rig.log().deleteBefore(30);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 5 });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 100, 'all is read');
  // The first record that is younger than 47 hours.
  const first = range(0, 100).find((i) => (99 - i) * 3_000_000 <= retentionMs - 3_600_000);
  expect(restoresOf(member)).toEqual(['expired 5-30 restored', `ended 5-${first} records ${(first ?? 0) - 5} passed 0`]);
  expect(member.sink.offsets()).toEqual(range(5, 100));
});

it('a short retention leaves a quarter of it', async () => {
  rig = new RestoreRig(1, { gaps: { kind: 'restore', retentionMs: new Map([[TOPIC, 400_000]]) } });
  const nowMs = rig.clock.nowMs();
  for (const i of range(0, 50)) rig.cluster.append(rig.tp(), { value: Buffer.from('v'), timestampMs: nowMs - (49 - i) * 10_000 });
  rig.kept.archive(rig.log(), 50);
  rig.log().deleteBefore(10);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 5 });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 50, 'all is read');
  expect(restoresOf(member)[1]).toMatch(/^ended 5-(19|20) /);
});

it('what Kafka has deleted is read from the history however young it is, without a pause', async () => {
  rig = new RestoreRig(1, { gaps: { kind: 'restore', retentionMs: new Map([[TOPIC, 48 * 3_600_000]]) } });
  rig.overtaken(100, { at: 0, start: 80 });
  const begunMs = rig.clock.nowMs();
  const member = await rig.running();
  await rig.until(() => rig.committed() === 100, 'all is read');
  expect(rig.clock.nowMs() - begunMs).toBeLessThan(5000);
  expect(restoresOf(member)).toEqual(['expired 0-80 restored', 'ended 0-80 records 80 passed 0']);
});

it('to restore gaps without a history is refused', () => {
  const without = new RuntimeRig(1, { gaps: { kind: 'restore' } });
  expect(() => without.member()).toThrow(/has no history to read them from/);
});
