import { afterEach, expect, it } from 'vitest';
import type { GapPolicy } from '../recover/gap-policy.ts';
import { GROUP, kinds, type Member, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { ScriptedSink } from '../testing/scripted-sink.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const SKIP: GapPolicy = { kind: 'skip' };
const RECORD: GapPolicy = { kind: 'record-and-go-on' };
const log = () => rig.cluster.log(rig.tp());
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const gapsOf = (member: Member): string[] =>
  kinds(member.events, 'gap').map((event) =>
    event.kind === 'gap' ? `${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}` : '',
  );

/** A sink that writes down what it is told, with what it was handed over before. */
function recorder(): { readonly sink: ScriptedSink; readonly told: string[] } {
  const sink = new ScriptedSink();
  const told: string[] = [];
  sink.gap = async ({ incarnation }, { kind, from, to }) =>
    void told.push(`${kind} ${from}-${to} of ${incarnation} after ${sink.offsets().at(-1) ?? 'nothing'}`);
  return { sink, told };
}

/** Like the archiver: a chain of its own decides where the lane begins, and an entry of it passes what is gone. */
function chain(end = 0) {
  const { sink, told } = recorder();
  const ends = new Map<string, number>();
  const tell = sink.gap?.bind(sink);
  sink.assign = async ({ incarnation }) => ({ startAt: ends.get(incarnation) ?? end });
  sink.gap = async (lane, gap) => {
    await tell?.(lane, gap);
    ends.set(lane.incarnation, gap.to);
  };
  return { sink, told, ends };
}

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

it('recreated while it runs, record-and-go-on: told on the old lane at the end of what is proven, then the new topic is read from its start', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD, inFlightPerLane: 100 });
  const member = await rig.running(sink);
  sink.hold = true;
  rig.append(10);
  // The comparison of ids every 10 s proves these ten; those that follow are proven by nothing.
  await rig.clock.advance(10_500);
  rig.append(7);
  await rig.until(() => sink.open.length === 2, 'two batches');
  rig.cluster.recreateTopic(TOPIC);
  sink.hold = false;
  rig.append(4);
  await rig.until(() => sink.offsets().length === 21, 'the new topic is read', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 16']);
  expect(sink.writes.at(-1)?.batch.source.incarnation).toBe('mem00002');
  expect(sink.offsets()).toEqual([...range(0, 17), ...range(0, 4)]);
  // What the old lane's batches are answered with settles nothing of the new one.
  for (const write of [...sink.open]) write.store();
  await rig.until(() => rig.committed() === 4, 'the new topic is committed');
  expect(gapsOf(member)).toEqual(['recreated 10-10 recorded']);
  expect(await rig.stop(member)).toMatchObject({ deliveredRecords: 21, settledRecords: 4, abandonedRecords: 17, committed: true });
});

it('recreated: what is delivered while a look-up is under way is not proven by its answer', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => sink.offsets().length === 10, 'ten records');
  const incarnation = member.consumer.incarnation.bind(member.consumer);
  let asked = 0;
  member.consumer.incarnation = async (topic) => {
    const answer = await incarnation(topic);
    asked += 1;
    if (asked === 1) await rig.clock.sleep(500);
    return answer;
  };
  await rig.until(() => asked === 1, 'the comparison of ids');
  rig.append(7);
  await rig.until(() => sink.offsets().length === 17, 'seven more');
  await rig.clock.advance(1000);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => told.length === 1, 'told', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 16']);
});

it('recreated: a commit of the old life that was never answered holds up no stop', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  member.consumer.commitsUnanswered = true;
  rig.append(10);
  await rig.until(() => sink.offsets().length === 10, 'ten records');
  await rig.clock.advance(1000);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => told.length === 1, 'told', 60_000);
  await rig.until(() => rig.lane(member).phase === 'running', 'the new lane');
  member.consumer.commitsUnanswered = false;
  expect(await rig.stop(member)).toMatchObject({ committed: true, closed: true });
});

it('recreated: what waits behind the end of what is proven is never handed over', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD, inFlightPerLane: 1, batch: { maxRecords: 8, maxBytes: 1_000_000, maxAgeMs: 100 } });
  const member = await rig.running(sink);
  sink.hold = true;
  rig.append(20);
  await rig.clock.advance(10_500);
  rig.append(15);
  await rig.clock.advance(500);
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => rig.lane(member).phase === 'ending', 'ending', 60_000);
  // [0,8) is in the sink, [8,16) and [16,20) are proven, what was delivered in one batch with 20 to 23 is cut.
  for (let i = 0; i < 3; i += 1) {
    await rig.until(() => sink.open.length === 1, `batch ${i}`);
    expect(told).toEqual([]);
    sink.waiting.store();
  }
  await rig.until(() => rig.lane(member).phase === 'running', 'the new lane');
  expect(told).toEqual(['recreated 20-20 of mem00001 after 19']);
  expect([sink.offsets(), rig.lane(member).bufferedBytes, rig.committed()]).toEqual([range(0, 20), 0, null]);
});

it('recreated between two ownerships of one process, record-and-go-on: the sink is told before it is asked where the new one begins', async () => {
  const { sink, told } = chain();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.clock.advance(10_500);
  const { assign } = sink;
  sink.assign = async (lane) => {
    told.push(`assign of ${lane.incarnation}`);
    return assign?.(lane);
  };
  rig.cluster.recreateTopic(TOPIC);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 10 });
  member.consumer.endSession();
  await rig.until(() => member.runtime.lanes().length === 0, 'lost');
  rig.append(30);
  await rig.until(() => sink.offsets().length === 40, 'the new topic is read', 60_000);
  expect(told).toEqual(['recreated 10-10 of mem00001 after 9', 'assign of mem00002']);
  expect(sink.offsets()).toEqual([...range(0, 10), ...range(0, 30)]);
});

it('a new life that has lost its beginning already is told as expired, not passed over', async () => {
  const { sink, told } = recorder();
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  rig.cluster.recreateTopic(TOPIC);
  rig.append(30);
  log().deleteBefore(12);
  await rig.until(() => rig.committed() === 30, 'the new topic is read', 60_000);
  expect(told.map((each) => each.replace(/ after.*/, ''))).toEqual(['recreated 0-0 of mem00001', 'expired 0-12 of mem00002']);
  expect(sink.offsets()).toEqual([...range(0, 10), ...range(12, 30)]);
  expect(gapsOf(member)).toHaveLength(2);
});

it('a partition that is given back while the end of its topic is told begins no second lane', async () => {
  const { sink } = chain();
  let told = (): void => {};
  let asked = 0;
  sink.gap = () => {
    asked += 1;
    return new Promise((resolve) => (told = resolve));
  };
  rig = new RuntimeRig(1, { gaps: RECORD });
  const member = await rig.running(sink);
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  rig.cluster.recreateTopic(TOPIC);
  await rig.until(() => asked === 1, 'told', 60_000);
  const other = rig.member(recorder().sink);
  await rig.start(other);
  rig.cluster.group(GROUP).move(rig.tp(), other.consumer.id);
  await rig.until(() => other.runtime.lanes().length === 1, 'given away');
  told();
  await rig.clock.advance(1000);
  expect(member.runtime.lanes()).toEqual([]);
});

it('to record gaps without a sink that takes them is refused', () => {
  rig = new RuntimeRig(1, { gaps: RECORD });
  expect(() => rig.member()).toThrow(/sink scripted has no gap\(\)/);
});
