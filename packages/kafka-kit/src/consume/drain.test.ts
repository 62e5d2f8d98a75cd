import { afterEach, expect, it } from 'vitest';
import { GROUP, kinds, type Member, RuntimeRig } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const drains = (member: Member) => kinds(member.events, 'drained');
const owns = (member: Member, partition: number): boolean => member.runtime.lanes().some((lane) => lane.partition === partition);

/** One member with a batch of partition 1 in its sink and more behind it; a second member has just joined. */
async function revokeInFlight(prepare: (member: Member) => void = () => {}, settings = {}): Promise<{ one: Member; two: Member }> {
  rig = new RuntimeRig(2, settings);
  const one = await rig.running();
  one.sink.hold = true;
  prepare(one);
  rig.append(30, 1);
  await rig.until(() => one.sink.open.length === 1, 'a batch in the sink');
  const two = rig.member();
  await rig.start(two);
  await rig.until(() => rig.lane(one, 1).phase === 'draining', 'the revoke');
  return { one, two };
}

it('a revoke waits for what is in flight, commits it, and only then gives the partition away', async () => {
  const { one, two } = await revokeInFlight();
  await rig.clock.advance(2000);
  expect([owns(two, 1), one.sink.writes.length]).toEqual([false, 1]);
  one.sink.waiting.store();
  await rig.until(() => owns(two, 1), 'the second owns it');
  expect(rig.committed(1)).toBe(10);
  expect(drains(one)).toEqual([expect.objectContaining({ why: 'revoke', abandonedRecords: 20 })]);
  await rig.until(() => rig.committed(1) === 30, 'the second reads on');
  expect(two.sink.offsets(1)[0]).toBe(10);
});

it('while one lane drains, the others go on and the loop polls', async () => {
  const { one } = await revokeInFlight();
  one.sink.hold = false;
  const polled = kinds(one.events, 'polled').length;
  rig.append(40, 0);
  await rig.until(() => rig.committed(0) === 40, 'the other partition', 4000);
  expect(kinds(one.events, 'polled').length).toBeGreaterThan(polled);
  expect(rig.lane(one, 1).phase).toBe('draining');
});

it('a drain ends at its deadline: the batch is abandoned, its signal aborted, its late answer settles nothing', async () => {
  const { one, two } = await revokeInFlight();
  const hanging = one.sink.waiting;
  const sinceMs = rig.clock.nowMs();
  await rig.until(() => owns(two, 1), 'the second owns it', 20_000);
  expect(rig.clock.nowMs() - sinceMs).toBeGreaterThanOrEqual(4900);
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(5500);
  expect([hanging.signal.aborted, rig.committed(1)]).toEqual([true, 0]);
  hanging.store();
  await rig.until(() => rig.committed(1) === 30, 'the second stored all');
  expect(two.sink.offsets(1)).toEqual(Array.from({ length: 30 }, (_, i) => i));
});

it('a batch that fails or is to be retried while its lane drains is abandoned, not tried again', async () => {
  const { one, two } = await revokeInFlight();
  one.sink.waiting.answer(Array.from({ length: 10 }, (_, i) => (i < 3 ? STORED : { kind: 'retry', reason: 'later' })));
  await rig.until(() => owns(two, 1), 'the second owns it', 1000);
  expect([rig.committed(1), one.sink.writes.length]).toEqual([3, 1]);
  expect(drains(one)).toEqual([expect.objectContaining({ abandonedRecords: 27 })]);
});

it('the sink is asked to flush once, for the lanes that go, and what it settles counts', async () => {
  const { two } = await revokeInFlight((member) => {
    member.sink.flush = async () => member.sink.waiting.store();
  });
  await rig.until(() => owns(two, 1), 'the second owns it', 1000);
  expect(rig.committed(1)).toBe(10);
});

it('a flush that throws, at once or later, is told and does not keep the partition', async () => {
  for (const flush of [
    () => {
      throw new Error('at once');
    },
    async () => Promise.reject(new Error('later')),
  ]) {
    const { one, two } = await revokeInFlight((member) => {
      member.sink.flush = flush;
    });
    one.sink.waiting.store();
    await rig.until(() => owns(two, 1), 'the second owns it', 1000);
    expect(kinds(one.events, 'flush-failed')).toHaveLength(1);
    expect(rig.committed(1)).toBe(10);
  }
});

it('lost partitions are dropped at once: nothing is committed, nothing waits', async () => {
  rig = new RuntimeRig(2);
  const one = await rig.running();
  const two = rig.member();
  await rig.start(two);
  await rig.until(() => owns(two, 1), 'both own one');
  two.sink.hold = true;
  rig.append(30, 1);
  await rig.until(() => two.sink.open.length === 1, 'a batch in the sink');
  two.sink.waiting.store();
  await rig.until(() => two.sink.writes.length === 2, 'the next');
  const before = rig.committed(1);
  two.consumer.endSession();
  await rig.until(() => owns(one, 1) && !owns(two, 1), 'the first took it');
  const ofTwo = rig.cluster.group(GROUP).commits.filter(({ member, partition }) => member === two.consumer.id && partition === 1);
  expect(ofTwo.at(-1)?.nextToRead ?? 0).toBe(before);
  expect(two.sink.writes[1]?.signal.aborted).toBe(true);
  two.sink.hold = false;
  await rig.until(() => rig.committed(1) === 30, 'its owner stored it all');
  await rig.until(() => two.runtime.lanes().length > 0, 'the second is back');
});

it('what was stored for a lost partition and not committed does not keep a later stop waiting', async () => {
  rig = new RuntimeRig(2);
  const one = await rig.running();
  const two = rig.member();
  await rig.start(two);
  await rig.until(() => owns(two, 1), 'both own one');
  two.consumer.commitsUnanswered = true;
  rig.append(10, 1);
  await rig.until(() => two.sink.offsets(1).length === 10, 'stored');
  await rig.clock.advance(100);
  two.consumer.endSession();
  rig.cluster.group(GROUP).move(rig.tp(1), one.consumer.id);
  await rig.until(() => owns(one, 1) && !owns(two, 1), 'the first took it');
  const sinceMs = rig.clock.nowMs();
  expect(await rig.stop(two)).toMatchObject({ committed: true, closed: true });
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(1000);
});

it('a revoke whose commit is refused does not keep a later stop waiting', async () => {
  const { one, two } = await revokeInFlight();
  rig.cluster.down = true;
  one.sink.waiting.store();
  await rig.until(() => !owns(one, 1), 'the revoke is answered');
  rig.cluster.down = false;
  const refused = () => kinds(one.events, 'commit').some((event) => event.kind === 'commit' && event.result.kind === 'failed');
  await rig.until(refused, 'the refusal');
  await rig.until(() => rig.committed(1) === 30, 'the second has read it again');
  expect(two.sink.offsets(1)[0]).toBe(0);
  const sinceMs = rig.clock.nowMs();
  expect(await rig.stop(one)).toMatchObject({ committed: true });
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(1000);
});

it('a stop hands over nothing more, flushes, commits and leaves; all callers get one report', async () => {
  rig = new RuntimeRig(2);
  const member = await rig.running();
  member.sink.hold = true;
  for (const partition of [0, 1]) rig.append(25, partition);
  await rig.until(() => member.sink.open.length === 2, 'two batches in the sink');
  member.sink.flush = async (why, lanes) => {
    expect([why, lanes]).toEqual(['stop', [rig.tp(0), rig.tp(1)]]);
    for (const write of [...member.sink.open]) write.store();
  };
  const reports = [rig.stop(member), member.runtime.stop(), member.runtime.finished];
  const [first, second, third] = await Promise.all(reports);
  expect(first).toMatchObject({ deliveredRecords: 50, settledRecords: 20, abandonedRecords: 30, committed: true, closed: true });
  expect([second, third]).toEqual([first, first]);
  expect([member.sink.writes.length, rig.committed(0), rig.committed(1), member.sink.closed]).toEqual([2, 10, 10, 1]);
  expect(member.runtime.state).toEqual({ kind: 'stopped', report: first });
});

it('a stop that meets a revoke under way finishes and answers it', async () => {
  const { one, two } = await revokeInFlight();
  one.sink.flush = async (why) => {
    if (why === 'stop') one.sink.waiting.store();
  };
  const sinceMs = rig.clock.nowMs();
  const stopping = rig.stop(one);
  await rig.clock.advance(100);
  one.sink.open[0]?.store();
  expect(await stopping).toMatchObject({ settledRecords: 10, abandonedRecords: 20, committed: true, closed: true });
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(1500);
  await rig.until(() => rig.committed(1) === 30, 'the second reads on');
  expect(two.sink.offsets(1)[0]).toBe(10);
});

it('a stop cuts a revoke short that would outlast it, answers it, and tells times that are finite', async () => {
  const { one, two } = await revokeInFlight(undefined, { drain: { revokeMs: 8000, stopMs: 8000 } });
  const sinceMs = rig.clock.nowMs();
  expect(await rig.stop(one)).toMatchObject({ abandonedRecords: 30, closed: true });
  expect(rig.clock.nowMs() - sinceMs).toBeLessThanOrEqual(8000);
  expect(drains(one).map((event) => event.kind === 'drained' && [event.why, Number.isFinite(event.tookMs)])).toEqual([
    ['revoke', true],
    ['stop', true],
  ]);
  await rig.until(() => rig.committed(1) === 30, 'the second reads it');
  expect(two.sink.offsets(1)[0]).toBe(0);
});

it('a revoke that comes while a stop waits for its commit, at whatever moment, is answered before the client leaves', async () => {
  for (const afterMs of [500, ...Array.from({ length: 12 }, (_, i) => 6945 + 5 * i)]) {
    rig = new RuntimeRig(2);
    const one = await rig.running();
    rig.append(10, 1);
    await rig.until(() => one.sink.offsets(1).length === 10, 'stored');
    one.consumer.commitsUnanswered = true;
    const stopping = rig.stop(one);
    await rig.clock.advance(afterMs);
    const two = rig.member();
    await rig.start(two);
    expect(await stopping).toMatchObject({ committed: false, closed: true });
    expect(rig.cluster.violations).toEqual([]);
    await rig.until(() => rig.committed(1) === 10, 'the second reads it again');
  }
});

it('a stop before the start, and before a slow connection is made', async () => {
  rig = new RuntimeRig();
  expect(await rig.stop(rig.member())).toEqual({
    tookMs: 0,
    deliveredRecords: 0,
    settledRecords: 0,
    abandonedRecords: 0,
    committed: true,
    closed: true,
    stuck: [],
  });
  const slow = rig.member();
  const connect = slow.consumer.connect.bind(slow.consumer);
  slow.consumer.connect = async (topics, handlers) => {
    await rig.clock.sleep(20_000);
    return connect(topics, handlers);
  };
  const started = slow.runtime.start();
  const sinceMs = rig.clock.nowMs();
  expect(await rig.stop(slow)).toMatchObject({ closed: false });
  expect(rig.clock.nowMs() - sinceMs).toBeLessThanOrEqual(8000);
  await rig.clock.advance(30_000);
  await started;
  expect(rig.cluster.group(GROUP).owner(rig.tp())).toBeUndefined();
});
