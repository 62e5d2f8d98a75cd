import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type GapDone, type GapPolicy, gapDone } from '../recover/gap-policy.ts';
import { GROUP, kinds, RuntimeRig, TOPIC } from '../testing/runtime-rig.ts';
import { ScriptedSink } from '../testing/scripted-sink.ts';

const MORE = 5;

/** What happens to a partition: `read` records read and committed, then these, with the lane running or its process away meanwhile. */
interface Story {
  readonly policy: GapPolicy;
  readonly running: boolean;
  readonly read: number;
  readonly appended: number;
  readonly deletedBefore: number;
  readonly truncatedTo: number;
  readonly recreated: boolean;
}

const fresh = (from: number | undefined): GapPolicy & { readonly from: number | undefined } => ({
  kind: 'fresh-first',
  freshFrom: async () => from,
  from,
});

const story = fc.record({
  policy: fc.constantFrom<GapPolicy>(
    { kind: 'halt' },
    { kind: 'skip' },
    { kind: 'record-and-go-on' },
    fresh(undefined),
    fresh(0),
    fresh(30),
  ),
  running: fc.boolean(),
  read: fc.integer({ min: 1, max: 25 }),
  appended: fc.integer({ min: 0, max: 25 }),
  deletedBefore: fc.integer({ min: 0, max: 60 }),
  truncatedTo: fc.oneof({ weight: 2, arbitrary: fc.constant(1000) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 30 }) }),
  recreated: fc.boolean(),
});

interface Ending {
  /** The class, the range and what was done; undefined: nothing was wrong. */
  readonly gap: string | undefined;
  /** Where the lane goes on; undefined: it halts. */
  readonly goesOnAt: number | undefined;
}

/** By the contract alone: which offsets are there, and is the lane's one among them? */
function ending({ policy, running, read, recreated }: Story, start: number, end: number): Ending {
  const done = (kind: 'expired' | 'truncated' | 'recreated'): GapDone => gapDone(policy, kind);
  if (recreated && running) {
    const way = done('recreated');
    return { gap: `recreated ${way}`, goesOnAt: way === 'halted' ? undefined : 0 };
  }
  // A topic that is deleted takes the commits along: for a process that was away it is a new one, read from where it begins.
  if (recreated) return { gap: undefined, goesOnAt: start };
  if (read > end) return { gap: `truncated ${end}-${read} halted`, goesOnAt: undefined };
  if (read >= start) return { gap: undefined, goesOnAt: read };
  const way = done('expired');
  const to = policy.kind === 'fresh-first' ? Math.max(start, Math.min((policy as ReturnType<typeof fresh>).from ?? end, end)) : start;
  return { gap: `expired ${read}-${to} ${way}`, goesOnAt: way === 'halted' ? undefined : to };
}

async function play(told: Story): Promise<void> {
  const rig = new RuntimeRig(1, { gaps: told.policy });
  const sink = (): ScriptedSink => {
    const made = new ScriptedSink();
    made.gap = async () => {};
    return made;
  };
  let member = await rig.running(sink());
  rig.append(told.read);
  await rig.until(() => rig.committed() === told.read, 'the first records');
  if (!told.running) await rig.stop(member);
  const before = member.sink.writes.length;
  // All in one breath: the client sees only what comes of it.
  if (told.recreated) rig.cluster.recreateTopic(TOPIC);
  const log = rig.cluster.log(rig.tp());
  rig.append(told.appended);
  log.truncateTo(told.truncatedTo);
  log.deleteBefore(told.deletedBefore);
  const { start, end } = log;
  const { gap, goesOnAt } = ending(told, start, end);
  if (!told.running) {
    member = rig.member(sink());
    await rig.start(member);
  }
  // Without anything new a running lane that stands at a silent end has nothing to notice yet.
  const settled = (): boolean => rig.lane(member).phase === 'halted' || (rig.committed() === end && kinds(member.events, 'gap').length > 0);
  if (gap !== undefined) await rig.until(settled, `${gap}`, 120_000);
  else await rig.clock.advance(25_000);
  const gaps = () => kinds(member.events, 'gap').flatMap((event) => (event.kind === 'gap' ? [event] : []));
  const [first] = gaps();
  if (gap === undefined) expect(gaps()).toEqual([]);
  else if (told.recreated) expect(`${first?.gap.kind} ${first?.done}`).toBe(gap);
  else expect(`${first?.gap.kind} ${first?.gap.from}-${first?.gap.to} ${first?.done}`).toBe(gap);
  // In either case no record is missing and none comes twice. What the next life's records are delivered as before the ids are compared,
  // sinks find out by a look-up of their own.
  rig.append(MORE);
  const present = rig.cluster.topic(TOPIC).incarnation;
  const from = goesOnAt === undefined ? undefined : Math.max(goesOnAt, start);
  if (from === undefined) await rig.clock.advance(5000);
  else await rig.until(() => rig.committed() === end + MORE, 'it reads on', 120_000);
  const written = member.sink.writes.slice(told.running ? before : 0).filter(({ batch }) => batch.source.incarnation === present);
  expect(written.flatMap(({ offsets }) => offsets)).toEqual(
    from === undefined ? [] : Array.from({ length: end + MORE - from }, (_, i) => from + i),
  );
  if (goesOnAt !== undefined && told.recreated && told.running && start > 0)
    expect(gaps().map((event) => `${event.gap.kind} ${event.gap.from}-${event.gap.to}`)).toContain(`expired 0-${start}`);
  expect(rig.cluster.group(GROUP).outstanding(member.consumer.id)).toBeUndefined();
  expect(rig.cluster.violations).toEqual([]);
}

it('I9 whatever became of a log while a lane stood on it or was away: the right class, the exact range, the policy’s way', {
  timeout: 60_000,
}, async () => {
  await fc.assert(fc.asyncProperty(story, play), { numRuns: 150, endOnFailure: false });
});
