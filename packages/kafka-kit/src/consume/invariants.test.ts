import { afterEach, expect, it } from 'vitest';
import { GROUP, kinds, RuntimeRig } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const commits = (): number[] => rig.cluster.group(GROUP).commits.map(({ nextToRead }) => nextToRead);

it('I1 never commits past an unsettled record, whatever settles behind it', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(30);
  await rig.until(() => member.sink.open.length === 3, 'three batches in the sink');
  const [first, second, third] = member.sink.open;
  third?.store();
  second?.store();
  await rig.clock.advance(3000);
  expect(rig.committed()).toBe(0);
  first?.answer(Array.from({ length: 10 }, (_, i) => (i === 4 ? { kind: 'retry' as const, reason: 'later' } : STORED)));
  await rig.clock.advance(3000);
  expect([rig.committed(), member.sink.waiting.offsets]).toEqual([4, [4]]);
  member.sink.waiting.store();
  await rig.until(() => rig.committed() === 30, 'all is committed');
});

it('I2 commits only grow within one ownership', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 4 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(200);
  let turn = 0;
  for (; rig.committed() !== 200 && turn < 500; turn += 1) {
    // The youngest first, then the oldest: settled out of order, all the time.
    (turn % 2 === 0 ? member.sink.open.at(-1) : member.sink.open[0])?.store();
    await rig.clock.advance(250);
  }
  expect(rig.committed()).toBe(200);
  expect(commits()).toEqual([...commits()].sort((a, b) => a - b));
  expect(commits().length).toBeGreaterThan(5);
});

it('I2 a lane that opens below the commit does not lower it', async () => {
  rig = new RuntimeRig(1);
  rig.append(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 40 });
  const member = rig.member();
  member.sink.assign = async () => ({ startAt: 10 });
  member.sink.hold = true;
  await rig.start(member);
  for (let below = 20; below <= 50; below += 10) {
    await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
    member.sink.waiting.store();
    // Longer than the client's timer: each position on the way would be committed.
    await rig.clock.advance(3000);
    expect(rig.committed()).toBe(below === 50 ? 50 : 40);
  }
  expect(member.sink.offsets()).toEqual(Array.from({ length: 40 }, (_, i) => 10 + i));
  expect(commits().every((next) => next > 40)).toBe(true);
});

it('I3 every delivered record is settled once, or reported as abandoned', async () => {
  rig = new RuntimeRig(2);
  const member = await rig.running();
  rig.append(25, 0);
  await rig.until(() => rig.committed(0) === 25, 'the first partition');
  member.sink.hold = true;
  rig.append(25, 1);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  member.sink.flush = async () =>
    member.sink.waiting.answer(Array.from({ length: 10 }, (_, i) => (i < 6 ? STORED : { kind: 'retry', reason: 'no' })));
  const report = await rig.stop(member);
  expect(report).toMatchObject({ deliveredRecords: 50, settledRecords: 31, abandonedRecords: 19, committed: true, closed: true });
  expect(rig.committed(1)).toBe(6);
});

it('I4 buffered bytes stay under the bound plus one poll, over 12 lanes', async () => {
  const pauseAtBytes = 300_000;
  rig = new RuntimeRig(12, {
    buffer: { pauseAtBytes, resumeAtBytes: 100_000 },
    batch: { maxRecords: 50, maxBytes: 100_000, maxAgeMs: 100 },
  });
  const size = 100;
  for (let partition = 0; partition < 12; partition += 1) rig.append(2000, partition, size);
  const member = await rig.running();
  member.sink.hold = true;
  const onePoll = 1000 * (size + 1 + 200);
  let most = 0;
  const used = (): number => member.runtime.lanes().reduce((sum, { bufferedBytes }) => sum + bufferedBytes, 0);
  for (let round = 0; round < 200; round += 1) {
    await rig.clock.advance(20);
    most = Math.max(most, used());
    // Nothing for the first 2 s, then as the batches come.
    if (round > 100) for (const write of [...member.sink.open]) write.store();
  }
  member.sink.hold = false;
  for (const write of [...member.sink.open]) write.store();
  expect(most).toBeGreaterThan(pauseAtBytes / 2);
  expect(most).toBeLessThanOrEqual(pauseAtBytes + onePoll);
  await rig.until(() => member.sink.offsets(11).length === 2000, 'everything was read');
  await rig.until(() => used() === 0, 'every byte was let go');
});

it('I5 after its revoke was answered a partition gets no commit of the old owner', async () => {
  rig = new RuntimeRig(2);
  const first = await rig.running();
  first.sink.hold = true;
  rig.append(30, 1);
  await rig.until(() => first.sink.open.length === 1, 'a batch of partition 1 in the sink');
  const late = first.sink.waiting;
  const second = rig.member();
  await rig.start(second);
  // The sink does not answer: at the drain's deadline the partition goes all the same.
  await rig.until(() => second.runtime.lanes().some(({ partition }) => partition === 1), 'the second owns partition 1', 10_000);
  late.store();
  await rig.until(() => rig.committed(1) === 30, 'the second has stored and committed it');
  await rig.clock.advance(5000);
  const ofPartition1 = rig.cluster.group(GROUP).commits.filter(({ partition }) => partition === 1);
  expect(ofPartition1.every(({ owned }) => owned)).toBe(true);
  expect(ofPartition1.filter(({ member, nextToRead }) => member === first.consumer.id && nextToRead > 0)).toEqual([]);
  expect(second.sink.offsets(1).slice(0, 10)).toEqual(late.offsets);
});

it('I6 a stop returns by its deadline with a true report when the sink hangs, and commits what was settled', async () => {
  rig = new RuntimeRig(2);
  const member = await rig.running();
  rig.append(20, 0);
  await rig.until(() => member.sink.offsets(0).length === 20, 'the first partition was stored');
  member.sink.hold = true;
  rig.append(15, 1);
  await rig.until(() => member.sink.open.length === 1, 'a batch hangs');
  const startedMs = rig.clock.nowMs();
  const report = await rig.stop(member);
  expect(rig.clock.nowMs() - startedMs).toBeLessThanOrEqual(8000);
  expect(report).toMatchObject({ deliveredRecords: 35, settledRecords: 20, abandonedRecords: 15, committed: true, closed: true });
  expect([rig.committed(0), rig.committed(1)]).toEqual([20, 0]);
  expect(member.sink.writes.at(-1)?.signal.aborted).toBe(true);
});

it('I6 a stop returns by its deadline when the client does not leave, and closes the sink all the same', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  rig.append(10);
  await rig.until(() => member.sink.offsets().length === 10, 'it was stored');
  member.consumer.closeHangs = true;
  const startedMs = rig.clock.nowMs();
  const report = await rig.stop(member);
  expect(rig.clock.nowMs() - startedMs).toBeLessThanOrEqual(8000);
  expect(report).toMatchObject({ committed: true, closed: false, abandonedRecords: 0 });
  expect(member.sink.closed).toBe(1);
});

it('I6 a stop returns by its deadline when a poll never does', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(10);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  member.consumer.kill();
  const startedMs = rig.clock.nowMs();
  const report = await rig.stop(member);
  expect(rig.clock.nowMs() - startedMs).toBeLessThanOrEqual(8000);
  expect(report).toMatchObject({ deliveredRecords: 10, settledRecords: 0, abandonedRecords: 10, closed: false });
});

it('I6 a stop says that the commit was not confirmed', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  rig.append(10);
  await rig.until(() => member.sink.offsets().length === 10, 'it was stored');
  member.consumer.commitsUnanswered = true;
  const startedMs = rig.clock.nowMs();
  const report = await rig.stop(member);
  expect(rig.clock.nowMs() - startedMs).toBeLessThanOrEqual(8000);
  expect(report).toMatchObject({ settledRecords: 10, committed: false, closed: true });
});

it('I7 nothing leaves by retry or dead letter without an ack: neither is settled, neither is committed', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.respond = ({ offsets }) =>
    offsets.map((offset) =>
      offset === 3 ? { kind: 'retry', reason: 'busy' } : offset === 5 ? { kind: 'dead', reason: 'no JSON' } : STORED,
    );
  rig.append(10);
  await rig.clock.advance(30_000);
  expect(rig.committed()).toBe(3);
  const report = await rig.stop(member);
  expect(report).toMatchObject({ deliveredRecords: 10, settledRecords: 8, abandonedRecords: 2 });
  expect(rig.committed()).toBe(3);
});

it('I8 every rebalance event is answered exactly once, through joins, leaves, moves, losses and a stop in the middle', async () => {
  rig = new RuntimeRig(6);
  const one = await rig.running();
  const two = rig.member();
  await rig.start(two);
  rig.append(40, 3);
  for (const partition of [0, 1, 2, 3, 4, 5, 0, 1]) {
    rig.cluster.group(GROUP).move(rig.tp(partition), (partition % 3 === 0 ? two : one).consumer.id);
    await rig.clock.advance(partition * 37);
  }
  one.consumer.endSession();
  await rig.clock.advance(2000);
  const stopping = rig.stop(two);
  rig.cluster.group(GROUP).move(rig.tp(2), two.consumer.id);
  await stopping;
  await rig.until(() => one.runtime.lanes().length === 6, 'the first owns everything');
  expect(rig.cluster.group(GROUP).outstanding(one.consumer.id)).toBeUndefined();
  const told = kinds(one.events, 'rebalanced').flatMap((event) => (event.kind === 'rebalanced' ? [event.how] : []));
  expect(new Set(told)).toEqual(new Set(['assigned', 'revoked', 'lost']));
});

it('I9 a lane never passes a hole in silence', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  const told: string[] = [];
  member.sink.gap = async (_, gap) => void told.push(`${gap.kind} ${gap.from}-${gap.to} after ${member.sink.offsets().at(-1)}`);
  rig.append(5);
  rig.cluster.log(rig.tp()).appendVoids(3);
  rig.append(5);
  await rig.until(() => rig.committed() === 13, 'all was read');
  expect(member.sink.offsets()).toEqual([0, 1, 2, 3, 4, 8, 9, 10, 11, 12]);
  expect(told).toEqual(['void 5-8 after 4']);
  expect(kinds(member.events, 'gap')).toEqual([{ kind: 'gap', lane: rig.tp(), gap: { kind: 'void', from: 5, to: 8 }, done: 'void' }]);
});
