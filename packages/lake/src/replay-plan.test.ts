import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLOCK_SLACK_MS, holdsWanted, isWanted, type PlanSources, type PlanWindow, planPartition, reachOf, spanOf } from './replay-plan.ts';
import { type ChainPart, chainEnd, type Mark, whereNow } from './replay-sources.ts';
import { CHAIN } from './testing/index.ts';

const MINUTE_MS = 60_000;
const NINE = Date.UTC(2026, 0, 2, 9);
const window = (fromMs: number, toMs: number, skewMs = 0): PlanWindow => ({ fromMs, toMs, by: skewMs === 0 ? 'broker' : 'event', skewMs });

interface Stored {
  readonly offset: number;
  readonly timestampMs: number;
}

/** A partition as it was written, whatever became of it. */
interface World {
  readonly records: readonly Stored[];
  /** Where entries of the ledger begin, what they are, and where the chain ends. */
  readonly parts: readonly ChainPart[];
  readonly logStart: number;
  readonly logEnd: number;
}

/** Kafka's time index, as it answers. */
function firstAt(records: readonly Stored[], timeMs: number): number | undefined {
  return records.find(({ timestampMs }) => timestampMs >= timeMs)?.offset;
}

function sourcesOf({ records, parts, logStart, logEnd }: World, wanted: PlanWindow): PlanSources {
  const inLog = records.filter(({ offset }) => offset >= logStart);
  const end = Math.max(logStart, chainEnd({ parts }));
  const at = (offset: number): Mark[] => inLog.filter((record) => record.offset >= offset).slice(0, 1);
  const marks = [...at(logStart), ...at(end), ...at(Math.floor((end + logEnd) / 2)), ...at(logEnd - 1)];
  const reach = reachOf(wanted);
  const span = spanOf(wanted);
  return {
    ...CHAIN,
    parts,
    log: { logStart, logEnd, marks },
    archived: parts.length > 0,
    index: {
      reachFrom: firstAt(inLog, reach.fromMs),
      reachTo: firstAt(inLog, reach.toMs),
      spanFrom: firstAt(inLog, span.fromMs),
      spanTo: firstAt(inLog, span.toMs),
    },
  };
}

const holds = (ranges: readonly { readonly first: number; readonly next: number }[], offset: number): boolean =>
  ranges.some(({ first, next }) => first <= offset && offset < next);

/** Ticks of up to a minute, small steps back, and now and then a great one in either direction. */
const tick = fc.oneof(
  { weight: 30, arbitrary: fc.integer({ min: 0, max: MINUTE_MS }) },
  { weight: 4, arbitrary: fc.integer({ min: -4 * MINUTE_MS, max: 0 }) },
  { weight: 3, arbitrary: fc.integer({ min: -130 * MINUTE_MS, max: 130 * MINUTE_MS }) },
);

const world: fc.Arbitrary<World> = fc
  .record({
    ticks: fc.array(tick, { minLength: 1, maxLength: 120, size: 'max' }),
    voids: fc.array(fc.nat(140), { maxLength: 8 }),
    cuts: fc.array(fc.tuple(fc.integer({ min: 1, max: 25 }), fc.constantFrom('data', 'data', 'data', 'data', 'lost', 'void', 'gap')), {
      maxLength: 12,
      size: 'max',
    }),
    start: fc.nat(140),
    genesis: fc.boolean(),
  })
  .map(({ ticks, voids, cuts, start, genesis }) => {
    let timestampMs = NINE;
    const all = ticks.map((ms, offset) => {
      timestampMs += ms;
      return { offset, timestampMs };
    });
    const logEnd = all.length;
    const parts: ChainPart[] = [];
    const voided = new Set(voids);
    let first = 0;
    for (const [length, kind] of cuts) {
      const next = Math.min(logEnd, first + length);
      if (first >= next) break;
      const inside = all.slice(first, next).filter(({ offset }) => !voided.has(offset));
      const times = inside.map((record) => record.timestampMs);
      if (genesis && first === 0) parts.push({ kind: 'before-archive', first, next });
      else if (kind === 'void' || times.length === 0) {
        for (let offset = first; offset < next; offset++) voided.add(offset);
        parts.push({ kind: 'void', first, next });
      } else if (kind === 'lost') parts.push({ kind, first, next });
      else if (kind === 'data') {
        const [minTimestampMs, maxTimestampMs] = [Math.min(...times), Math.max(...times)];
        parts.push({ kind, first, next, rows: inside.length, bytes: 1, minTimestampMs, maxTimestampMs });
      }
      first = next;
    }
    return { records: all.filter(({ offset }) => !voided.has(offset)), parts, logStart: Math.min(start, logEnd), logEnd };
  });

const planned = fc
  .tuple(world, fc.nat(), fc.nat(), fc.constantFrom(0, 0, 60 * MINUTE_MS))
  .filter(([{ records }]) => records.length > 0)
  .map(([made, a, b, skewMs]) => {
    // A window that often begins and ends exactly at records.
    const times = made.records.map(({ timestampMs }) => timestampMs);
    const one = times[a % times.length] ?? NINE;
    const two = times[b % times.length] ?? NINE;
    return { made, wanted: window(Math.min(one, two), Math.max(one, two) + (one === two ? 1 : 0), skewMs) };
  });

/** A step back behind the index's answer that no look-up of ours has met: the clock must have gone forth again before the archiver came by. */
function hidesStep({ made, wanted }: { readonly made: World; readonly wanted: PlanWindow }, sources: PlanSources): boolean {
  const from = sources.index?.reachTo;
  if (from === undefined) return false;
  const end = Math.max(chainEnd(sources), from);
  return made.records.some(({ offset, timestampMs }) => offset >= end && offset >= made.logStart && timestampMs < spanOf(wanted).toMs);
}

/** Whether a record that nobody holds has a time that those around it bound: of others no reader can say to which window they belonged. */
function isBetween({ parts, records, logStart }: World, offset: number, timestampMs: number): boolean {
  const data = parts.filter((part) => part.kind === 'data');
  const before = data.filter(({ first }) => first < offset).at(-1);
  const behind = data.find(({ first }) => first > offset);
  const inLog = records.find((record) => record.offset >= Math.max(logStart, offset));
  const times = [
    before?.maxTimestampMs ?? Number.NEGATIVE_INFINITY,
    behind?.minTimestampMs ?? inLog?.timestampMs ?? Number.POSITIVE_INFINITY,
  ];
  return Math.min(...times) - CLOCK_SLACK_MS <= timestampMs && timestampMs <= Math.max(...times) + CLOCK_SLACK_MS;
}

describe('a plan covers its window', () => {
  const seed = randomInt(2 ** 31);
  it(`every record of the window is read or named as missing, and nothing outside of the superset is read (seed ${seed})`, () => {
    console.log(`replay-plan seed ${seed}`);
    let hidden = 0;
    let stepped = 0;
    fc.assert(
      fc.property(planned, (given) => {
        const { made, wanted } = given;
        const sources = sourcesOf(made, wanted);
        const plan = planPartition(wanted, sources);
        const now = whereNow(sources, plan.ranges);
        const reach = reachOf(wanted);
        if (plan.clockSteps.length > 0) stepped++;
        const isHidden = plan.clockSteps.length === 0 && hidesStep(given, sources);
        if (isHidden) hidden++;
        const data = made.parts.filter((part) => part.kind === 'data');
        for (const { offset, timestampMs } of made.records) {
          if (!isWanted(wanted, timestampMs) || isHidden) continue;
          const readable = offset >= made.logStart || holds(data, offset);
          if (readable) expect(holds(plan.ranges, offset), `offset ${offset}`).toBe(true);
          else if (isBetween(made, offset, timestampMs)) expect(holds(plan.missing, offset), `missing ${offset}`).toBe(true);
          if (readable) expect(holdsWanted(wanted, sources) || !holds(data, offset)).toBe(true);
        }
        const end = chainEnd(sources);
        for (let offset = 0; offset < made.logEnd; offset++) {
          if (!holds(plan.ranges, offset)) continue;
          expect(holds([...now.lake, ...now.kafka], offset), `offset ${offset} is in a source`).toBe(true);
          const entry = data.find((part) => holds([part], offset));
          if (entry?.kind === 'data') expect(entry.minTimestampMs < reach.toMs && entry.maxTimestampMs >= reach.fromMs).toBe(true);
          else if (offset >= end) {
            expect(offset).toBeGreaterThanOrEqual(sources.index?.reachFrom ?? made.logEnd);
            if (plan.clockSteps.length === 0) expect(offset).toBeLessThan(sources.index?.reachTo ?? made.logEnd);
          } else
            expect(
              holds(
                made.parts.filter(({ kind }) => kind === 'void'),
                offset,
              ),
            ).toBe(false);
        }
        expect(plan.ranges.every(({ first }, i) => first > (plan.ranges[i - 1]?.next ?? -1))).toBe(true);
        const records = made.records.filter(({ offset }) => holds(plan.ranges, offset)).length;
        expect(plan.records).toBeGreaterThanOrEqual(records);
      }),
      { seed, numRuns: 3000 },
    );
    // Else the property would say little.
    expect(hidden).toBeLessThan(300);
    expect(stepped).toBeGreaterThan(100);
  });
});
