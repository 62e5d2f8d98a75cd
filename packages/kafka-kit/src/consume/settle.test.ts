import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GROUP, kinds, RuntimeRig } from '../testing/runtime-rig.ts';
import type { ScriptedWrite } from '../testing/scripted-sink.ts';
import { type Outcome, STORED } from './contract.ts';

const SKIPPED: Outcome = { kind: 'skipped', reason: 'old' };
const RETRY: Outcome = { kind: 'retry', reason: 'busy' };
const NONSENSE: readonly unknown[] = [null, undefined, 'stored', [], [STORED], [null], [{ kind: 'what' }], new Array(3)];

const which = fc.nat({ max: 7 });
const released = fc.boolean();
const outcomes = fc.array(
  fc.oneof({ weight: 6, arbitrary: fc.constant(STORED) }, { weight: 2, arbitrary: fc.constant(SKIPPED) }, fc.constant(RETRY)),
  { minLength: 1, maxLength: 8 },
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('answer' as const), which, released, outcomes }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('fail' as const), which, released }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('nonsense' as const), which, released, form: fc.nat({ max: NONSENSE.length - 1 }) }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** What is settled, by its definition: a record for which the sink has said so, once, since its lane was opened. */
class NaiveSettlement {
  readonly settled = new Set<number>();
  /** All settlements that were ever said: those of a lane that is opened again count again. */
  count = 0;

  get nextToRead(): number {
    let next = 0;
    while (this.settled.has(next)) next += 1;
    return next;
  }

  settle(offset: number): void {
    if (this.settled.has(offset)) throw new Error(`offset ${offset} was handed over although it is settled`);
    this.settled.add(offset);
    this.count += 1;
  }

  /** The lane is opened again at its first unsettled offset: what was settled behind it is read again. */
  reopen(): void {
    const next = this.nextToRead;
    for (const offset of this.settled) if (offset >= next) this.settled.delete(offset);
  }
}

/** Answers a write as the step says, and tells the model what that means. A lane that was given up settles nothing any more. */
function answer(write: ScriptedWrite, how: Step, model: NaiveSettlement): void {
  if (how.kind === 'append') return;
  if (how.released) write.batch.release();
  const heard = !write.signal.aborted;
  if (how.kind === 'answer') {
    const given = write.offsets.map((_, i) => how.outcomes[i % how.outcomes.length] ?? STORED);
    write.answer(given);
    if (!heard) return;
    for (const [i, offset] of write.offsets.entries()) if (given[i] !== RETRY) model.settle(offset);
    if (how.released && given.includes(RETRY)) model.reopen();
    return;
  }
  if (how.kind === 'fail') write.fail(new Error('away'));
  // One outcome is no nonsense for one record.
  else write.answer((how.form === 4 && write.offsets.length === 1 ? [] : NONSENSE[how.form]) as readonly Outcome[]);
  if (heard && how.released) model.reopen();
}

it('I3 a record is settled exactly when its sink says so: not by a failure, by nonsense, by a late answer, or twice', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 6 }),
      fc.array(step, { maxLength: 40, size: 'max' }),
      async (inFlightPerLane, maxRecords, steps) => {
        const rig = new RuntimeRig(1, {
          inFlightPerLane,
          batch: { maxRecords, maxBytes: 100_000, maxAgeMs: 50 },
          backoff: { firstMs: 20, factor: 1, maxMs: 20, jitter: 0 },
        });
        const member = await rig.running();
        const model = new NaiveSettlement();
        member.sink.hold = true;
        let appended = 0;
        const check = async (): Promise<void> => {
          await rig.clock.advance(150);
          const told = kinds(member.events, 'settled').flatMap((event) => (event.kind === 'settled' ? [event] : []));
          expect(told.reduce((sum, { stored, skipped }) => sum + stored + skipped, 0)).toBe(model.count);
          expect(rig.lane(member).nextToRead ?? model.nextToRead).toBe(model.nextToRead);
          expect(rig.committed() ?? 0).toBeLessThanOrEqual(model.nextToRead);
          const open = member.sink.open.filter(({ signal }) => !signal.aborted).flatMap(({ offsets }) => offsets);
          expect(new Set(open).size, 'a record is handed over once at a time').toBe(open.length);
        };
        for (const each of steps) {
          if (each.kind === 'append') {
            rig.append(each.count);
            appended += each.count;
          } else {
            const write = member.sink.open[each.which % Math.max(1, member.sink.open.length)];
            if (write !== undefined) answer(write, each, model);
          }
          await check();
        }
        // Everything comes to an end once the sink stores.
        for (let turn = 0; model.nextToRead < appended && turn < 500; turn += 1) {
          for (const write of [...member.sink.open])
            answer(write, { kind: 'answer', which: 0, released: false, outcomes: [STORED] }, model);
          await check();
        }
        await rig.clock.advance(2000);
        expect(rig.committed() ?? 0).toBe(appended);
        const report = await rig.stop(member);
        expect(report.settledRecords).toBe(model.count);
        expect(report.deliveredRecords).toBe(report.settledRecords + report.abandonedRecords);
        expect(rig.cluster.group(GROUP).commits.every(({ owned }) => owned)).toBe(true);
        expect(rig.cluster.violations).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});
