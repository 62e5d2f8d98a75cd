import { describe, expect, it } from 'vitest';
import { planReplay } from './plan-replay.ts';
import type { PlanSources, PlanWindow } from './replay-plan.ts';
import { CHAIN } from './testing/index.ts';

const HOUR_MS = 3_600_000;
const NINE = Date.UTC(2026, 0, 2, 9);
const window = (fromMs: number, toMs: number): PlanWindow => ({ fromMs, toMs, by: 'broker', skewMs: 0 });

/** A life whose only object holds the offsets 0 to 9 of one hour from `sinceMs` on. */
function life(incarnation: string, sinceMs: number): PlanSources {
  const part = {
    kind: 'data',
    first: 0,
    next: 10,
    rows: 10,
    bytes: 1,
    minTimestampMs: sinceMs,
    maxTimestampMs: sinceMs + HOUR_MS,
  } as const;
  return { ...CHAIN, incarnation, parts: [part], log: null, archived: true, index: null };
}

describe('what has no plan', () => {
  it('nothing at all', () => {
    expect(planReplay(window(NINE, NINE + 1), [])).toEqual({ kind: 'too-old', lakeMs: null, kafkaMs: null });
  });

  it('a window that ends where the oldest record begins; one that holds it is planned', () => {
    const all = [life('one_____', NINE)];
    expect(planReplay(window(NINE - HOUR_MS, NINE), all)).toEqual({ kind: 'too-old', lakeMs: NINE, kafkaMs: null });
    expect(planReplay(window(NINE - HOUR_MS, NINE + 1), all)).toMatchObject({
      kind: 'planned',
      partitions: [{ ranges: [{ first: 0, next: 10 }] }],
    });
  });

  it('a window in which the topic was made anew; a life that lies beside it does not count', () => {
    const all = [life('one_____', NINE), life('two_____', NINE + 2 * HOUR_MS)];
    expect(planReplay(window(NINE + HOUR_MS, NINE + 2 * HOUR_MS + 1), all)).toEqual({
      kind: 'anew',
      lives: [
        { topic: CHAIN.topic, incarnation: 'one_____', oldestMs: NINE, newestMs: NINE + HOUR_MS },
        { topic: CHAIN.topic, incarnation: 'two_____', oldestMs: NINE + 2 * HOUR_MS, newestMs: NINE + 3 * HOUR_MS },
      ],
    });
    // What was not read stands for its whole hour, and is told as no time of a record.
    const [first, ...others] = all;
    const unread = {
      kind: 'data',
      first: 10,
      next: 20,
      rows: 0,
      minTimestampMs: NINE - HOUR_MS,
      maxTimestampMs: NINE - 1,
      isOfHour: true,
    } as const;
    expect(
      planReplay(window(NINE + HOUR_MS, NINE + 2 * HOUR_MS + 1), [
        { ...(first as PlanSources), parts: [unread, ...(first?.parts ?? [])] },
        ...others,
      ]),
    ).toMatchObject({ kind: 'anew', lives: [{ oldestMs: NINE }, {}] });
    // The second life begins 5 minutes after this window, within the reach of its plan.
    expect(planReplay(window(NINE + HOUR_MS, NINE + 2 * HOUR_MS), all)).toMatchObject({
      kind: 'planned',
      partitions: [{ incarnation: 'one_____' }],
    });
  });
});
