import type { Lane } from '@tailrace/kafka-kit';
import { SharedBufferBatch } from '@tailrace/kafka-kit/testing';
import { expect, test } from 'vitest';
import type { Cell, LaneMark } from '../messages/message.ts';
import { plainRule, ruleSet } from '../testing/plain-rules.ts';
import type { LaneStart } from './lane-starts.ts';
import { PanesSink } from './panes-sink.ts';

const NOW_MS = Date.now();
const TP = { topic: 'events', partition: 0 };
const SOURCE = { ...TP, incarnation: 'inc00001' };
const LANE: Lane = { ...SOURCE, committed: 0, logStart: 0, logEnd: 0 };

/** A topic of partials in memory, whose acknowledgements wait for the test when told so. */
class Partials {
  readonly cellsOf: (readonly Cell[])[] = [];
  readonly marksOf: (readonly LaneMark[])[] = [];
  readonly order: string[] = [];
  fault: Error | undefined;
  #gate: Promise<void> | undefined;
  #open = (): void => {};

  hold(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  acknowledge(): void {
    this.#gate = undefined;
    this.#open();
  }

  async cells(cells: readonly Cell[]): Promise<void> {
    const taken = [...cells];
    this.order.push('cells');
    await this.#gate;
    if (this.fault !== undefined) throw this.fault;
    this.cellsOf.push(taken);
    this.order.push('acknowledged');
  }

  async marks(_rules: unknown, marks: readonly LaneMark[]): Promise<void> {
    this.order.push('marks');
    this.marksOf.push(marks);
  }

  /** The final count of the group of `event`, by the offset rule. */
  final(service = 'a'): number | undefined {
    const cells = this.cellsOf.flat().filter(({ group }) => group === JSON.stringify([service]));
    return cells.reduce<Cell | undefined>((best, cell) => (best === undefined || cell.offset >= best.offset ? cell : best), undefined)
      ?.partial[1];
  }
}

function world(rule = plainRule()) {
  const partials = new Partials();
  const ends = new Map<string, number>();
  const faults: string[] = [];
  let start: LaneStart = { startAt: 0, fromMs: 0 };
  const sink = new PanesSink(ruleSet([rule]), {
    partials,
    starts: { of: async () => start },
    admin: { logEnds: async () => ends },
    firstTime: async () => NOW_MS - 1000,
    nowMs: () => NOW_MS + 5000,
    onFault: (what) => void faults.push(what),
    onPublished: () => {},
  });
  return {
    partials,
    ends,
    faults,
    sink,
    async open(lane: Lane = LANE, at: LaneStart = { startAt: lane.committed ?? 0, fromMs: 0 }) {
      start = at;
      const answer = await sink.assign(lane);
      sink.observe({ kind: 'lane-opened', lane: TP, startAt: answer?.startAt ?? lane.committed ?? 0 });
      return answer;
    },
  };
}

const event = (service = 'a') =>
  Buffer.from(JSON.stringify({ timestamp: new Date(NOW_MS - 10_000).toISOString().replace(/\d\.\d+Z/, '0.000Z'), service }));
const batch = (from: number, count: number, value = event()) =>
  new SharedBufferBatch(
    SOURCE,
    from,
    Array.from({ length: count }, () => ({ key: null, value, headers: [] })),
  );
const open = (): AbortSignal => new AbortController().signal;
const state = async (promise: Promise<unknown>): Promise<string> =>
  await Promise.race([
    promise.then(
      () => 'resolved',
      () => 'rejected',
    ),
    new Promise<string>((resolve) => setTimeout(() => resolve('pending'), 5)),
  ]);

test('a batch is let go at once, and answered only behind the acknowledgement of what it changed; the mark comes last', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  const handed = batch(0, 3);
  const written = sink.write(handed, open());
  expect(handed.released).toBe(true);
  partials.hold();
  const ticked = sink.tick();
  expect(await state(written)).toBe('pending');
  expect(partials.order).toEqual(['cells']);
  partials.acknowledge();
  expect((await written).map(({ kind }) => kind)).toEqual(['stored', 'stored', 'stored']);
  await ticked;
  expect(partials.order).toEqual(['cells', 'acknowledged', 'marks']);
  expect(partials.final()).toBe(3);
});

test('what is counted while a publication is under way waits for the next one', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  const first = sink.write(batch(0, 3), open());
  partials.hold();
  const ticked = sink.tick();
  await Promise.resolve();
  const second = sink.write(batch(3, 2), open());
  partials.acknowledge();
  await ticked;
  expect([await state(first), await state(second)]).toEqual(['resolved', 'pending']);
  await sink.tick();
  expect([await state(second), partials.final()]).toEqual(['resolved', 5]);
});

test('cells that could not be published go with the next tick, and nothing is answered before', async () => {
  const { sink, partials, faults, open: assign } = world();
  await assign();
  const written = sink.write(batch(0, 3), open());
  partials.fault = new Error('broken');
  await sink.tick();
  expect([await state(written), faults, partials.marksOf]).toEqual(['pending', ['publish'], []]);
  partials.fault = undefined;
  await sink.tick();
  expect([await state(written), partials.final()]).toEqual(['resolved', 3]);
});

test('a record that is handed over again is counted once', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  void sink.write(batch(0, 3), open());
  void sink.write(batch(1, 4), open());
  await sink.tick();
  expect(partials.final()).toBe(5);
});

test('a record whose time is none of a calendar is skipped and moves no time: the next one is counted', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  const odd = batch(0, 1);
  odd.timestampMs = () => 2 ** 63;
  const skipped = sink.write(odd, open());
  const counted = sink.write(batch(1, 1), open());
  await sink.tick();
  expect(await skipped).toEqual([{ kind: 'skipped', reason: 'no-broker-time' }]);
  expect((await counted).map(({ kind }) => kind)).toEqual(['stored']);
  expect(partials.final()).toBe(1);
  expect(partials.marksOf.at(-1)?.[0]?.watermarkMs).toBeLessThan(NOW_MS + 60_000);
});

test('a lane at its end tells the time at which the end was looked up; with records before it, it does not', async () => {
  const { sink, partials, ends, open: assign } = world();
  await assign();
  ends.set('events/0', 3);
  const written = sink.write(batch(0, 3), open());
  await sink.tick();
  await written;
  await sink.tick();
  const lateness = ruleSet([]).latenessMs;
  expect(partials.marksOf.at(-1)?.[0]).toMatchObject({ watermarkMs: NOW_MS + 5000 - lateness, unread: false });
  ends.set('events/0', 10);
  await sink.tick();
  await sink.tick();
  const behind = partials.marksOf.at(-1)?.[0];
  expect(behind?.unread).toBe(true);
  expect(behind?.watermarkMs).toBeLessThan(NOW_MS + 1000 - lateness);
});

test('a lane that stands still tells no time, whatever its log’s end is', async () => {
  const { sink, partials, ends, open: assign } = world();
  await assign();
  sink.observe({ kind: 'lane-halted', lane: TP, why: { kind: 'sink', sentence: '' } });
  ends.set('events/0', 0);
  await sink.tick();
  await sink.tick();
  expect(partials.marksOf.at(-1)?.[0]?.watermarkMs).toBeLessThan(NOW_MS);
});

test('behind an expired gap a new lane says from when it counts; what the old one had counted is published and answered', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  const before = sink.write(batch(0, 3), open());
  await sink.gap(LANE, { kind: 'expired', from: 3, to: 50 });
  sink.observe({ kind: 'lane-opened', lane: TP, startAt: 50 });
  const behind = sink.write(batch(50, 2), open());
  await sink.tick();
  expect([await state(before), await state(behind)]).toEqual(['resolved', 'resolved']);
  expect(partials.cellsOf.flat().map(({ offset, partial }) => [offset, partial[1]])).toEqual([[3, 3]]);
  expect(partials.marksOf.at(-1)).toMatchObject([{ fromMs: NOW_MS - 1000 }]);
});

test('a commit that does not lie within the log is left to the runtime, which knows what that means', async () => {
  const { open: assign } = world();
  const log = { logStart: 10, logEnd: 20 };
  expect(await assign({ ...LANE, ...log, committed: null })).toBeUndefined();
  expect(await assign({ ...LANE, ...log, committed: 5 })).toBeUndefined();
  expect(await assign({ ...LANE, ...log, committed: 25 })).toBeUndefined();
  expect(await assign({ ...LANE, ...log, committed: 15 }, { startAt: 12, fromMs: 0 })).toEqual({ startAt: 12 });
});

test('a rule that throws in the middle of a batch makes the lane open anew: half of it is counted', async () => {
  let events = 0;
  const rule = plainRule({
    where: () => {
      events += 1;
      if (events === 2) throw new Error('a fault of our own');
      return true;
    },
  });
  const { sink, partials, open: assign } = world(rule);
  await assign();
  const handed = batch(0, 3);
  await expect(sink.write(handed, open())).rejects.toThrow('a fault of our own');
  expect(handed.released).toBe(true);
  await assign();
  const again = sink.write(batch(0, 3), open());
  await sink.tick();
  await again;
  expect(partials.final()).toBe(3);
});

test('a lane that is given up gives its batches back; after a revoke all is published, and the lane is told no more', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  const lane = new AbortController();
  const lost = sink.write(batch(0, 3), lane.signal);
  lane.abort();
  expect(await state(lost)).toBe('rejected');
  await assign();
  const kept = sink.write(batch(0, 3), open());
  await sink.flush('revoke', [TP]);
  expect([await state(kept), partials.final()]).toEqual(['resolved', 3]);
  const told = partials.marksOf.length;
  await sink.tick();
  expect(partials.marksOf.length).toBe(told);
  await expect(sink.write(batch(3, 1), open())).rejects.toThrow('is not open');
});

test('a lost partition is told no more', async () => {
  const { sink, partials, open: assign } = world();
  await assign();
  sink.observe({ kind: 'rebalanced', how: 'lost', partitions: [TP] });
  await sink.tick();
  expect(partials.marksOf).toEqual([]);
});

test('it is warm once every lane has counted what was in its log when it was opened', async () => {
  const { sink, open: assign } = world();
  expect(sink.warmUp.kind).toBe('waiting');
  await assign({ ...LANE, committed: 0, logEnd: 5 });
  void sink.write(batch(0, 3), open());
  await sink.tick();
  expect(sink.warmUp).toMatchObject({ kind: 'warming', partitions: 1 });
  void sink.write(batch(3, 2), open());
  await sink.tick();
  expect(sink.warmUp.kind).toBe('warm');
});
