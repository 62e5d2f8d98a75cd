import { afterEach, expect, it } from 'vitest';
import { kinds, type Member, RuntimeRig } from '../testing/runtime-rig.ts';
import { STORED } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

/** A member with one batch in a sink that never answers by itself; its other partition has settled all. */
async function stuck(prepare: (member: Member) => void): Promise<Member> {
  rig = new RuntimeRig(2);
  const member = await rig.running();
  rig.append(5, 0);
  await rig.until(() => rig.committed(0) === 5, 'partition 0 is settled');
  member.sink.hold = true;
  prepare(member);
  rig.append(10, 1);
  await rig.until(() => member.sink.open.length === 1, 'a batch in the sink');
  return member;
}

const STUCK = [{ topic: 'events', partition: 1, reason: '10 records from offset 0 on' }];

it.each<[string, (member: Member) => void]>([
  [
    'ends only when its signal does',
    ({ sink }) => {
      const write = sink.write.bind(sink);
      sink.write = (batch, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          void write(batch, signal);
        });
    },
  ],
  ['ignores its signal', () => {}],
  [
    'ignores its signal, and never ends its flush and its close',
    ({ sink }) => {
      sink.flush = () => new Promise(() => {});
      sink.close = () => new Promise(() => {});
    },
  ],
])('a stop ends by its deadline and names what was stuck, with a sink that %s', async (_, prepare) => {
  const member = await stuck(prepare);
  const sinceMs = rig.clock.nowMs();
  const report = await rig.stop(member);
  expect(rig.clock.nowMs() - sinceMs).toBeLessThanOrEqual(8010);
  expect(report).toMatchObject({ settledRecords: 5, abandonedRecords: 10, stuck: STUCK });
  expect(member.sink.writes.at(-1)?.signal.aborted).toBe(true);
  // The client has left all the same: another member gets the partition at once.
  const other = rig.member();
  await rig.start(other);
  await rig.until(() => rig.committed(1) === 10, 'the next owner reads it again', 2000);
  expect(kinds(member.events, 'drained').at(-1)).toMatchObject({ why: 'stop', stuck: STUCK });
});

it('the reason of a lane that retries for ever stands in the report', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.respond = () => {
    throw new Error('the store is away');
  };
  rig.append(10);
  await rig.until(() => rig.lane(member).outage !== undefined, 'the outage');
  member.sink.hold = true;
  await rig.until(() => member.sink.open.length === 1, 'the next try');
  expect((await rig.stop(member)).stuck).toEqual([
    { topic: 'events', partition: 0, reason: '10 records from offset 0 on; the store is away' },
  ]);
});

it('a stop that has less time than the group’s own ends within that, and still drains what ends', async () => {
  const member = await stuck(() => {});
  const stopping = rig.stop(member, 1000);
  await rig.clock.advance(100);
  const [open] = member.sink.open;
  open?.answer(open.offsets.map(() => STORED));
  expect(await stopping).toMatchObject({ settledRecords: 15, abandonedRecords: 0, committed: true, closed: true, stuck: [] });
  const held = await stuck(() => {});
  const heldSinceMs = rig.clock.nowMs();
  expect(await rig.stop(held, 1000)).toMatchObject({ closed: true, stuck: STUCK });
  expect(rig.clock.nowMs() - heldSinceMs).toBeLessThan(1000);
});

it('what does not close in time is told by name', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  member.sink.close = () => new Promise(() => {});
  expect(await rig.stop(member)).toMatchObject({ closed: false });
  expect(kinds(member.events, 'broker-error').map((event) => event.kind === 'broker-error' && (event.cause as Error).message)).toEqual([
    'sink scripted did not close in time',
  ]);
});
