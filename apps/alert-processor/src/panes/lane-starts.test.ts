import { type Lane, partitionKey } from '@tailrace/kafka-kit';
import { expect, test } from 'vitest';
import { LaneStarts } from './lane-starts.ts';

const MINUTE_MS = 60_000;
const NOW_MS = 10_000_000;
const SPANS = { paneMs: 10_000, latenessMs: MINUTE_MS };
/** pane + lateness */
const REWIND_MS = 70_000;

/** A log whose record at an offset has the broker time that `timeOf` says; undefined: no record stands there. */
interface MemoryLog {
  readonly start: number;
  readonly end: number;
  readonly timeOf: (offset: number) => number | undefined;
}

class World {
  readonly logs = new Map<string, MemoryLog>();
  readings = 0;
  questions = 0;

  #first({ start, end, timeOf }: MemoryLog, from: number, isMeant: (timeMs: number) => boolean) {
    for (let offset = Math.max(start, from); offset < end; offset++) {
      const timestampMs = timeOf(offset);
      if (timestampMs !== undefined && isMeant(timestampMs)) return { offset, timestampMs };
    }
    return undefined;
  }

  readonly starts = new LaneStarts(
    {
      nowMs: () => NOW_MS,
      sleep: async () => {},
      reader: {
        firstRecords: async (positions) => {
          if (positions.length > 0) this.readings += 1;
          return new Map(
            positions.flatMap((position) => {
              const log = this.logs.get(partitionKey(position));
              const found = log && this.#first(log, position.first, () => true);
              return found === undefined ? [] : [[partitionKey(position), found] as const];
            }),
          );
        },
      },
      admin: {
        offsetsAtTimes: async (asked) => {
          this.questions += 1;
          return asked.map(({ topic, partition, timeMs }) => {
            const log = this.logs.get(partitionKey({ topic, partition }));
            return { topic, partition, offset: log && this.#first(log, 0, (each) => each >= timeMs)?.offset };
          });
        },
      },
    },
    SPANS,
  );

  lane(committed: number, log: MemoryLog, partition = 0): Lane & { readonly committed: number } {
    const tp = { topic: 'events', partition };
    this.logs.set(partitionKey(tp), log);
    return { ...tp, incarnation: 'inc00001', committed, logStart: log.start, logEnd: log.end };
  }
}

/** One record a second. */
const steady = (start: number, end: number): MemoryLog => ({ start, end, timeOf: (offset) => offset * 1000 });

test('R is the time of the record before the commit less pane and lateness; the lane begins at the first record of that time', async () => {
  const world = new World();
  expect(await world.starts.of(world.lane(1000, steady(0, 1500)))).toEqual({ startAt: 929, fromMs: 999_000 - REWIND_MS });
});

test('a log that begins later than R: its start, and nothing before its first record is counted', async () => {
  const world = new World();
  expect(await world.starts.of(world.lane(1000, steady(950, 1500)))).toEqual({ startAt: 950, fromMs: 950_000 });
});

test('a log that never lost a record is whole, however young it is', async () => {
  const world = new World();
  expect(await world.starts.of(world.lane(50, steady(0, 50)))).toEqual({ startAt: 0, fromMs: 49_000 - REWIND_MS });
});

test('nothing is left before the commit: the log start’s time stands for it', async () => {
  const world = new World();
  expect(await world.starts.of(world.lane(700, steady(700, 900)))).toEqual({ startAt: 700, fromMs: 700_000 });
});

test('an empty log: of a new one everything is counted, of one that was emptied what comes from now on', async () => {
  const world = new World();
  expect(await world.starts.of(world.lane(0, steady(0, 0)))).toEqual({ startAt: 0, fromMs: 0 });
  expect(await world.starts.of(world.lane(50, steady(50, 50), 1))).toEqual({ startAt: 50, fromMs: NOW_MS });
});

test('offsets without records before the commit: an earlier record is taken, never one behind the commit', async () => {
  const world = new World();
  const holes: MemoryLog = { start: 0, end: 1500, timeOf: (offset) => (offset >= 900 && offset < 1000 ? undefined : offset * 1000) };
  const { startAt, fromMs } = await world.starts.of(world.lane(1000, holes));
  expect(fromMs).toBeLessThanOrEqual(899_000 - REWIND_MS);
  expect(startAt * 1000).toBeGreaterThanOrEqual(fromMs);
});

test('a clock that stepped back: the first record of the time counts, so none of it lies below', async () => {
  const world = new World();
  // Behind offset 500 the new leader's clock is four minutes behind.
  const stepped: MemoryLog = { start: 0, end: 1000, timeOf: (offset) => (offset < 500 ? offset * 1000 : (offset - 240) * 1000) };
  const { startAt, fromMs } = await world.starts.of(world.lane(800, stepped));
  for (let offset = 0; offset < startAt; offset++) expect(stepped.timeOf(offset)).toBeLessThan(fromMs);
});

test('lanes that are assigned together share their look-ups', async () => {
  const world = new World();
  await Promise.all(Array.from({ length: 12 }, (_, partition) => world.starts.of(world.lane(1000, steady(0, 1500), partition))));
  expect([world.readings, world.questions]).toEqual([1, 1]);
});

test('a look-up that fails is told to every lane that waited for it, and the next one works', async () => {
  const world = new World();
  const lane = world.lane(1000, steady(0, 1500));
  const broken = new LaneStarts(
    {
      nowMs: () => 0,
      sleep: async () => {},
      reader: { firstRecords: () => Promise.reject(new Error('away')) },
      admin: { offsetsAtTimes: async () => [] },
    },
    SPANS,
  );
  await expect(broken.of(lane)).rejects.toThrow('away');
  await expect(broken.of(lane)).rejects.toThrow('away');
});
