import { afterEach, expect, it } from 'vitest';
import { BrokerError } from '../broker/broker-consumer.ts';
import { GROUP, kinds, type Member, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const halted = (member: Member): Promise<void> => rig.until(() => rig.lane(member).phase === 'halted', 'the lane is halted', 30_000);
const gapsOf = (member: Member): unknown[] => kinds(member.events, 'gap').map((event) => (event.kind === 'gap' ? event.gap : undefined));
const log = () => rig.cluster.log(rig.tp());

/** Ten records read and committed, the lane at 10. */
async function atTen(partitions = 1): Promise<Member> {
  rig = new RuntimeRig(partitions);
  const member = await rig.running();
  rig.append(10);
  await rig.until(() => rig.committed() === 10, 'ten records');
  return member;
}

it('expired at the opening: it halts at once, names the range and the way out, and commits nothing', async () => {
  rig = new RuntimeRig(2);
  rig.append(50);
  log().deleteBefore(30);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 20 });
  const member = rig.member();
  await rig.start(member);
  await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 1000);
  expect(rig.lane(member).halted).toBe(
    `Group ${GROUP} needs offsets 20 to 29 of ${TOPIC}, partition 0, which Kafka no longer holds; to pass them, stop the group, run: npx tailrace group reset --group ${GROUP} --topic ${TOPIC} --partition 0 --to earliest, and start it.`,
  );
  expect([gapsOf(member), member.sink.offsets(), rig.committed()]).toEqual([[{ kind: 'expired', from: 20, to: 30 }], [], 20]);
  rig.append(10, 1);
  await rig.until(() => rig.committed(1) === 10, 'the other partition goes on');
});

it('expired while it runs: what jumps to the log’s start is held back and never handed over', async () => {
  const member = await atTen();
  member.sink.respond = () => {
    throw new Error('away');
  };
  rig.append(1);
  await rig.until(() => rig.lane(member).outage !== undefined, 'paused by an outage');
  rig.append(30);
  log().deleteBefore(25);
  member.sink.respond = undefined;
  await halted(member);
  expect(gapsOf(member)).toEqual([{ kind: 'expired', from: 11, to: 25 }]);
  expect([member.sink.offsets().at(-1), rig.lane(member).bufferedBytes]).toEqual([10, 0]);
  await rig.until(() => rig.committed() === 11, 'what was read before is committed');
});

it('truncated is believed only when a second look-up 10 s later agrees', async () => {
  const member = await atTen();
  log().truncateTo(4);
  const sinceMs = rig.clock.nowMs();
  await rig.until(() => rig.lane(member).phase === 'checking', 'something unexpected');
  await rig.until(() => rig.lane(member).outage !== undefined, 'the suspicion');
  await rig.clock.advance(9000);
  expect(rig.lane(member).phase).toBe('checking');
  await halted(member);
  expect(rig.clock.nowMs() - sinceMs).toBeGreaterThanOrEqual(10_000);
  expect(gapsOf(member)).toEqual([{ kind: 'truncated', from: 4, to: 10 }]);
  expect(rig.lane(member).halted).toMatch(/stands at offset 10 .* but the log ends at 4/);
});

it('a truncation that the second look-up does not see ends by itself, and nothing is read twice', async () => {
  rig = new RuntimeRig();
  rig.append(5);
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 10 });
  const member = rig.member();
  await rig.start(member);
  await rig.until(() => rig.lane(member).outage !== undefined, 'the suspicion');
  rig.append(10);
  await rig.until(() => rig.committed() === 15, 'it reads on', 30_000);
  expect([member.sink.offsets(), rig.lane(member).outage, gapsOf(member)]).toEqual([[10, 11, 12, 13, 14], undefined, []]);
});

it('a second look-up that tells another kind of fault is a first one of that kind', async () => {
  const member = await atTen();
  log().truncateTo(4);
  await rig.until(() => rig.lane(member).outage !== undefined, 'truncated is suspected', 30_000);
  rig.cluster.recreateTopic(TOPIC);
  const sinceMs = rig.clock.nowMs();
  await halted(member);
  expect(rig.clock.nowMs() - sinceMs).toBeGreaterThanOrEqual(18_000);
  expect(gapsOf(member)).toEqual([{ kind: 'recreated', from: 10, to: 10 }]);
});

it('a suspicion that was cleared does not make a later one believed at once', async () => {
  const member = await atTen();
  const whole = rig.cluster.topic(TOPIC).incarnation;
  // Twice a look-up of the id tells nonsense, an hour apart: each is looked up a second time.
  for (const hour of [1, 2]) {
    let asked = 0;
    const { incarnation } = member.consumer;
    member.consumer.incarnation = async () => {
      asked += 1;
      return asked === 1 ? 'nonsense' : whole;
    };
    await rig.until(() => rig.lane(member).phase === 'checking', `suspicion ${hour}`, 30_000);
    await rig.until(() => rig.lane(member).phase === 'running', `cleared ${hour}`, 30_000);
    member.consumer.incarnation = incarnation;
    await rig.clock.advance(60_000);
  }
  rig.append(5);
  await rig.until(() => rig.committed() === 15, 'it reads on');
});

it('an outage of the sink does not hurry the second look-up, and a suspicion does not end the outage', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 2 });
  const member = await rig.running();
  member.sink.hold = true;
  rig.append(30);
  await rig.until(() => member.sink.open.length === 2, 'two batches');
  const facts = member.consumer.facts.bind(member.consumer);
  const lookUps: number[] = [];
  member.consumer.facts = async (tp) => {
    lookUps.push(rig.clock.nowMs());
    return { ...(await facts(tp)), incarnation: 'another1' };
  };
  member.consumer.stray(rig.tp(), 3);
  await rig.until(() => rig.lane(member).phase === 'checking', 'a look-up');
  const [first, second] = member.sink.open;
  first?.fail('away');
  await rig.clock.advance(3000);
  member.sink.open.find(({ offsets }) => offsets[0] === 0)?.fail('away');
  second?.store();
  await rig.clock.advance(3000);
  expect(lookUps).toHaveLength(1);
  await rig.until(() => lookUps.length === 2, 'the second look-up', 30_000);
  expect((lookUps[1] ?? 0) - (lookUps[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
  // [20,30) stands behind the batch that is owed, and is never handed over before it.
  const order = member.sink.writes.map(({ offsets }) => offsets[0]);
  expect(order.slice(0, 2)).toEqual([0, 10]);
  expect(new Set(order.slice(2))).toEqual(new Set([0]));
});

it('recreated while it runs, below where it stood: it halts, and commits nothing into the new topic', async () => {
  const member = await atTen();
  member.sink.hold = true;
  rig.append(10);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  rig.cluster.recreateTopic(TOPIC);
  rig.append(3);
  await rig.until(() => rig.lane(member).phase === 'checking', 'something unexpected', 30_000);
  await rig.until(() => rig.lane(member).outage !== undefined, 'the suspicion');
  member.sink.waiting.store();
  await halted(member);
  // No look-up since the opening gave the old id: nothing is proven to be of it.
  expect(gapsOf(member)).toEqual([{ kind: 'recreated', from: 0, to: 0 }]);
  await rig.clock.advance(5000);
  expect(rig.committed()).toBeNull();
  expect((await rig.stop(member)).closed).toBe(true);
  expect(rig.committed()).toBeNull();
});

it('recreated and grown beyond where it stood: the comparison of ids every 10 s finds it', async () => {
  const member = await atTen();
  rig.cluster.recreateTopic(TOPIC);
  rig.append(10);
  await halted(member);
  expect(rig.lane(member).halted).toMatch(/deleted and made anew/);
});

it('recreated between two ownerships of one process: a commit of the old life is not taken for the new one’s', async () => {
  const member = await atTen();
  rig.cluster.recreateTopic(TOPIC);
  // A member's last commit that arrives after the topic was made anew: Kafka takes it, by name.
  rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: 10 });
  member.consumer.endSession();
  await rig.until(() => member.runtime.lanes().length === 0, 'lost');
  rig.append(30);
  await rig.until(() => member.runtime.lanes().length === 1, 'assigned again');
  await halted(member);
  expect(gapsOf(member)).toEqual([{ kind: 'recreated', from: 0, to: 0 }]);
  expect(member.sink.offsets()).toEqual(Array.from({ length: 10 }, (_, i) => i));
});

it('a broker error brings the comparison of ids forward', async () => {
  const member = await atTen();
  await rig.clock.advance(10_500);
  rig.cluster.recreateTopic(TOPIC);
  rig.append(10);
  const sinceMs = rig.clock.nowMs();
  member.consumer.failPoll(new BrokerError('metadata', -195, false));
  await rig.until(() => rig.lane(member).phase === 'checking', 'the suspicion', 5000);
  expect(rig.clock.nowMs() - sinceMs).toBeLessThan(2000);
});

it('a look-up that is not answered is not asked again beside itself', async () => {
  const member = await atTen();
  let asked = 0;
  member.consumer.incarnation = () => {
    asked += 1;
    return new Promise(() => {});
  };
  for (let i = 0; i < 30; i += 1) {
    member.consumer.failPoll(new BrokerError('all brokers are down', -187, false));
    await rig.clock.advance(1500);
  }
  expect(asked).toBe(1);
});

it('a deleted topic that is not there again is an outage with its name, not an end', async () => {
  const member = await atTen();
  rig.cluster.deleteTopic(TOPIC);
  await rig.until(() => rig.lane(member).outage !== undefined, 'the suspicion', 30_000);
  await rig.clock.advance(20_000);
  expect([member.runtime.state.kind, rig.lane(member).phase, rig.lane(member).outage?.reason]).toEqual([
    'running',
    'checking',
    `topic ${TOPIC} does not exist`,
  ]);
});

it('voids one behind the other are each told, in their place, with everything before handed over', async () => {
  rig = new RuntimeRig();
  log().appendVoids(2);
  for (let i = 0; i < 5; i += 1) {
    rig.append(3);
    log().appendVoids(4);
  }
  rig.append(1);
  const member = rig.member();
  const seen: string[] = [];
  member.sink.respond = ({ offsets }) => {
    seen.push(`write ${offsets.join()}`);
    return offsets.map(() => STORED);
  };
  member.sink.gap = async (_, { from, to }) => void seen.push(`void ${from}-${to}`);
  await rig.start(member);
  await rig.until(() => rig.committed() === 38, 'all was read');
  expect(seen).toEqual([
    'void 0-2',
    ...[2, 9, 16, 23, 30].flatMap((at) => [`write ${at},${at + 1},${at + 2}`, `void ${at + 3}-${at + 7}`]),
    'write 37',
  ]);
});

it('on a compacted topic voids are no news, and a batch reaches over them', async () => {
  rig = new RuntimeRig(1, { compactedTopics: [TOPIC], batch: { maxRecords: 10, maxBytes: 1_000_000, maxAgeMs: 60_000 } });
  for (let i = 0; i < 3; i += 1) {
    rig.append(3);
    log().appendVoids(4);
  }
  rig.append(1);
  const member = rig.member();
  const told: unknown[] = [];
  member.sink.gap = async (_, gap) => void told.push(gap);
  await rig.start(member);
  await rig.until(() => rig.committed() === 22, 'all was read');
  expect([told, gapsOf(member)]).toEqual([[], []]);
  expect(member.sink.offsets()).toEqual([0, 1, 2, 7, 8, 9, 14, 15, 16, 21]);
  expect(member.sink.writes).toHaveLength(1);
  log().deleteBefore(22);
  rig.append(2);
  log().deleteBefore(23);
  await halted(member);
  expect(gapsOf(member)).toEqual([{ kind: 'expired', from: 22, to: 23 }]);
});

it.each([2, 25])('a client that delivers out of turn, from %d instead of 10, is set back, and everything is read once', async (at) => {
  const member = await atTen();
  member.consumer.stray(rig.tp(), at);
  rig.append(20);
  await rig.until(() => rig.committed() === 30, 'all was read');
  expect(member.sink.offsets()).toEqual(Array.from({ length: 30 }, (_, i) => i));
  expect(gapsOf(member)).toEqual([]);
});
