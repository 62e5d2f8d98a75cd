import { afterEach, expect, it } from 'vitest';
import { GROUP, kinds, RuntimeRig } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

it.each([
  ['earliest', 30],
  ['latest', 50],
] as const)('a new group starts at the %s offset, and commits it before it reads', async (start, at) => {
  rig = new RuntimeRig(1, { start });
  rig.append(50);
  rig.cluster.log(rig.tp()).deleteBefore(30);
  const member = rig.member();
  const committedAtFirst: (number | null)[] = [];
  member.sink.respond = ({ offsets }) => {
    committedAtFirst.push(rig.committed());
    return offsets.map(() => STORED);
  };
  await rig.start(member);
  await rig.until(() => rig.lane(member).phase === 'running', 'opened');
  rig.append(1);
  await rig.until(() => rig.committed() === 51, 'all was read');
  expect([committedAtFirst[0], member.sink.offsets()[0]]).toEqual([at, at]);
});

it('a new group with start latest that dies before its first settled record loses nothing', async () => {
  rig = new RuntimeRig(1, { start: 'latest' });
  rig.append(50);
  const first = await rig.running();
  first.sink.hold = true;
  rig.append(20);
  await rig.until(() => first.sink.open.length === 1, 'the first has a batch');
  first.consumer.kill();
  first.consumer.endSession();
  rig.append(5);
  const second = await rig.running();
  await rig.until(() => rig.committed() === 75, 'the second has read on');
  expect(second.sink.offsets()[0]).toBe(50);
});

it('a commit is where a group begins, whatever the start policy says', async () => {
  rig = new RuntimeRig(1, { start: 'latest' });
  rig.append(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 12 });
  const member = await rig.running();
  await rig.until(() => rig.committed() === 50, 'all was read');
  expect(member.sink.offsets()[0]).toBe(12);
});

it('the sink’s position beats the commit above it, and the commit follows at once', async () => {
  rig = new RuntimeRig();
  rig.append(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 12 });
  const member = rig.member();
  member.sink.hold = true;
  member.sink.assign = async (lane) => {
    expect(lane).toEqual({ ...rig.tp(), incarnation: 'mem00001', committed: 12, logStart: 0, logEnd: 50 });
    return { startAt: 40 };
  };
  await rig.start(member);
  await rig.until(() => member.sink.open.length === 1, 'a batch');
  expect(member.sink.waiting.offsets[0]).toBe(40);
  await rig.until(() => rig.committed() === 40, 'the commit says what the sink has');
});

it('the sink’s position beats the commit below it, and the records between are handed over again without a lower commit', async () => {
  rig = new RuntimeRig();
  rig.append(50);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 45 });
  const member = rig.member();
  member.sink.assign = async () => ({ startAt: 20 });
  await rig.start(member);
  await rig.until(() => rig.committed() === 50, 'all was read');
  expect(member.sink.offsets()).toEqual(Array.from({ length: 30 }, (_, i) => 20 + i));
  expect(rig.cluster.group(GROUP).commits.map(({ nextToRead }) => nextToRead)).toEqual([50]);
});

it('a sink that wants no position leaves it to the commit', async () => {
  rig = new RuntimeRig();
  rig.append(5);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 3 });
  const member = rig.member();
  member.sink.assign = async () => undefined;
  await rig.start(member);
  await rig.until(() => rig.committed() === 5, 'read');
  expect(member.sink.offsets()).toEqual([3, 4]);
});

it.each([
  ['Number.NaN', Number.NaN],
  ['a negative one', -1],
  ['a fraction', 2.5],
  ['text', '7' as unknown as number],
])('a start at %s is an outage of the lane, named after the sink, and asked again', async (_, startAt) => {
  rig = new RuntimeRig();
  rig.append(5);
  const member = rig.member();
  let sane = false;
  member.sink.assign = async () => ({ startAt: sane ? 2 : startAt });
  await rig.start(member);
  await rig.clock.advance(3000);
  expect(rig.lane(member).outage).toMatchObject({ why: 'open', reason: `sink scripted wants to start at ${startAt}` });
  expect([member.runtime.state.kind, member.sink.writes]).toEqual(['running', []]);
  sane = true;
  await rig.until(() => rig.committed() === 5, 'it opens');
  expect(member.sink.offsets()).toEqual([2, 3, 4]);
  expect(kinds(member.events, 'recovered')).toHaveLength(1);
});

it('a sink that can not assign is asked again with backoff, and its other lanes run', async () => {
  rig = new RuntimeRig(2);
  for (const partition of [0, 1]) rig.append(5, partition);
  const member = rig.member();
  let asked = 0;
  member.sink.assign = async ({ partition }) => {
    if (partition === 1) return undefined;
    asked += 1;
    if (asked < 6) throw new Error('the lake is away');
    return { startAt: 1 };
  };
  await rig.start(member);
  await rig.until(() => rig.committed(1) === 5, 'the other lane');
  await rig.until(() => rig.committed(0) === 5, 'the lane');
  expect([asked, member.sink.offsets(0)]).toEqual([6, [1, 2, 3, 4]]);
});

it('a cluster that is away while a lane opens is waited for', async () => {
  rig = new RuntimeRig();
  rig.append(5);
  const member = rig.member();
  await rig.start(member);
  rig.cluster.down = true;
  await rig.clock.advance(10_000);
  rig.cluster.down = false;
  await rig.until(() => rig.committed() === 5, 'it reads');
  expect(member.sink.offsets()).toEqual([0, 1, 2, 3, 4]);
});

it('what is delivered while a lane opens is dropped, never tracked, and read again', async () => {
  rig = new RuntimeRig();
  const member = rig.member();
  let open = (): void => {};
  member.sink.assign = () =>
    new Promise((resolve) => {
      open = () => resolve(undefined);
    });
  rig.append(3);
  await rig.start(member);
  rig.append(3);
  await rig.clock.advance(500);
  expect(rig.lane(member)).toMatchObject({
    phase: 'opening',
    paused: true,
    nextToRead: undefined,
    lag: undefined,
    unsettled: 0,
    bufferedBytes: 0,
  });
  open();
  await rig.clock.advance(500);
  open();
  await rig.until(() => rig.committed() === 6, 'all was read');
  expect(member.sink.offsets()).toEqual([0, 1, 2, 3, 4, 5]);
});

it('an idle topic’s batches close by age', async () => {
  rig = new RuntimeRig(1, { batch: { maxRecords: 1000, maxBytes: 1_000_000, maxAgeMs: 2000 } });
  const member = await rig.running();
  rig.append(3);
  await rig.clock.advance(1900);
  expect(member.sink.writes).toEqual([]);
  await rig.clock.advance(300);
  expect(member.sink.writes.map(({ offsets, batch }) => [offsets, batch.closedBy])).toEqual([[[0, 1, 2], 'age']]);
});

it('options that contradict each other are refused', () => {
  const wrong: ConstructorParameters<typeof RuntimeRig>[1][] = [
    { inFlightPerLane: 0 },
    { batch: { maxRecords: 0, maxBytes: 1, maxAgeMs: 1 } },
    { batch: { maxRecords: 1, maxBytes: 0, maxAgeMs: 1 } },
    { buffer: { pauseAtBytes: 10, resumeAtBytes: 10 } },
    { drain: { revokeMs: 2, stopMs: 1 } },
    { batch: { maxRecords: 1, maxBytes: 100, maxAgeMs: 1 }, buffer: { pauseAtBytes: 99, resumeAtBytes: 1 } },
  ];
  for (const settings of wrong) expect(() => new RuntimeRig(1, settings).member()).toThrow(RangeError);
});
