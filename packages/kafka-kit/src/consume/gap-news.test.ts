import { afterEach, expect, it } from 'vitest';
import { kinds, type Member, RuntimeRig } from '../testing/runtime-rig.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const gapsOf = (member: Member): unknown[] => kinds(member.events, 'gap').map((event) => (event.kind === 'gap' ? event.gap : undefined));
const log = () => rig.cluster.log(rig.tp());

it('a sink that can not take the news of a gap is an outage: nothing behind the gap is handed over', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let asked = 0;
  member.sink.gap = async () => {
    asked += 1;
    if (asked < 5) throw new Error('the ledger is away');
  };
  rig.append(3);
  log().appendVoids(2);
  rig.append(3);
  await rig.until(() => asked === 4, 'four tries');
  expect([member.sink.offsets(), rig.lane(member).outage?.why]).toEqual([[0, 1, 2], 'gap']);
  await rig.until(() => rig.committed() === 8, 'it goes on');
  expect(gapsOf(member)).toHaveLength(1);
});

it('a sink with a position of its own that can not take the news of a gap is assigned anew: it may have given up its lane', async () => {
  rig = new RuntimeRig();
  const member = await rig.running();
  let givenUp = false;
  let assigned = 0;
  member.sink.assign = async () => {
    givenUp = false;
    assigned += 1;
    return { startAt: 3 };
  };
  member.sink.gap = async () => {
    givenUp ||= assigned === 0;
    if (givenUp) throw new Error('the lane is given up');
  };
  rig.append(3);
  log().appendVoids(2);
  rig.append(3);
  await rig.until(() => rig.committed() === 8, 'it goes on');
  expect(assigned).toBe(1);
  expect(member.sink.offsets()).toEqual([0, 1, 2, 5, 6, 7]);
});

it('a batch that fails while the news of a gap behind it is told is handed over again', async () => {
  rig = new RuntimeRig(1, { inFlightPerLane: 2 });
  const member = await rig.running();
  member.sink.hold = true;
  let told = (): void => {};
  member.sink.gap = () =>
    new Promise((resolve) => {
      told = resolve;
    });
  rig.append(3);
  log().appendVoids(2);
  rig.append(3);
  await rig.until(() => member.sink.open.length === 1, 'the batch before the gap');
  await rig.clock.advance(200);
  member.sink.waiting.fail('away');
  await rig.clock.advance(200);
  told();
  await rig.until(() => member.sink.open.length > 0, 'it is handed over again');
  expect(member.sink.open[0]?.offsets).toEqual([0, 1, 2]);
  member.sink.hold = false;
  for (const write of [...member.sink.open]) write.store();
  await rig.until(() => rig.committed() === 8, 'all is stored');
});
