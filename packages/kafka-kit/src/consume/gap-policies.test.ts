import { afterEach, expect, it } from 'vitest';
import type { GapPolicy } from '../recover/gap-policy.ts';
import { chain, gapsOf, recorder } from '../testing/gap-sinks.ts';
import { GROUP, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const SKIP: GapPolicy = { kind: 'skip' };
const RECORD: GapPolicy = { kind: 'record-and-go-on' };
const log = () => rig.cluster.log(rig.tp());
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

it('I9 expired at the opening, skip: counted, and it goes on at the log’s start, which is committed before anything is read', async () => {
  rig = new RuntimeRig(1, { gaps: SKIP });
  rig.append(50);
  log().deleteBefore(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 20 });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 50, 'the commit passes the hole');
  expect(gapsOf(member)).toEqual(['expired 20-50 skipped']);
  rig.append(5);
  await rig.until(() => rig.committed() === 55, 'it reads on');
  expect(member.sink.offsets()).toEqual(range(50, 55));
});

it.each([true, false])(
  'I9 expired while it runs, skip (records behind the hole: %s): what is in flight before it is not passed over',
  async (behind) => {
    rig = new RuntimeRig(1, { gaps: SKIP, inFlightPerLane: 3 });
    const member = await rig.running();
    member.sink.hold = true;
    rig.append(10);
    await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
    rig.append(30);
    log().deleteBefore(40);
    if (behind) rig.append(5);
    await rig.clock.advance(1000);
    if (!behind) {
      // The client stands at the log's end, and has said nothing of how it came there.
      expect(gapsOf(member)).toEqual([]);
      await rig.until(() => gapsOf(member).length === 1, 'found by the watch over silent lanes');
      rig.append(5);
      await rig.clock.advance(1000);
    }
    expect([rig.committed() ?? 0, gapsOf(member)]).toEqual([0, ['expired 10-40 skipped']]);
    member.sink.hold = false;
    for (const write of [...member.sink.open]) write.store();
    await rig.until(() => rig.committed() === 45, 'it reads on');
    expect(member.sink.offsets()).toEqual([...range(0, 10), ...range(40, 45)]);
  },
);

it('I9 expired while it runs, record-and-go-on: told behind everything below and before anything above, and only then passed', async () => {
  const { sink, told } = recorder();
  rig = new RuntimeRig(1, { gaps: RECORD, inFlightPerLane: 100 });
  const member = await rig.running(sink);
  sink.hold = true;
  rig.append(15);
  await rig.until(() => sink.open.length === 2, 'two batches in the sink, the second of five');
  member.consumer.stray(rig.tp(), 20);
  rig.append(30);
  log().deleteBefore(30);
  await rig.until(() => told.length === 1, 'told');
  await rig.until(() => sink.open.length === 4, 'what stands behind');
  expect(told).toEqual(['expired 15-30 of mem00001 after 14']);
  expect(sink.open.map(({ offsets }) => offsets[0])).toEqual([0, 10, 30, 40]);
  for (const write of sink.open.slice(2)) write.store();
  await rig.clock.advance(3000);
  expect(rig.committed()).toBe(0);
  for (const write of [...sink.open]) write.store();
  await rig.until(() => rig.committed() === 45, 'all is committed');
  expect(gapsOf(member)).toEqual(['expired 15-30 recorded']);
});

it('I9 expired again while the first is told: the second is told behind it', async () => {
  const { sink, told, ends } = chain(20);
  const tell = sink.gap?.bind(sink);
  let go = (): void => {};
  sink.gap = async (lane, gap) => {
    if (ends.size === 0) await new Promise<void>((resolve) => (go = resolve));
    await tell?.(lane, gap);
  };
  rig = new RuntimeRig(1, { gaps: RECORD });
  rig.append(60);
  log().deleteBefore(30);
  const member = rig.member(sink);
  await rig.start(member);
  await rig.clock.advance(1000);
  log().deleteBefore(40);
  go();
  await rig.until(() => rig.committed() === 60, 'all is read');
  expect(told.map((each) => each.replace(/ of.*/, ''))).toEqual(['expired 20-30', 'expired 30-40']);
  expect(sink.offsets()).toEqual(range(40, 60));
});

it('I9 what is in hand when the log’s start moves on is not declared lost', async () => {
  const { sink, told } = recorder();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  const facts = member.consumer.facts.bind(member.consumer);
  member.consumer.facts = async (tp) => {
    // Between what the client delivered, from 20 on, and the look-up.
    log().deleteBefore(25);
    return facts(tp);
  };
  rig.append(20);
  log().deleteBefore(20);
  await rig.until(() => rig.committed() === 30, 'it reads on');
  expect(told.map((each) => each.replace(/ of.*/, ''))).toEqual(['expired 10-20']);
  expect(sink.offsets()).toEqual([...range(0, 10), ...range(20, 30)]);
});

it('a sink that can not record what expired is an outage, and the gap is told until it is taken', async () => {
  const { sink, ends } = chain(5);
  const tell = sink.gap?.bind(sink);
  let asked = 0;
  sink.gap = async (lane, gap) => {
    asked += 1;
    if (asked < 4) throw new Error('the ledger is away');
    await tell?.(lane, gap);
  };
  rig = new RuntimeRig(1, { gaps: RECORD });
  rig.append(20);
  log().deleteBefore(10);
  const member = rig.member(sink);
  await rig.start(member);
  await rig.until(() => asked === 3, 'three tries');
  expect([rig.lane(member).outage?.reason, sink.offsets()]).toEqual(['the ledger is away', []]);
  await rig.until(() => rig.committed() === 20, 'it goes on');
  expect([ends.get('mem00001'), gapsOf(member)]).toEqual([10, ['expired 5-10 recorded']]);
});

it.each([SKIP, RECORD])('truncated halts under $kind too', async (gaps) => {
  rig = new RuntimeRig(1, { gaps });
  const member = await rig.running(recorder().sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  log().truncateTo(4);
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 60_000);
  expect(gapsOf(member)).toEqual(['truncated 4-10 halted']);
});

it('recreated halts under skip too', async () => {
  rig = new RuntimeRig(1, { gaps: SKIP });
  const member = await rig.running();
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 60_000);
  expect(gapsOf(member)).toEqual(['recreated 0-0 halted']);
});

it('to record gaps without a sink that takes them is refused', () => {
  rig = new RuntimeRig(1, { gaps: RECORD });
  expect(() => rig.member()).toThrow(/sink scripted has no gap\(\)/);
});
