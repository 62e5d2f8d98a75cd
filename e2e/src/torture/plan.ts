import fc from 'fast-check';
import type { GroupName } from '../cluster/member.ts';

export const GROUPS: readonly GroupName[] = ['archiver', 'indexer'];

/** Members of each group that are there all the time. */
export const SLOTS = 2;

/** When a step begins: behind a share of the records that are written for it (0 to 1), and a pause. */
interface Moment {
  readonly share: number;
  readonly pauseMs: number;
}

/**
 * What is done to a group. `kill`: a member is killed -9 and started anew; where the step is not `patient`, the next one begins while the
 * partitions of the killed one have no owner yet. `zombie`: a member is stopped until the others have taken over, and goes on `heldMs`
 * later. `visit`: one more member joins, and leaves after `stayMs`.
 */
export type GroupStep = Moment &
  (
    | { readonly kind: 'kill'; readonly slot: number; readonly patient: boolean }
    | { readonly kind: 'zombie'; readonly slot: number; readonly heldMs: number }
    | { readonly kind: 'visit'; readonly stayMs: number }
  );

/** A broker is killed -9, and started again after `awayMs`. */
export interface BrokerStep extends Moment {
  readonly kind: 'broker';
  readonly broker: 0 | 1 | 2;
  readonly awayMs: number;
}

export type Step = GroupStep | BrokerStep;

export interface Plan {
  readonly groups: Readonly<Record<GroupName, readonly GroupStep[]>>;
  readonly brokers: readonly BrokerStep[];
}

const moment = { share: fc.double({ min: 0, max: 1, noNaN: true }), pauseMs: fc.integer({ min: 0, max: 1500 }) };
const slot = fc.nat(SLOTS - 1);
const kill = fc.record({ kind: fc.constant('kill' as const), slot, patient: fc.boolean(), ...moment });
const zombie = fc.record({ kind: fc.constant('zombie' as const), slot, heldMs: fc.nat(2000), ...moment });
const visit = fc.record({ kind: fc.constant('visit' as const), stayMs: fc.nat(2000), ...moment });
const broker = fc.record({
  kind: fc.constant('broker' as const),
  broker: fc.constantFrom(0 as const, 1 as const, 2 as const),
  // From a blink to longer than a broker that does not answer stays registered (3 s).
  awayMs: fc.nat(8000),
  ...moment,
});

/** One zombie, one visitor and (over both groups) one broker for so many kills. */
const KILLS_PER_OTHER = 5;

/** The same seed gives the same plan. How it meets the work of the processes is up to the machine. */
export function makePlan(seed: number, kills: number): Plan {
  const others = Math.ceil(kills / KILLS_PER_OTHER);
  const steps = fc
    .tuple(times(kill, kills), times(zombie, others), times(visit, others))
    .chain((kinds) => fc.shuffledSubarray<GroupStep>(kinds.flat(), { minLength: kills + 2 * others }));
  const plan = fc.record({ groups: fc.record({ archiver: steps, indexer: steps }), brokers: times(broker, others) });
  const [made] = fc.sample(plan, { seed, numRuns: 1 });
  if (made === undefined) throw new Error('fast-check made no plan');
  return made;
}

export function stepsOf({ groups, brokers }: Plan): readonly Step[] {
  return [...GROUPS.flatMap((group) => groups[group]), ...brokers];
}

function times<T>(arbitrary: fc.Arbitrary<T>, count: number): fc.Arbitrary<T[]> {
  return fc.array(arbitrary, { minLength: count, maxLength: count });
}
