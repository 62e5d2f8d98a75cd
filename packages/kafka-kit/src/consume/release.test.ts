import { afterEach, expect, it } from 'vitest';
import { kinds, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

it('release lets the bytes go, and the records stay unsettled', async () => {
  rig = new RuntimeRig(1, {
    inFlightPerLane: 100,
    buffer: { pauseAtBytes: 40_000, resumeAtBytes: 20_000 },
    batch: { maxRecords: 10, maxBytes: 20_000, maxAgeMs: 100 },
  });
  const member = await rig.running();
  member.sink.hold = true;
  // Three times what may be buffered: without release the lane would stand still.
  rig.append(500, 0, 50);
  let released = 0;
  for (let round = 0; round < 100 && member.sink.offsets().length < 500; round += 1) {
    for (const { batch } of member.sink.open.slice(released)) batch.release();
    released = member.sink.open.length;
    await rig.clock.advance(50);
  }
  expect(member.sink.offsets()).toHaveLength(500);
  for (const { batch } of member.sink.open.slice(released)) batch.release();
  expect(rig.lane(member)).toMatchObject({ bufferedBytes: 0, unsettled: 500, nextToRead: 0 });
  for (const write of [...member.sink.open]) write.store();
  await rig.until(() => rig.committed() === 500, 'all is settled');
});

it('after release a batch tells its source, length and offsets, and holds no bytes any more', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(4);
  await rig.until(() => member.sink.open.length === 1, 'a batch');
  const { batch } = member.sink.waiting;
  expect(batch.value(3)).toEqual(Buffer.alloc(10, 1));
  batch.release();
  batch.release();
  expect([batch.source.topic, batch.length, batch.offset(0), batch.offset(3)]).toEqual([TOPIC, 4, 0, 3]);
  expect(() => batch.offset(4)).toThrow(RangeError);
  for (const read of [() => batch.value(0), () => batch.key(0), () => batch.headers(0), () => batch.origin(0)])
    expect(read).toThrow(/release/);
});

it('after release the offsets of a batch with holes are still told', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(10);
  await rig.until(() => member.sink.open.length === 1, 'the batch');
  member.sink.waiting.answer(Array.from({ length: 10 }, (_, i) => (i === 2 || i === 7 ? { kind: 'retry', reason: 'later' } : STORED)));
  await rig.until(() => member.sink.open.length === 1, 'the two again');
  const { batch } = member.sink.waiting;
  batch.release();
  expect([batch.offset(0), batch.offset(1)]).toEqual([2, 7]);
  member.sink.waiting.store();
  await rig.until(() => rig.committed() === 10, 'all is settled');
});

it('a rejection after release opens the lane again at its first unsettled offset', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 3 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(60);
  await rig.until(() => member.sink.open.length === 3, 'three batches in the sink');
  const [first, second, third] = member.sink.open;
  for (const write of [first, second, third]) write?.batch.release();
  first?.answer(first.offsets.map((offset) => (offset < 6 ? STORED : { kind: 'skipped', reason: 'old' })));
  third?.store();
  await rig.clock.advance(20);
  second?.fail('the spool is broken');
  await rig.until(() => member.sink.open.some(({ offsets }) => offsets[0] === 10 && offsets !== second?.offsets), 'read again from 10');
  expect(third?.signal.aborted).toBe(true);
  expect(kinds(member.events, 'lane-reopened')).toEqual([
    expect.objectContaining({ lane: rig.tp(), abandonedRecords: expect.any(Number), cause: new Error('the spool is broken') }),
  ]);
  member.sink.hold = false;
  for (const write of [...member.sink.open]) write.store();
  await rig.until(() => rig.committed() === 60, 'all is stored');
  const report = await rig.stop(member);
  expect(report.deliveredRecords).toBe(report.settledRecords + report.abandonedRecords);
});

it('a lane that is opened again and again waits longer each time', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  const atMs: number[] = [];
  member.sink.respond = ({ batch }) => {
    atMs.push(rig.clock.nowMs());
    batch.release();
    throw new Error('no');
  };
  rig.append(10);
  await rig.clock.advance(20_000);
  const waits = atMs.slice(1).map((ms, i) => ms - (atMs[i] ?? 0));
  expect(waits.at(-1)).toBeGreaterThan(4 * (waits[0] ?? 0));
  member.sink.respond = undefined;
  await rig.until(() => rig.committed() === 10, 'it goes on');
});

it('a retry outcome for released records reads them again, since their bytes are gone', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let first = true;
  member.sink.respond = ({ batch, offsets }) => {
    batch.release();
    const again = first;
    first = false;
    return offsets.map((offset) => (again && offset >= 5 ? { kind: 'retry', reason: 'later' } : STORED));
  };
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'all is stored');
  expect(member.sink.offsets()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9]);
  expect((await rig.stop(member)).closed).toBe(true);
});

it('a topic that was made anew while a lane is opened again is not taken for the old one', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(20);
  await rig.until(() => member.sink.open.length === 1, 'a batch');
  member.sink.waiting.store();
  await rig.until(() => rig.committed() === 10, 'ten are committed');
  member.sink.waiting.batch.release();
  rig.cluster.recreateTopic(TOPIC);
  rig.append(100);
  member.sink.waiting.fail('gone');
  await rig.until(() => rig.lane(member).phase === 'halted', 'it halts', 30_000);
  expect(rig.lane(member).halted).toMatch(/deleted and made anew/);
  expect(rig.committed()).toBeNull();
});
