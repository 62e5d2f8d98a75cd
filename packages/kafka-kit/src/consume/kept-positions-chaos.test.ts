import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PositionsRig } from '../testing/positions-rig.ts';
import { Random } from '../testing/random.ts';
import { GROUP, type Member, TOPIC } from '../testing/runtime-rig.ts';

const PARTITIONS = 3;
const STEPS = 40;
const MAX_MEMBERS = 2;

/** Members come, stop and are killed, the positions’ topic fails for a while, and Kafka forgets the commits whenever nobody is there. */
async function run(seed: number): Promise<void> {
  const random = new Random(seed);
  const rig = await PositionsRig.open(PARTITIONS, { start: 'latest' });
  let living: Member[] = [];
  const takeOut = (): Member | undefined => {
    const member = living.length === 0 ? undefined : random.pick(living);
    living = living.filter((each) => each !== member);
    return member;
  };
  const join = async (): Promise<void> => {
    const member = rig.member();
    await rig.start(member);
    living.push(member);
  };
  const fail = (isFailing: boolean): void => {
    rig.producer.faults = isFailing ? { deliver: () => ({ reason: 'no such topic', certain: true, own: false }) } : {};
  };
  const acts: Readonly<Record<string, () => void | Promise<void>>> = {
    append: () => rig.append(random.whole(1, 15), random.whole(0, PARTITIONS - 1)),
    more: () => rig.append(random.whole(1, 15), random.whole(0, PARTITIONS - 1)),
    join: async () => {
      if (living.length < MAX_MEMBERS) await join();
    },
    stop: async () => {
      const member = takeOut();
      if (member !== undefined) await rig.stop(member);
    },
    kill: () => {
      const member = takeOut();
      member?.consumer.kill();
      member?.consumer.endSession();
    },
    forget: async () => {
      while (living.length > 0) await rig.stop(takeOut() as Member);
      rig.cluster.group(GROUP).forget(TOPIC);
    },
    fail: () => fail(random.chance(0.5)),
  };
  for (let step = 0; step < STEPS; step += 1) {
    await acts[random.pick(Object.keys(acts))]?.();
    await rig.clock.advance(random.chance(0.1) ? 70_000 : random.whole(0, 1500));
  }
  fail(false);
  if (living.length === 0) await join();
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const end = (): number => rig.cluster.log(rig.tp(partition)).end;
    // A record more, or a commit that Kafka forgot at the log's end would not come back.
    await rig.until(() => rig.written(partition).length > 0, 'every partition has its first position');
    rig.append(1, partition);
    await rig.until(() => rig.committed(partition) === end(), `all of partition ${partition} is read`);
    const first = Number(/:(\d+)/.exec(rig.written(partition)[0] ?? '')?.[1]);
    const stored = new Set(rig.members.flatMap(({ sink }) => sink.offsets(partition)));
    const missing = Array.from({ length: end() - first }, (_, i) => first + i).filter((offset) => !stored.has(offset));
    expect({ partition, first, missing }).toEqual({ partition, first, missing: [] });
  }
  for (const member of living) await rig.stop(member);
  // Settled and stopped in peace: without a single commit nothing is read twice.
  rig.cluster.group(GROUP).forget(TOPIC);
  const last = await rig.running();
  await rig.until(() => last.runtime.lanes().every(({ phase }) => phase === 'running'), 'all open');
  await rig.clock.advance(2000);
  expect(last.runtime.lanes().map(({ partition }) => last.sink.offsets(partition))).toEqual([[], [], []]);
  expect(rig.cluster.violations).toEqual([]);
}

const seed = Number(process.hrtime.bigint() % 2_147_483_647n);

it('I9 whatever happens to members, commits and positions, nothing behind a group’s first position is missed', {
  timeout: 120_000,
}, async () => {
  console.log(`kept-positions seed ${seed}`);
  await fc.assert(fc.asyncProperty(fc.integer(), run), { numRuns: 40, seed });
});
