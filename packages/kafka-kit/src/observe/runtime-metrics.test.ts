import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type Outcome, STORED } from '../consume/contract.ts';
import { GROUP, type Member, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { runtimeMetrics } from './runtime-metrics.ts';

async function values(registry: Registry, name: string): Promise<Record<string, number>> {
  const metric = await registry.getSingleMetric(`tailrace_consumer_${name}`)?.get();
  return Object.fromEntries((metric?.values ?? []).map(({ labels, value }) => [Object.values(labels).join(' '), value]));
}

async function observed(rig: RuntimeRig): Promise<{ registry: Registry; member: Member }> {
  const registry = new Registry();
  const metrics = runtimeMetrics(registry, rig.clock);
  const member = rig.member();
  const observe = metrics.observer(GROUP);
  // The rig collects the events; what it collected is told in order.
  const push = member.events.push.bind(member.events);
  member.events.push = (...events) => {
    for (const event of events) observe(event);
    return push(...events);
  };
  metrics.watch(GROUP, member.runtime);
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
    [`${GROUP} ${TOPIC} 1 stored`]: 3,
    [`${GROUP} ${TOPIC} 1 skipped`]: 1,
    [`${GROUP} ${TOPIC} 1 dead`]: 1,
  });
  expect(await values(registry, 'skipped_records_total')).toEqual({ [`${GROUP} old`]: 2 });
  expect(await values(registry, 'batches_closed_total')).toMatchObject({
    [`${GROUP} records`]: 2,
    [`${GROUP} age`]: 1,
    [`${GROUP} drain`]: 0,
  });
  expect(await values(registry, 'rebalances_total')).toEqual({ [`${GROUP} assigned`]: 1, [`${GROUP} revoked`]: 0, [`${GROUP} lost`]: 0 });
  expect(await values(registry, 'halts_total')).toEqual({ [`${GROUP} ${TOPIC} 1 dead`]: 1 });
  expect(await values(registry, 'halted')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
  expect(await values(registry, 'lag_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 2 });
  expect(await values(registry, 'unsettled_records')).toEqual({ [`${GROUP} ${TOPIC} 0`]: 0, [`${GROUP} ${TOPIC} 1`]: 1 });
  expect((await values(registry, 'commits_total'))[GROUP]).toBeGreaterThan(0);
  expect(Object.keys(await values(registry, 'poll_interval_seconds')).length).toBeGreaterThan(5);
  expect(await registry.metrics()).not.toContain('lane');
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
  expect(await values(registry, 'dead_letters_total')).toEqual({ 'g not-json': 3, 'g not-utf8': 1 });
  expect(await values(registry, 'unsendable_total')).toEqual({ 'g not-json': 1 });
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
  expect(await values(registry, 'stalls_total')).toEqual({ [`${GROUP} ${TOPIC} 1`]: 1 });
});
