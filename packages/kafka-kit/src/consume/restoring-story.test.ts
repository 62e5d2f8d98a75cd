import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Kept } from '../testing/memory-history.ts';
import { RestoreRig } from '../testing/restore-rig.ts';
import { GROUP } from '../testing/runtime-rig.ts';

const KINDS = ['record', 'record', 'record', 'void', 'lost', 'before-archive', 'hole'] as const;

/** A log of runs, of which the archive has the first `archived` offsets, each run by its kind, and Kafka those from `logStart` on. */
const story = fc.record({
  runs: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), length: fc.integer({ min: 1, max: 12 }) }), { minLength: 1, maxLength: 10 }),
  archived: fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }),
  logStart: fc.nat(100),
  position: fc.nat(100),
  partRecords: fc.integer({ min: 1, max: 20 }),
  inFlightPerLane: fc.integer({ min: 1, max: 3 }),
  slow: fc.boolean(),
});

interface Ending {
  readonly offsets: readonly number[];
  /** The hole before which the lane halts. */
  readonly hole: readonly [number, number] | undefined;
  readonly waits: boolean;
}

/** By the contract alone. */
function ending(truth: readonly string[], kept: readonly Kept[], logStart: number, position: number): Ending {
  const offsets: number[] = [];
  let at = position;
  const isOver = (): boolean =>
    at >= logStart && (position >= logStart || at >= kept.length || ['lost', 'before-archive', 'hole'].includes(String(kept[at])));
  for (; !isOver(); at += 1) {
    const here = kept[at];
    if (here === undefined) return { offsets, hole: undefined, waits: true };
    if (here === 'hole') {
      let to = at;
      while (to < logStart && kept[to] === 'hole') to += 1;
      return { offsets, hole: [at, to], waits: false };
    }
    if (typeof here !== 'string') offsets.push(at);
  }
  for (; at < truth.length; at += 1) if (truth[at] !== 'void') offsets.push(at);
  return { offsets, hole: undefined, waits: false };
}

const seed = Number(process.hrtime.bigint() % 2_147_483_647n);

it('I9 from any position of any log and any archive: each record that is there once and in order, or a halt before the first hole, by its range', {
  timeout: 60_000,
}, async () => {
  console.log(`restoring-story seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(story, async ({ runs, archived, logStart, position, partRecords, inFlightPerLane, slow }) => {
      const rig = new RestoreRig(1, { inFlightPerLane });
      rig.kept.partRecords = partRecords;
      const log = rig.log();
      const truth = runs.flatMap(({ kind, length }) => Array.from({ length }, () => kind));
      for (const kind of truth) {
        if (kind === 'void') log.appendVoids(1);
        else rig.cluster.append(rig.tp(), { value: Buffer.from(`${log.end}`) });
      }
      // A record at the end, or nobody could tell that a void there was read.
      rig.cluster.append(rig.tp(), { value: Buffer.from(`${log.end}`) });
      const whole: readonly string[] = [...truth, 'record'];
      const all: readonly Kept[] = whole.map((kind, offset) =>
        kind === 'record' ? (log.read(offset, 1).records[0] ?? 'void') : (kind as Kept),
      );
      log.deleteBefore(logStart);
      rig.cluster.group(GROUP).setCommitted({ ...rig.tp(), nextToRead: Math.min(position, log.end) });
      const member = rig.member();
      const values: string[] = [];
      member.sink.respond = async ({ batch, offsets }) => {
        if (slow) await rig.clock.sleep(500);
        for (const [i] of offsets.entries()) values.push(String(batch.value(i)));
        return offsets.map(() => ({ kind: 'stored' }));
      };
      const kept = rig.kept.of(rig.tp());
      const ends = [...archived].sort((a, b) => a - b).map((each) => Math.min(each, whole.length));
      let wanted: Ending = { offsets: [], hole: undefined, waits: true };
      for (const end of ends) {
        kept.push(...all.slice(kept.length, end));
        if (!wanted.waits) continue;
        wanted = ending(whole, kept, log.start, Math.min(position, log.end));
        if (member.runtime.state.kind === 'idle') await rig.start(member);
        const { offsets, hole, waits } = wanted;
        await rig.until(() => values.length >= offsets.length, 'what is there is settled', 60_000);
        if (waits) await rig.until(() => rig.lane(member).restore?.waitsSinceMs !== undefined, 'it waits', 60_000);
        else if (hole === undefined) await rig.until(() => rig.committed() === log.end, 'all is committed', 60_000);
        else await rig.until(() => rig.lane(member).phase === 'halted', 'halted', 60_000);
        if (hole !== undefined) expect(rig.lane(member).halted).toContain(`--to offset:${hole[1]},`);
        if (hole !== undefined) await rig.until(() => (rig.committed() ?? 0) === hole[0], 'committed up to it', 60_000);
      }
      expect(member.sink.offsets()).toEqual(wanted.offsets);
      expect(values.map(Number).sort((a, b) => a - b)).toEqual(wanted.offsets);
      expect(rig.kept.open).toBe(0);
      expect(rig.cluster.violations).toEqual([]);
    }),
    { numRuns: 300, seed },
  );
});
