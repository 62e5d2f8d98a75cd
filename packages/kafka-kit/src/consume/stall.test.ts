import { afterEach, expect, it } from 'vitest';
import { runtimeHealth } from '../observe/runtime-health.ts';
import { kinds, type Member, RuntimeRig } from '../testing/runtime-rig.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const stalls = (member: Member) => kinds(member.events, 'stalled');
const health = (member: Member) => runtimeHealth(member.runtime, undefined, rig.clock.nowMs());

it('a partition that the client stops to fetch is seen within 25 s without new records, said, and read again from its position', async () => {
  rig = new RuntimeRig(2);
  const member = await rig.running();
  rig.append(20, 1);
  await rig.until(() => rig.committed(1) === 20, 'read so far');
  member.consumer.goDeaf(rig.tp(1), 2);
  const sinceMs = rig.clock.nowMs();
  rig.append(23, 1);
  await rig.until(() => stalls(member).length > 0, 'the stall is seen', 25_000);
  expect(stalls(member)[0]).toMatchObject({ lane: rig.tp(1), position: 20, end: 43, attempts: 1 });
  expect(rig.lane(member, 1).stall).toMatchObject({ position: 20, end: 43 });
  expect(rig.lane(member, 0).stall).toBeUndefined();
  const { state, sentence } = health(member);
  expect(state).toBe('not-ready');
  expect(sentence).toMatch(
    /^events, partition 1 got nothing from offset 20 on since 2026-01-01T00:00:\d\d\.\d{3}Z, although its log ends at 43;/,
  );
  // The first try does not help, the second does.
  await rig.until(() => rig.committed(1) === 43, 'read again', 60_000);
  expect(stalls(member)).toHaveLength(2);
  await rig.clock.advance(2000);
  expect([health(member).state, rig.lane(member, 1).stall]).toEqual(['ok', undefined]);
  expect(kinds(member.events, 'recovered')).toHaveLength(1);
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(60_000);
  // Nothing was skipped and nothing handed over twice.
  expect(member.sink.offsets(1)).toEqual(Array.from({ length: 43 }, (_, i) => i));
});

it('the tries come ever more seldom while nothing helps', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.consumer.goDeaf(rig.tp(), 1000);
  rig.append(5);
  await rig.clock.advance(30 * 60_000);
  const tries = stalls(member).length;
  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThanOrEqual(12);
  expect(rig.committed()).toBe(0);
  expect(health(member).state).toBe('not-ready');
});

it('an idle tail that the client passed over, with no new record to show the jump, is read again', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.consumer.goDeaf(rig.tp(), 1);
  rig.append(23);
  member.consumer.stray(rig.tp(), 23);
  await rig.until(() => rig.committed() === 23, 'all of it', 30_000);
  await rig.clock.advance(2000);
  expect(stalls(member)).toEqual([expect.objectContaining({ position: 0, end: 23 })]);
  expect(member.sink.offsets()).toEqual(Array.from({ length: 23 }, (_, i) => i));
});

it.each<[string, () => void]>([
  ['the marker of a transaction', () => rig.cluster.log(rig.tp()).appendVoids(1)],
  [
    'compaction',
    () => {
      rig.append(3);
      rig.cluster.log(rig.tp()).removeAt([10, 11, 12]);
    },
  ],
  [
    'an open transaction',
    () => {
      rig.cluster.log(rig.tp()).openFrom = 10;
      rig.append(5);
    },
  ],
])('%s at the end of the log is no stall', async (_, tail) => {
  rig = new RuntimeRig();
  const member = await rig.running();
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'read so far');
  member.consumer.goDeaf(rig.tp(), 0);
  tail();
  let facts = 0;
  const ask = member.consumer.facts.bind(member.consumer);
  member.consumer.facts = (tp) => {
    facts += 1;
    return ask(tp);
  };
  for (let i = 0; i < 300; i += 1) {
    await rig.clock.advance(1000);
    expect([i, health(member).state]).toEqual([i, 'ok']);
  }
  expect(stalls(member)).toEqual([]);
  // One look-up each 10 s, and the one of the second reading.
  expect(facts).toBeGreaterThan(20);
  expect(facts).toBeLessThanOrEqual(32);
  rig.cluster.log(rig.tp()).openFrom = undefined;
  rig.append(1);
  await rig.until(() => rig.committed() === rig.cluster.log(rig.tp()).end, 'goes on');
  expect(member.sink.offsets()).toEqual(rig.cluster.records(rig.tp()).map(({ offset }) => offset));
});

it('records that expire before they are read are named, also when none comes after them', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.consumer.goDeaf(rig.tp(), 1000);
  rig.append(10);
  rig.cluster.log(rig.tp()).deleteBefore(10);
  await rig.until(() => rig.lane(member).phase === 'halted', 'the gap', 45_000);
  expect(rig.lane(member).halted).toMatch(/needs offsets 0 to 9 of events, partition 0, which Kafka no longer holds/);
});

it('a sink that is slow or away, memory that is full, and a cluster that is away are no stalls', async () => {
  rig = new RuntimeRig(2, {
    buffer: { pauseAtBytes: 20_000, resumeAtBytes: 10_000 },
    batch: { maxRecords: 10, maxBytes: 10_000, maxAgeMs: 100 },
  });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(400, 0, 500);
  rig.append(400, 1, 500);
  await rig.clock.advance(120_000);
  expect(stalls(member)).toEqual([]);
  member.sink.hold = false;
  for (const open of member.sink.open) open.store();
  await rig.until(() => rig.committed(0) === 400 && rig.committed(1) === 400, 'all is stored');
  rig.cluster.down = true;
  rig.append(10);
  await rig.clock.advance(120_000);
  rig.cluster.down = false;
  await rig.until(() => rig.committed(0) === 410, 'the rest');
  expect(stalls(member)).toEqual([]);
});
