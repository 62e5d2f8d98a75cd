import { partitionKey } from '@tailrace/kafka-kit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cell } from '../messages/message.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import { LanePanes } from './lane-panes.ts';
import { LaneStarts } from './lane-starts.ts';

const SOURCE = { topic: 'events', incarnation: 'inc00001', partition: 0 };
const RULES = ruleSet([plainRule()]);
const BEGIN_MS = 1_700_000_000_000;

interface LogRecord {
  readonly brokerMs: number;
  readonly eventMs: number;
  readonly service: string;
}

/** Broker times that go on, stand still and now and then step back, by far more than a leader's clock ever will; event times around them, and bogus ones. */
const records = fc
  .array(
    fc.record({
      stepMs: fc.oneof(
        { weight: 12, arbitrary: fc.integer({ min: 0, max: 15_000 }) },
        { weight: 2, arbitrary: fc.integer({ min: -900_000, max: 0 }) },
        { weight: 1, arbitrary: fc.integer({ min: 60_000, max: 900_000 }) },
      ),
      behindMs: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: -5000, max: 90_000 }) },
        { weight: 1, arbitrary: fc.constantFrom(-2_000_000_000_000, BEGIN_MS) },
      ),
      service: fc.constantFrom('a', 'b'),
    }),
    { minLength: 1, maxLength: 120 },
  )
  .map((steps) => {
    let brokerMs = BEGIN_MS;
    return steps.map(({ stepMs, behindMs, service }): LogRecord => {
      brokerMs += stepMs;
      return { brokerMs, eventMs: brokerMs - behindMs, service };
    });
  });

/** Where each owner was killed: how far it had published beyond the commit before it, and how much of that was committed. */
const kills = fc.array(
  fc.record({ readTo: fc.double({ min: 0, max: 1, noNaN: true }), committed: fc.double({ min: 0, max: 1, noNaN: true }) }),
  {
    maxLength: 4,
  },
);

function fold(lane: LanePanes, log: readonly LogRecord[], offset: number): void {
  const record = log[offset];
  if (record === undefined) throw new Error(`there is no record ${offset}`);
  const timestamp = new Date(record.eventMs).toISOString();
  lane.fold(offset, record.brokerMs, { timestamp, service: record.service });
}

const keyOf = ({ group, paneMs }: Cell): string => `${group} ${paneMs}`;

/** What one reader of the whole log has counted of each pane and group behind each offset. */
function reference(log: readonly LogRecord[]): ReadonlyMap<string, readonly Cell[]> {
  const lane = new LanePanes(SOURCE, RULES, { fromMs: 0 });
  const cells = new Map<string, Cell[]>();
  for (let offset = 0; offset < log.length; offset++) {
    fold(lane, log, offset);
    for (const cell of lane.changed()) {
      const before = cells.get(keyOf(cell)) ?? [];
      cells.set(keyOf(cell), [...before, cell]);
    }
  }
  return cells;
}

async function startOf(log: readonly LogRecord[], logStart: number, committed: number) {
  const first = (from: number, timeMs: number) => {
    const offset = log.findIndex(({ brokerMs }, i) => i >= Math.max(from, logStart) && brokerMs >= timeMs);
    return offset < 0 ? undefined : { offset, timestampMs: log[offset]?.brokerMs ?? 0 };
  };
  const starts = new LaneStarts(
    {
      sleep: async () => {},
      nowMs: () => BEGIN_MS + 100_000_000_000,
      reader: {
        firstRecords: async (asked) =>
          new Map(
            asked.flatMap((each) => {
              const found = first(each.first, 0);
              return found === undefined ? [] : [[partitionKey(each), found] as const];
            }),
          ),
      },
      admin: { offsetsAtTimes: async (asked) => asked.map((each) => ({ ...each, offset: first(0, each.timeMs)?.offset })) },
    },
    RULES,
  );
  return await starts.of({ ...SOURCE, committed, logStart, logEnd: log.length });
}

test('whoever is killed where: nothing that is published is ever wrong, and with the log whole every last partial is that of one reader', async () => {
  const world = fc.record({
    log: records,
    kills,
    cutTo: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
    every: fc.integer({ min: 1, max: 9 }),
  });
  await fc.assert(
    fc.asyncProperty(world, async ({ log, kills: owners, cutTo, every }) => {
      const whole = reference(log);
      const final = new Map<string, Cell>();
      let committed = 0;
      let logStart = 0;
      for (const { readTo, committed: share } of [...owners, { readTo: 1, committed: 1 }]) {
        const { startAt, fromMs } = await startOf(log, logStart, committed);
        expect(startAt).toBeLessThanOrEqual(committed);
        const lane = new LanePanes(SOURCE, RULES, { fromMs });
        const end = committed + Math.round((log.length - committed) * readTo);
        let told = startAt;
        for (let offset = startAt; offset < end; offset++) {
          fold(lane, log, offset);
          if (offset % every !== 0 && readTo < 1) continue;
          told = offset + 1;
          for (const cell of lane.changed()) {
            const right = whole.get(keyOf(cell))?.findLast((each) => each.offset <= cell.offset);
            expect(cell.partial).toEqual(right?.partial);
            if ((final.get(keyOf(cell))?.offset ?? -1) <= cell.offset) final.set(keyOf(cell), cell);
          }
        }
        if (told > committed) committed += Math.round((told - committed) * share);
        logStart = Math.max(logStart, Math.round(committed * cutTo));
      }
      if (cutTo > 0) return;
      expect(new Map([...final].map(([key, { partial }]) => [key, partial]))).toEqual(
        new Map([...whole].map(([key, cells]) => [key, cells.at(-1)?.partial])),
      );
    }),
    { numRuns: 5000 },
  );
}, 120_000);
