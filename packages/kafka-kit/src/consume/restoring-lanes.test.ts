import { afterEach, expect, it } from 'vitest';
import { MemoryHistory } from '../testing/memory-history.ts';
import { PositionsRig } from '../testing/positions-rig.ts';
import { RestoreRig, range, restoresOf } from '../testing/restore-rig.ts';
import { GROUP, TOPIC } from '../testing/runtime-rig.ts';

let rig = new RestoreRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

it('I5 a revoke in the middle: nothing is handed over after it, and the next owner goes on at the commit', async () => {
  rig = new RestoreRig();
  rig.overtaken(200, { at: 0 });
  rig.kept.readMs = 100;
  const first = await rig.running();
  await rig.until(() => (rig.committed() ?? 0) >= 50, 'a part of it');
  const second = rig.member();
  await rig.start(second);
  rig.cluster.group(GROUP).move(rig.tp(), second.consumer.id);
  await rig.until(() => second.runtime.lanes().length === 1, 'moved');
  const given = first.sink.offsets();
  expect(given).toEqual(range(0, given.length));
  await rig.until(() => rig.committed() === 200, 'the second has the rest', 120_000);
  expect(first.sink.offsets()).toEqual(given);
  const rest = second.sink.offsets();
  expect(rest).toEqual(range(rest[0] ?? -1, 200));
  expect(rest[0]).toBeLessThanOrEqual(given.length);
  expect(rig.kept.open).toBe(0);
});

it.each([false, true])(
  'I3 I6 a stop in the middle ends the reading, and says what it abandoned; a restart goes on (late parts: %s)',
  async (deaf) => {
    rig = new RestoreRig();
    rig.overtaken(200, { at: 0 });
    rig.kept.readMs = 100;
    const first = await rig.running();
    await rig.until(() => (rig.committed() ?? 0) >= 50, 'a part of it');
    rig.kept.deaf = deaf;
    const { deliveredRecords } = await rig.stop(first);
    await rig.clock.advance(1000);
    rig.kept.deaf = false;
    const report = await rig.stop(first);
    // What comes late is taken by nobody.
    expect(report).toMatchObject({ deliveredRecords, committed: true, closed: true, stuck: [] });
    expect(report.deliveredRecords).toBe(report.settledRecords + report.abandonedRecords);
    expect([rig.kept.open, rig.committed()]).toEqual([0, report.settledRecords]);
    const second = await rig.running();
    await rig.until(() => rig.committed() === 200, 'the rest', 120_000);
    expect(second.sink.offsets()).toEqual(range(report.settledRecords, 200));
  },
);

it('a kill in the middle: goes on from the commit', async () => {
  rig = new RestoreRig();
  rig.overtaken(200, { at: 0 });
  rig.kept.readMs = 100;
  const first = await rig.running();
  await rig.until(() => (rig.committed() ?? 0) >= 50, 'a part of it');
  first.consumer.kill();
  first.consumer.endSession();
  const at = rig.committed() ?? 0;
  const second = await rig.running();
  await rig.until(() => rig.committed() === 200, 'the rest', 120_000);
  expect(second.sink.offsets()).toEqual(range(at, 200));
});

it('I4 the reading is held back while memory is full, and other partitions are read on', async () => {
  const record = 400;
  const bound = 20_000;
  rig = new RestoreRig(2, {
    batch: { maxRecords: 10, maxBytes: 10_000, maxAgeMs: 100 },
    buffer: { pauseAtBytes: bound, resumeAtBytes: 10_000 },
  });
  rig.append(1000, 0, record - 101);
  rig.kept.archive(rig.log(0), 1000);
  rig.log(0).deleteBefore(1000);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(0), nextToRead: 0 });
  const member = rig.member();
  const held: ((value: undefined) => void)[] = [];
  let holds = true;
  member.sink.respond = async ({ partition, offsets }) => {
    if (partition === 0 && holds) await new Promise((resolve) => held.push(resolve));
    return offsets.map(() => ({ kind: 'stored' }));
  };
  await rig.start(member);
  let most = 0;
  for (let i = 0; i < 50; i += 1) {
    rig.append(1, 1);
    await rig.clock.advance(100);
    most = Math.max(most, rig.lane(member, 0).bufferedBytes + rig.lane(member, 1).bufferedBytes);
  }
  await rig.until(() => rig.committed(1) === 50, 'the other partition');
  expect(most).toBeGreaterThan(bound / 2);
  expect(most).toBeLessThan(bound + rig.kept.partRecords * record);
  expect(rig.lane(member, 0)).toMatchObject({ phase: 'restoring', paused: true });
  holds = false;
  for (const go of held) go(undefined);
  await rig.until(() => rig.committed(0) === 1000, 'all is read');
  expect(member.sink.offsets(0)).toEqual(range(0, 1000));
});

it('I4 nothing is read from the history while others have filled the memory', async () => {
  rig = new RestoreRig(2, {
    batch: { maxRecords: 10, maxBytes: 10_000, maxAgeMs: 100 },
    buffer: { pauseAtBytes: 20_000, resumeAtBytes: 10_000 },
  });
  rig.overtaken(500, { at: 0 }, 0);
  let isAway = true;
  rig.kept.fault = () => {
    if (isAway) throw new Error('the bucket is away');
  };
  const member = rig.member();
  let go = (): void => {};
  const hangs = new Promise<void>((resolve) => {
    go = resolve;
  });
  member.sink.respond = async ({ partition, offsets }) => {
    if (partition === 1) await hangs;
    return offsets.map(() => ({ kind: 'stored' }));
  };
  await rig.start(member);
  rig.append(100, 1, 300);
  await rig.until(() => rig.lane(member, 1).bufferedBytes >= 20_000, 'the memory is full');
  isAway = false;
  await rig.clock.advance(20_000);
  expect([member.sink.offsets(0), rig.lane(member, 0).bufferedBytes]).toEqual([[], 0]);
  go();
  await rig.until(() => rig.committed(0) === 500 && rig.committed(1) === 100, 'all is read');
});

it('more partitions than are read at a time: one whose sink hangs gives way to the others', async () => {
  rig = new RestoreRig(6);
  for (const partition of range(0, 6)) rig.overtaken(400, { at: 0, start: 390 }, partition);
  const member = rig.member();
  let go = (): void => {};
  const hangs = new Promise<void>((resolve) => (go = resolve));
  let most = 0;
  member.sink.respond = async ({ partition, offsets }) => {
    most = Math.max(most, rig.kept.open);
    if (partition < 2) await hangs;
    return offsets.map(() => ({ kind: 'stored' }));
  };
  await rig.start(member);
  await rig.until(() => range(2, 6).every((partition) => rig.committed(partition) === 400), 'the other four');
  expect(most).toBe(2);
  go();
  await rig.until(() => range(0, 2).every((partition) => rig.committed(partition) === 400), 'and these');
  for (const partition of range(0, 6)) expect(member.sink.offsets(partition)).toEqual(range(0, 400));
});

it('a topic made anew in the middle: halted, and nothing of the old life is committed in the new one', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 0 });
  rig.kept.readMs = 1000;
  const member = await rig.running();
  await rig.until(() => (rig.committed() ?? 0) > 0, 'a part of it');
  rig.cluster.recreateTopic(TOPIC);
  const commits = rig.cluster.group(GROUP).commits.length;
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted');
  expect(rig.lane(member).haltedBy).toBe('recreated');
  expect(rig.kept.open).toBe(0);
  await rig.clock.advance(5000);
  // At most what was stored before the first look at the topic's id, as for a lane that reads from Kafka.
  expect(
    rig.cluster
      .group(GROUP)
      .commits.slice(commits)
      .every(({ nextToRead }) => nextToRead < 100),
  ).toBe(true);
});

it('a log that was cut back below what is restored halts the lane', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 0, start: 90 });
  rig.kept.fault = (at) => {
    if (at >= 50) rig.log().truncateTo(30);
  };
  const member = await rig.running();
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted');
  expect(restoresOf(member).at(-1)).toBe('truncated 30-100 halted');
});

it('a batch that the sink gives back while it is restored is read from the history again', async () => {
  rig = new RestoreRig();
  rig.overtaken(100, { at: 0 });
  const member = rig.member();
  let failed = false;
  member.sink.respond = async ({ batch, offsets }) => {
    if (offsets[0] === 30 && !failed) {
      failed = true;
      batch.release();
      throw new Error('the spool is gone');
    }
    return offsets.map(() => ({ kind: 'stored' }));
  };
  await rig.start(member);
  await rig.until(() => rig.committed() === 100, 'all is read');
  expect(rig.kept.readings.map(({ from }) => from)).toEqual([0, 30]);
  expect(member.sink.offsets()).toEqual([...range(0, 40), ...range(30, 100)]);
});

it('a group whose commits Kafka forgot is restored from its kept position on', async () => {
  const kept = await PositionsRig.open(1, { gaps: { kind: 'restore' }, start: 'latest' });
  const history = new MemoryHistory(kept.clock);
  kept.history = history;
  kept.append(80);
  history.archive(kept.cluster.log(kept.tp()), 60);
  kept.cluster.log(kept.tp()).deleteBefore(50);
  kept.keep(15);
  const member = await kept.running();
  await kept.until(() => kept.committed() === 80, 'all is read');
  expect(member.sink.offsets()).toEqual(range(15, 80));
  await kept.stop(member);
  expect(kept.written().at(-1)).toBe('mem00001:80');
});

it('a gap that is passed is noted as the kept position at once, also when no record comes behind it', async () => {
  const kept = await PositionsRig.open(1, { gaps: { kind: 'skip' } });
  kept.append(10);
  const member = await kept.running();
  await kept.until(() => kept.committed() === 10, 'read');
  await kept.clock.advance(61_000);
  kept.append(10);
  await kept.until(() => kept.written().at(-1) === 'mem00001:20', 'noted: the next would be due in a minute');
  kept.append(10);
  const gone = kept.clock.nowMs();
  kept.cluster.log(kept.tp()).deleteBefore(30);
  await kept.until(() => kept.written().at(-1) === 'mem00001:30', 'noted');
  expect(kept.clock.nowMs() - gone).toBeLessThan(30_000);
  expect(member.sink.offsets()).toEqual(range(0, 20));
});
