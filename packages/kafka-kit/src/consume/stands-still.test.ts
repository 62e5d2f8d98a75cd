import { afterEach, expect, it } from 'vitest';
import { kinds, RuntimeRig } from '../testing/runtime-rig.ts';
import type { ScriptedSink } from '../testing/scripted-sink.ts';
import { STORED, StandsStill } from './contract.ts';

let rig = new RuntimeRig();
afterEach(() => {
  expect(rig.cluster.violations).toEqual([]);
});

const stop = (partition: number): void => {
  if (partition === 0) throw new StandsStill('Restart it.');
};

/** Each call from which a sink may say that no further try can help; here for partition 0. */
const calls: Readonly<Record<string, (sink: ScriptedSink) => void>> = {
  assign: (sink) => {
    sink.assign = async ({ partition }) => {
      stop(partition);
      return undefined;
    };
  },
  write: (sink) => {
    sink.respond = ({ partition, offsets }) => {
      stop(partition);
      return offsets.map(() => STORED);
    };
  },
  gap: (sink) => {
    sink.gap = async ({ partition }) => stop(partition);
  },
};

it.each(Object.entries(calls))(
  'a sink that says in %s that no try can help halts that lane by its sentence, and the others go on',
  async (_, say) => {
    rig = new RuntimeRig(2);
    const member = rig.member();
    say(member.sink);
    await rig.start(member);
    for (const partition of [0, 1]) {
      rig.append(3, partition);
      rig.cluster.log(rig.tp(partition)).appendVoids(2);
      rig.append(3, partition);
    }
    await rig.until(() => rig.lane(member, 0).phase === 'halted', 'it stands still');
    await rig.until(() => rig.committed(1) === 8, 'its neighbour goes on');
    expect(rig.lane(member, 0)).toMatchObject({ halted: 'Restart it.', outage: undefined });
    expect(kinds(member.events, 'lane-halted')).toMatchObject([{ why: { kind: 'sink' } }]);
  },
);
