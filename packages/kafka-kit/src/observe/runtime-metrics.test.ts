import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type Outcome, STORED } from '../consume/contract.ts';
import { metricFaults } from '../testing/metric-faults.ts';
import { RestoreRig } from '../testing/restore-rig.ts';
import { GROUP, type Member, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { Pace } from './pace.ts';
import type { RuntimeEvent } from './runtime-events.ts';
import { RUNTIME_METRICS } from './runtime-metric-table.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

async function values(registry: Registry, name: string): Promise<Record<string, number>> {
  const metric = await registry.getSingleMetric(`tailrace_consumer_${name}`)?.get();
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]));
}

async function observed(rig: RuntimeRig): Promise<{ registry: Registry; member: Member }> {
  const registry = new Registry();
  const metrics = runtimeMetrics(registry, rig.clock);
  const member = rig.member();
  const pace = new Pace(300_000, { warn: () => {}, info: () => {} }, rig.clock);
  const observers = [metrics.observer(GROUP), pace.see];
  // The rig collects the events; what it collected is told in order.
  const push = member.events.push.bind(member.events);
  member.events.push = (...events) => {
    for (const event of events) for (const observe of observers) observe(event);
    return push(...events);
  };
  metrics.watch(GROUP, member.runtime, pace);
  await rig.start(member);
  return { registry, member };
}

it('what a runtime does becomes figures with the partition as a label', async () => {
  const rig = new RuntimeRig(2);
  const { registry, member } = await observed(rig);
  member.sink.respond = ({ offsets, partition }) =>
    offsets.map((offset): Outcome => {
      if (partition === 1 && offset === 3) return { kind: 'dead', reason: 'not JSON' };
      return offset === 1 ? { kind: 'skipped', reason: 'old' } : STORED;
    });
  rig.append(20, 0);
  rig.append(5, 1);
  await rig.until(() => rig.committed(0) === 20 && rig.committed(1) === 3, 'committed');
  expect(await values(registry, 'records_total')).toEqual({
    [`${GROUP} ${TOPIC} 0 stored`]: 19,
    [`${GROUP} ${TOPIC} 0 skipped`]: 1,
    [`${GROUP} ${TOPIC} 0 retried`]: 0,
    [`${GROUP} ${TOPIC} 0 dead`]: 0,
    [`${GROUP} ${TOPIC} 1 stored`]: 3,
    [`${GROUP} ${TOPIC} 1 skipped`]: 1,
    [`${GROUP} ${TOPIC} 1 retried`]: 0,
    [`${GROUP} ${TOPIC} 1 dead`]: 1,
  });
  expect(await values(registry, 'skipped_records_total')).toEqual({ [`${GROUP} old`]: 2 });
  expect(await values(registry, 'batches_closed_total')).toMatchObject({
    [`${GROUP} records`]: 2,
    [`${GROUP} age`]: 1,
    [`${GROUP} drain`]: 0,
  });
  expect(await values(registry, 'rebalances_total')).toEqual({ [`${GROUP} assigned`]: 1, [`${GROUP} revoked`]: 0, [`${GROUP} lost`]: 0 });
  expect(await values(registry, 'halts_total')).toMatchObject({ [`${GROUP} ${TOPIC} 1 dead`]: 1, [`${GROUP} ${TOPIC} 1 gap`]: 0 });
  expect(await values(registry, 'halted')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
  expect(await values(registry, 'lag_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 2 });
  expect(await values(registry, 'max_lag_records')).toEqual({ [GROUP]: 2 });
  expect(await values(registry, 'unsettled_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
  expect((await values(registry, 'commits_total'))[GROUP]).toBeGreaterThan(0);
  expect(Object.keys(await values(registry, 'poll_interval_seconds')).length).toBeGreaterThan(5);
  expect(await registry.metrics()).not.toContain('lane');
});

it('lag in time is 0, and no fault of a scrape, for a record with a time that is no time', async () => {
  const rig = new RuntimeRig(1);
  const { registry, member } = await observed(rig);
  member.sink.respond = () => {
    throw new Error('away');
  };
  for (const timestampMs of [9e15, 2 ** 63]) rig.cluster.append(rig.tp(0), { value: Buffer.from('{}'), timestampMs });
  await rig.clock.advance(5000);
  expect(await values(registry, 'unsettled_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 2 });
  expect(await values(registry, 'lag_seconds')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0 });
});

it('lag in time is the age of the oldest record that is not settled, and 0 at the end; an outage shows how long', async () => {
  const rig = new RuntimeRig(1);
  const { registry, member } = await observed(rig);
  const key = `${GROUP} ${TOPIC} 0`;
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'committed');
  await rig.clock.advance(3_600_000);
  expect(await values(registry, 'lag_seconds')).toEqual({ [key]: 0 });
  member.sink.respond = () => {
    throw new Error('away');
  };
  rig.append(1);
  await rig.clock.advance(30_000);
  expect((await values(registry, 'lag_seconds'))[key]).toBeCloseTo(30, 0);
  expect((await values(registry, 'outage_seconds'))[key]).toBeCloseTo(30, 0);
  expect(await values(registry, 'paused')).toEqual({ [key]: 1 });
  expect(await values(registry, 'outages_total')).toEqual({ [key]: 1 });
  member.sink.respond = undefined;
  await rig.until(() => rig.committed() === 11, 'committed');
  expect([await values(registry, 'lag_seconds'), await values(registry, 'outage_seconds')]).toEqual([{ [key]: 0 }, { [key]: 0 }]);
});

it('a partition that went to another member leaves no sample behind', async () => {
  const rig = new RuntimeRig(2);
  const { registry } = await observed(rig);
  await rig.clock.advance(500);
  expect(Object.keys(await values(registry, 'lag_records'))).toHaveLength(2);
  await rig.running();
  await rig.clock.advance(1000);
  expect(await values(registry, 'lag_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0 });
});

it('two groups share one registry', async () => {
  const registry = new Registry();
  const metrics = runtimeMetrics(registry);
  for (const group of ['a', 'b']) metrics.observer(group)({ kind: 'commit', result: { kind: 'failed', positions: [], reason: 'no' } });
  expect(await values(registry, 'commits_failed_total')).toEqual({ a: 1, b: 1 });
  expect(() => runtimeMetrics(registry)).toThrow(/already been registered/);
});

it('dead letters are counted by reason, and so are those that were stored apart', async () => {
  const registry = new Registry();
  const observe = runtimeMetrics(registry).observer('g');
  const lane = { topic: 't', partition: 0 };
  observe({ kind: 'dead-lettered', lane, reason: 'not-json', records: 3 });
  observe({ kind: 'dead-lettered', lane, reason: 'not-utf8', records: 1 });
  observe({ kind: 'unsendable', lane, offset: 5, reason: 'not-json', why: 'too large' });
  expect(await values(registry, 'dead_letter_records_total')).toEqual({ 'g not-json': 3, 'g not-utf8': 1 });
  expect(await values(registry, 'unsendable_records_total')).toEqual({ 'g not-json': 1 });
});

it('reasons that a sink makes up from data do not become a series each', async () => {
  const registry = new Registry();
  const observe = runtimeMetrics(registry).observer('g');
  const lane = { topic: 't', partition: 0 };
  for (let i = 0; i < 1000; i += 1) observe({ kind: 'skipped', lane, reason: `reason ${i}`, records: 1 });
  const found = await values(registry, 'skipped_records_total');
  expect(Object.keys(found)).toHaveLength(51);
  expect(found['g other']).toBe(950);
});

it('a partition of which the client delivers nothing though the log has more shows how long, and is counted once', async () => {
  const rig = new RuntimeRig(2);
  const { registry, member } = await observed(rig);
  await rig.until(() => rig.lane(member, 1).phase === 'running', 'both have opened');
  member.consumer.goDeaf(rig.tp(1), 2);
  rig.append(5, 1);
  await rig.until(() => rig.lane(member, 1).stall !== undefined, 'the stall');
  await rig.clock.advance(5000);
  const shown = await values(registry, 'stalled_seconds');
  expect(shown[`${GROUP} ${TOPIC} 0`]).toBe(0);
  expect(shown[`${GROUP} ${TOPIC} 1`]).toBeGreaterThan(15);
  await rig.until(() => rig.committed(1) === 5, 'read again');
  await rig.clock.advance(2000);
  expect((await values(registry, 'stalled_seconds'))[`${GROUP} ${TOPIC} 1`]).toBe(0);
  expect(await values(registry, 'stalls_total')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
});

it('every row of the table is fed, and only with the labels and values that the row names', async () => {
  const rig = new RuntimeRig(2);
  const { registry, member } = await observed(rig);
  rig.append(2);
  await rig.until(() => rig.committed() === 2, 'committed');
  const lane = rig.tp();
  const gaps = (['expired', 'truncated', 'recreated', 'void'] as const).map((kind) => ({ kind, from: 0, to: 9 }));
  const cause = new Error('away');
  const told: readonly RuntimeEvent[] = [
    ...(['assigned', 'revoked', 'lost'] as const).map((how): RuntimeEvent => ({ kind: 'rebalanced', how, partitions: [lane] })),
    ...(['revoke', 'stop'] as const).map((why): RuntimeEvent => ({ kind: 'drained', why, tookMs: 9, abandonedRecords: 1, stuck: [] })),
    ...gaps.map((gap): RuntimeEvent => ({ kind: 'gap', lane, gap, done: 'halted' })),
    { kind: 'lane-halted', lane, why: { kind: 'gap', gap: { kind: 'expired', from: 0, to: 9 }, sentence: '' } },
    { kind: 'lane-halted', lane, why: { kind: 'dead', offset: 0, reason: '', sentence: '' } },
    { kind: 'lane-halted', lane, why: { kind: 'sink', sentence: '' } },
    { kind: 'lane-halted', lane, why: { kind: 'budget', sentence: '' } },
    { kind: 'dead-lettered', lane, reason: 'r', records: 1 },
    { kind: 'unsendable', lane, offset: 0, reason: 'r', why: 'w' },
    ...(['records', 'bytes', 'age', 'gap', 'drain'] as const).map(
      (closedBy): RuntimeEvent => ({ kind: 'handed-over', lane, records: 1, closedBy }),
    ),
    { kind: 'settled', lane, stored: 1, skipped: 1, retried: 1, dead: 1 },
    { kind: 'skipped', lane, reason: 'old', records: 1 },
    { kind: 'restored', lane, records: 1 },
    ...(['lost', 'before-archive'] as const).map((why): RuntimeEvent => ({ kind: 'restore-passed', lane, why, from: 0, to: 9 })),
    { kind: 'outage', lane, attempts: 1, cause },
    { kind: 'stalled', lane, position: 0, end: 9, sinceMs: 0, attempts: 1 },
    { kind: 'commit', result: { kind: 'failed', positions: [], reason: 'no' } },
    ...(['written', 'not-written', 'not-read', 'unreadable'] as const).map(
      (outcome): RuntimeEvent => ({ kind: 'positions', outcome, count: 1, cause }),
    ),
    { kind: 'flush-failed', cause },
    { kind: 'broker-error', cause },
  ];
  member.events.push(...told);
  expect(await metricFaults(registry, RUNTIME_METRICS)).toEqual([]);
});

it('gaps are counted by kind and by what was done, with their offsets, and partitions that stand still by what they stand before', async () => {
  const rig = new RuntimeRig(3, { gaps: { kind: 'skip' } });
  rig.append(30, 0);
  rig.cluster.log(rig.tp(0)).deleteBefore(20);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(0), nextToRead: 5 });
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(1), nextToRead: 7 });
  rig.append(3, 2);
  rig.cluster.log(rig.tp(2)).appendVoids(4);
  rig.append(1, 2);
  const { registry } = await observed(rig);
  await rig.until(() => rig.committed(0) === 30 && rig.committed(2) === 8, 'read');
  await rig.clock.advance(11_000);
  expect(await values(registry, 'gaps_total')).toEqual({
    [`${GROUP} ${TOPIC} 0 expired skipped`]: 1,
    [`${GROUP} ${TOPIC} 1 truncated halted`]: 1,
    [`${GROUP} ${TOPIC} 2 void void`]: 1,
  });
  expect(await values(registry, 'gap_offsets_total')).toEqual({
    [`${GROUP} ${TOPIC} 0 expired skipped`]: 15,
    [`${GROUP} ${TOPIC} 1 truncated halted`]: 7,
    [`${GROUP} ${TOPIC} 2 void void`]: 4,
  });
  expect(await values(registry, 'halted_partitions')).toEqual({
    [`${GROUP} expired`]: 0,
    [`${GROUP} budget`]: 0,
    [`${GROUP} truncated`]: 1,
    [`${GROUP} recreated`]: 0,
    [`${GROUP} dead`]: 0,
    [`${GROUP} sink`]: 0,
  });
});

it('what is restored, passed and waited for is shown', async () => {
  const rig = new RestoreRig(2);
  rig.overtaken(60, { at: 10, kept: 50, start: 55 }, 1);
  rig.kept.of(rig.tp(1)).fill('lost', 20, 24);
  const { registry, member } = await observed(rig);
  await rig.until(() => rig.lane(member, 1).restore?.waitsSinceMs !== undefined, 'it waits');
  await rig.clock.advance(7000);
  expect(await values(registry, 'restoring')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
  expect((await values(registry, 'restore_wait_seconds'))[`${GROUP} ${TOPIC} 1`]).toBeGreaterThanOrEqual(7);
  expect((await values(registry, 'restored_records_total'))[`${GROUP} ${TOPIC} 1`]).toBe(36);
  expect(await values(registry, 'restore_passed_offsets_total')).toEqual({ [`${GROUP} before-archive`]: 0, [`${GROUP} lost`]: 4 });
});
