import { afterEach, expect, it } from 'vitest';
import { GROUP, kinds, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { type Outcome, STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const dead: Outcome = { kind: 'dead', reason: 'not JSON' };

it('a dead record halts its lane by name; what stands before it is stored, and the other lanes go on', async () => {
  rig = new RuntimeRig(3);
  const member = await rig.running();
  member.sink.respond = ({ offsets, partition }) => offsets.map((offset) => (partition === 1 && offset === 13 ? dead : STORED));
  for (const partition of [0, 1, 2]) rig.append(40, partition);
  await rig.until(() => rig.committed(0) === 40 && rig.committed(2) === 40, 'the others');
  expect(rig.lane(member, 1)).toMatchObject({
    phase: 'halted',
    halted: `Group ${GROUP} can not process the record at ${TOPIC}, partition 1, offset 13: not JSON.`,
    paused: true,
    bufferedBytes: 0,
  });
  expect([rig.committed(1), member.sink.offsets(1).at(-1)]).toEqual([13, 19]);
  rig.append(40, 1);
  await rig.clock.advance(5000);
  expect([rig.committed(1), member.sink.offsets(1).at(-1)]).toEqual([13, 19]);
  expect(kinds(member.events, 'lane-halted')).toHaveLength(1);
  expect(await rig.stop(member)).toMatchObject({ closed: true, committed: true });
});

it('what failed before a dead record is still handed over again, and what stands behind it is not', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(50);
  await rig.until(() => member.sink.open.length === 3, 'three batches in the sink');
  const [first, second, third] = member.sink.open;
  third?.fail('away');
  first?.fail('away');
  second?.answer([STORED, { kind: 'retry', reason: 'later' }, dead, ...Array.from({ length: 7 }, () => STORED)]);
  member.sink.hold = false;
  await rig.clock.advance(10_000);
  expect(member.sink.writes.slice(3).map(({ offsets }) => offsets)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [11]]);
  expect(rig.committed()).toBe(12);
  expect(rig.lane(member)).toMatchObject({ phase: 'halted', outage: undefined, bufferedBytes: 0 });
  const report = await rig.stop(member);
  expect(report.deliveredRecords).toBe(report.settledRecords + report.abandonedRecords);
});

it('small batches do not wait for a poll each', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  rig.append(500);
  // The poll that follows finds nothing more, and lasts 50 ms.
  await rig.clock.advance(45);
  expect(member.sink.writes.map(({ offsets }) => offsets.length)).toEqual(Array.from({ length: 50 }, () => 10));
});

it('what is stored while a poll is pending brings nothing to the sink that stands behind a failure', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 2 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(50);
  await rig.until(() => member.sink.open.length === 2, 'two batches in the sink');
  const [first, second] = member.sink.open;
  first?.fail('away');
  await Promise.resolve();
  second?.store();
  await rig.clock.advance(99);
  expect(member.sink.writes).toHaveLength(2);
  member.sink.hold = false;
  await rig.until(() => rig.committed() === 50, 'all of them');
  expect(member.sink.offsets().slice(20)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...Array.from({ length: 30 }, (_, i) => 20 + i)]);
});

it('one slow lane does not hold up the others', async () => {
  rig = new RuntimeRig(4);
  const member = await rig.running();
  member.sink.respond = async ({ offsets, partition }) => {
    if (partition === 2) await rig.clock.sleep(10_000);
    return offsets.map(() => STORED);
  };
  for (const partition of [0, 1, 2, 3]) rig.append(500, partition);
  await rig.until(() => [0, 1, 3].every((partition) => rig.committed(partition) === 500), 'the others', 8000);
  expect(rig.committed(2)).toBe(0);
});

it('one slow lane with more to read than the memory holds does not hold up the others', async () => {
  for (const lanes of [2, 4, 12]) {
    const buffer = { pauseAtBytes: 1_000_000, resumeAtBytes: 500_000 };
    rig = new RuntimeRig(lanes, { buffer, batch: { maxRecords: 100, maxBytes: 100_000, maxAgeMs: 100 } });
    const member = await rig.running();
    member.sink.respond = async ({ offsets, partition }) => {
      await rig.clock.sleep(partition === 1 ? 60_000 : 20);
      return offsets.map(() => STORED);
    };
    for (let partition = 0; partition < lanes; partition += 1) rig.append(8000, partition);
    await rig.until(() => rig.committed(0) === 8000 && rig.committed(lanes - (lanes === 2 ? 2 : 1)) === 8000, 'the others', 40_000);
    expect(rig.committed(1)).toBe(0);
    expect(rig.lane(member, 1).bufferedBytes).toBeLessThan(buffer.pauseAtBytes);
  }
});

it('a lane that is slow gets larger batches, not more of them: what waits is not cut by age', async () => {
  rig = new RuntimeRig(1, { batch: { maxRecords: 100, maxBytes: 1_000_000, maxAgeMs: 100 } });
  const member = await rig.running();
  member.sink.respond = async ({ offsets }) => {
    await rig.clock.sleep(2000);
    return offsets.map(() => STORED);
  };
  // 40 records a second, and two seconds a batch: by batches of 100 ms it would fall behind for ever.
  for (let i = 0; i < 100; i += 1) {
    rig.append(4);
    await rig.clock.advance(100);
  }
  await rig.until(() => rig.committed() === 400, 'it keeps up', 5000);
  expect(member.sink.writes.length).toBeLessThan(9);
});

it('a lane that is slow is not cut by age behind batches that wait, either', async () => {
  rig = new RuntimeRig(1, { batch: { maxRecords: 100, maxBytes: 1_000_000, maxAgeMs: 100 } });
  const member = await rig.running();
  member.sink.respond = async ({ offsets }) => {
    await rig.clock.sleep(2000);
    return offsets.map(() => STORED);
  };
  rig.append(150);
  for (let i = 0; i < 200; i += 1) {
    rig.append(4);
    await rig.clock.advance(100);
  }
  await rig.until(() => rig.committed() === 950, 'it keeps up', 6000);
  expect(member.sink.writes.length).toBeLessThanOrEqual(12);
});

it('while the memory is full the loop goes on polling, or the group would give the partitions away', async () => {
  rig = new RuntimeRig(2, {
    buffer: { pauseAtBytes: 50_000, resumeAtBytes: 20_000 },
    batch: { maxRecords: 50, maxBytes: 40_000, maxAgeMs: 100 },
  });
  const member = await rig.running();
  member.sink.hold = true;
  for (const partition of [0, 1]) rig.append(2000, partition, 100);
  await rig.clock.advance(2000);
  for (let second = 0; second < 10; second += 1) {
    const before = kinds(member.events, 'polled').length;
    await rig.clock.advance(1000);
    expect(kinds(member.events, 'polled').length).toBeGreaterThan(before + 5);
  }
  expect([0, 1].map((partition) => rig.lane(member, partition).paused)).toEqual([true, true]);
});

it('a lane that holds little reads on while another holds what keeps the rest paused', async () => {
  const buffer = { pauseAtBytes: 1_000_000, resumeAtBytes: 500_000 };
  rig = new RuntimeRig(2, { buffer, batch: { maxRecords: 500, maxBytes: 200_000, maxAgeMs: 100 } });
  const member = await rig.running();
  member.sink.respond = async ({ offsets, partition }) => {
    await rig.clock.sleep(partition === 1 ? 120_000 : 1500);
    return offsets.map(() => STORED);
  };
  for (const partition of [0, 1]) rig.append(6000, partition);
  await rig.until(() => rig.committed(0) === 6000, 'the other lane', 60_000);
  expect([rig.committed(1), rig.lane(member, 1).bufferedBytes > buffer.resumeAtBytes]).toEqual([0, true]);
});

it('open batches of many lanes that fill the memory are closed before their age, when nothing else would free it', async () => {
  rig = new RuntimeRig(12, {
    buffer: { pauseAtBytes: 30_000, resumeAtBytes: 15_000 },
    batch: { maxRecords: 1000, maxBytes: 30_000, maxAgeMs: 3_600_000 },
  });
  const member = await rig.running();
  for (let partition = 0; partition < 12; partition += 1) rig.append(60, partition);
  await rig.until(() => member.sink.writes.length > 0, 'a batch long before its age', 5000);
  expect(member.sink.writes.every(({ batch }) => batch.closedBy === 'bytes')).toBe(true);
});

it('pausing for memory and resuming loses and doubles nothing', async () => {
  rig = new RuntimeRig(2, {
    buffer: { pauseAtBytes: 50_000, resumeAtBytes: 20_000 },
    batch: { maxRecords: 50, maxBytes: 40_000, maxAgeMs: 100 },
  });
  const member = await rig.running();
  member.sink.respond = async ({ offsets }) => {
    await rig.clock.sleep(700);
    return offsets.map(() => STORED);
  };
  for (const partition of [0, 1]) rig.append(2000, partition, 100);
  let pauses = 0;
  for (let i = 0; i < 400 && rig.committed(0) !== 2000; i += 1) {
    await rig.clock.advance(100);
    pauses += Number(rig.lane(member).paused);
  }
  await rig.until(() => rig.committed(0) === 2000 && rig.committed(1) === 2000, 'all was read');
  expect(pauses).toBeGreaterThan(3);
  const all = Array.from({ length: 2000 }, (_, i) => i);
  expect([member.sink.offsets(0), member.sink.offsets(1)]).toEqual([all, all]);
});

it('headers count against the memory bound', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.cluster.append(rig.tp(), { value: Buffer.from('v'), headers: [['name', Buffer.alloc(5000)]] });
  await rig.until(() => member.sink.open.length === 1, 'the batch');
  expect(rig.lane(member).bufferedBytes).toBe(1 + 4 + 5000 + 100);
  expect(member.sink.waiting.batch.bytes).toBe(1 + 4 + 5000);
});

it('skipped records settle, and are counted by their reason', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.respond = ({ offsets }) => offsets.map((offset) => (offset % 3 === 0 ? { kind: 'skipped', reason: 'old' } : STORED));
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'all is settled');
  expect(kinds(member.events, 'skipped')).toEqual([{ kind: 'skipped', lane: rig.tp(), reason: 'old', records: 4 }]);
  expect(kinds(member.events, 'settled')).toEqual([{ kind: 'settled', lane: rig.tp(), stored: 6, skipped: 4, retried: 0, dead: 0 }]);
});

it('lag is told in records and in broker time', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  const firstMs = rig.clock.nowMs();
  rig.append(10);
  await rig.until(() => rig.lane(member).lag === 0, 'no lag');
  member.sink.hold = true;
  await rig.clock.advance(60_000);
  const nextMs = rig.clock.nowMs();
  rig.append(25);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  await rig.clock.advance(5000);
  expect(rig.lane(member)).toMatchObject({ lag: 25, nextToRead: 10, logEnd: 35, unsettled: 25, behindSinceMs: nextMs });
  member.sink.hold = false;
  member.sink.waiting.store();
  await rig.until(() => rig.lane(member).lag === 0, 'no lag again');
  expect(rig.lane(member).behindSinceMs).toBe(nextMs);
  expect(nextMs).toBeGreaterThan(firstMs);
});
