import { afterEach, expect, it } from 'vitest';
import type { GapPolicy } from '../recover/gap-policy.ts';
import { gapsOf, recorder } from '../testing/gap-sinks.ts';
import { PositionsRig } from '../testing/positions-rig.ts';
import { GROUP, RuntimeRig } from '../testing/runtime-rig.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const log = () => rig.cluster.log(rig.tp());
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const fresh = (from: number | undefined): GapPolicy => ({ kind: 'fresh-first', freshFrom: async () => from });
/** Goes back ten records before the commit, as one that rebuilds what it counts. */
const rewinding = () => {
  const { sink, told } = recorder();
  sink.assign = async ({ committed, logStart }) =>
    committed === null || committed < logStart ? undefined : { startAt: Math.max(logStart, committed - 10) };
  return { sink, told };
};

it.each([
  [70, 70],
  [20, 50],
  [undefined, 90],
  [500, 90],
])(
  'I9 expired at the opening, fresh-first (fresh from %s): on from %d, the sink is told the whole range, and it is committed',
  async (from, to) => {
    rig = new RuntimeRig(1, { gaps: fresh(from), rewinds: true });
    rig.append(90);
    log().deleteBefore(50);
    rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 20 });
    const { sink, told } = rewinding();
    const member = await rig.running(sink);
    rig.append(5);
    await rig.until(() => rig.committed() === 95, 'it reads on');
    expect(told.map((each) => each.split(' of ')[0])).toEqual([`expired 20-${to}`]);
    expect(gapsOf(member)).toEqual([`expired 20-${to} fresh`]);
    expect(sink.offsets()).toEqual(range(to, 95));
  },
);

it('I9 expired while it runs, fresh-first: told behind what was handed over, and what is not fresh is passed although it was delivered', async () => {
  rig = new RuntimeRig(1, { gaps: fresh(50), rewinds: true });
  const { sink, told } = rewinding();
  const member = await rig.running(sink);
  rig.append(15);
  await rig.until(() => rig.committed() === 15, 'the first records');
  member.consumer.stray(rig.tp(), 40);
  rig.append(45);
  log().deleteBefore(30);
  await rig.until(() => rig.committed() === 60, 'it reads on');
  expect(told.map((each) => each.split(' of ')[0])).toEqual(['expired 15-50']);
  expect(gapsOf(member)).toEqual(['expired 15-50 fresh']);
  expect(sink.offsets()).toEqual([...range(0, 15), ...range(50, 60)]);
});

it('I9 what is fresh can not be looked up: the lane waits and asks again', async () => {
  let asked = 0;
  const freshFrom = async (): Promise<number> => {
    asked += 1;
    if (asked < 3) throw new Error('Kafka is away');
    return 60;
  };
  rig = new RuntimeRig(1, { gaps: { kind: 'fresh-first', freshFrom }, rewinds: true });
  rig.append(90);
  log().deleteBefore(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 20 });
  const { sink, told } = rewinding();
  await rig.running(sink);
  await rig.until(() => rig.committed() === 90, 'it reads on');
  expect([asked, told.length, sink.offsets()[0]]).toEqual([3, 1, 60]);
});

it('I2 a sink that rewinds reads again what lies before the commit, and the commit is not lowered', async () => {
  rig = new RuntimeRig(1, { gaps: fresh(undefined), rewinds: true });
  rig.append(40);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 25 });
  const { sink } = rewinding();
  sink.hold = true;
  await rig.running(sink);
  await rig.until(() => sink.open.length === 1, 'the first batch');
  sink.waiting.store();
  await rig.clock.advance(5000);
  expect(rig.committed()).toBe(25);
  sink.hold = false;
  for (const write of [...sink.open]) write.store();
  await rig.until(() => rig.committed() === 40, 'all is committed');
  expect(sink.offsets()).toEqual(range(15, 40));
});

it('I9 a sink that rewinds does not hide that the log was cut back: halted, with the reset that ends it', async () => {
  rig = new RuntimeRig(1, { gaps: fresh(undefined), rewinds: true });
  rig.append(40);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 45 });
  const { sink } = rewinding();
  const member = await rig.running(sink);
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 30_000);
  expect(rig.lane(member).halted).toMatch(/but the log ends at 40; .*group reset --group readers/);
  expect(sink.offsets()).toEqual([]);
});

it('I9 a sink that rewinds does not hide that the topic was made anew while its process was away', async () => {
  const kept = await PositionsRig.open(1, { gaps: fresh(undefined), rewinds: true });
  rig = kept;
  rig.append(40);
  kept.keep(30, 0, { incarnation: 'another0' });
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 30 });
  const { sink } = rewinding();
  const member = await rig.running(sink);
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 30_000);
  expect(rig.lane(member).halted).toMatch(/deleted and made anew/);
  expect(sink.offsets()).toEqual([]);
});
