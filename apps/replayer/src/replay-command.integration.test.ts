import { afterAll, beforeAll, expect, it } from 'vitest';
import { at, BASE_MS, MINUTE_MS, PLAN, ReplayBench, timeOf } from './testing/replay-bench.ts';

let bench: ReplayBench;
beforeAll(async () => {
  bench = await ReplayBench.open();
});
afterAll(() => bench.close());

it('with nothing anywhere there is nothing to replay', async () => {
  expect(await bench.replay('window')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nNothing can be replayed: there is no record yet\.\n$/),
  });
  expect(await bench.replay(...PLAN, '--from', at(0, 0), '--to', at(0, 1))).toEqual({
    code: 2,
    out: '',
    told: 'There is nothing to replay: neither the lake nor Kafka holds a record yet.\n',
  });
  expect(await bench.replay('ls')).toMatchObject({ code: 0, out: expect.stringMatching(/^There is no plan yet/) });
});

it('a window that lies in the lake and in Kafka is planned over both, and the plan names offsets only', async () => {
  await bench.fill();
  await bench.deleteBefore(0, 40);
  await bench.deleteBefore(1, 15);

  const shown = await bench.json('window');
  expect(shown).toMatchObject({ holes: 0, sinceMs: BASE_MS, oldestMs: BASE_MS });
  expect(shown.partitions).toMatchObject([
    {
      kafka: { oldest: { offset: 40, timestampMs: timeOf(0, 40) }, logEnd: 100 },
      lake: { oldest: { offset: 0, timestampMs: BASE_MS }, newestMs: timeOf(0, 59), end: 60 },
    },
    { kafka: { oldest: { offset: 15 }, logEnd: 50 }, lake: { end: 20 } },
    { kafka: { oldest: null, logEnd: 0 }, lake: null, sinceMs: null },
  ]);
  const { code, out } = await bench.replay('window');
  expect(code).toBe(0);
  expect(out).toMatch(/\nReplay is true for \d+ h( \d+ min)?: every record since \S+Z \(local [^)]+\) can be brought back\.\n$/);

  // From offset 35 of partition 0 (in the lake alone) up to 70 (in Kafka alone).
  const planned = await bench.json(...PLAN, '--from', at(0, 35), '--to', at(0, 70));
  expect(planned).toMatchObject({ id: 1, into: 'indexer', window: { fromMs: timeOf(0, 35), toMs: timeOf(0, 70), by: 'broker' } });
  expect(planned.partitions).toMatchObject([
    // Whole entries from [30, 40) on, and of the tail what arrived up to 5 minutes behind the window: 70 itself did.
    {
      partition: 0,
      ranges: [{ first: 30, next: 71 }],
      records: 41,
      missing: [],
      clockSteps: [],
      now: { lake: [{ first: 30, next: 60 }], kafka: [{ first: 40, next: 71 }] },
    },
    { partition: 1, ranges: [{ first: 15, next: 36 }], now: { lake: [{ first: 15, next: 20 }], kafka: [{ first: 15, next: 36 }] } },
  ]);
  const stored = (await bench.store.get(`${bench.topic}/_replay/plans/0000000001.json`))?.toString() ?? '';
  expect(JSON.parse(stored).partitions[0]).toMatchObject({ ranges: [{ first: 30, next: 71 }] });
  expect(stored).not.toContain('now');
});

it('the first instant of a window is in it, the last one is not, and a partition without a record in it is left out', async () => {
  // The entries [0, 10) and [10, 20) of partition 0 are more than 5 minutes apart from each other's other ends.
  const one = await bench.json(...PLAN, '--dry-run', '--from', at(0, 15), '--to', new Date(timeOf(0, 15) + 1).toISOString());
  expect(one.id).toBeNull();
  expect(one.partitions).toMatchObject([
    { partition: 0, ranges: [{ first: 10, next: 20 }] },
    { partition: 1, ranges: [{ first: 5, next: 10 }] },
  ]);
  // In Kafka alone, up to a record: it is read, since the clock may have gone back, and is not of the window.
  const tail = await bench.json(...PLAN, '--dry-run', '--from', at(0, 80), '--to', at(0, 82));
  expect(tail.partitions).toMatchObject([
    { partition: 0, ranges: [{ first: 80, next: 83 }] },
    { partition: 1, ranges: [{ first: 40, next: 42 }] },
  ]);
  // By the event's own time both ends are an hour wider: 10 records of partition 0, 5 of partition 1.
  const event = await bench.json(...PLAN, '--dry-run', '--by', 'event', '--from', at(0, 80), '--to', at(0, 82));
  expect(event).toMatchObject({ window: { by: 'event', skewMs: 60 * MINUTE_MS } });
  expect(event.partitions).toMatchObject([
    { partition: 0, ranges: [{ first: 70, next: 93 }] },
    { partition: 1, ranges: [{ first: 35, next: 47 }] },
  ]);
  const skewed = await bench.json(...PLAN, '--dry-run', '--by', 'event', '--skew', '12m', '--from', at(0, 80), '--to', at(0, 82));
  expect(skewed.partitions[0].ranges).toEqual([{ first: 78, next: 85 }]);
  expect((await bench.json('ls')).plans).toHaveLength(1);
});

it('a window before the oldest record, one of nothing, and a number that no plan has, are said in one sentence', async () => {
  expect(await bench.replay(...PLAN, '--from', '2025-01-01T00:00:00Z', '--to', '2025-01-01T01:00:00Z')).toEqual({
    code: 2,
    out: '',
    told: expect.stringMatching(
      new RegExp(
        `^The window ends at 2025-01-01T01:00:00\\.000Z \\(local [^)]+\\), before the oldest record that is left: records can be had from the lake since ${at(0, 0)} \\(local [^)]+\\), and from Kafka since ${at(1, 15)} \\(local [^)]+\\)\\.\n$`,
      ),
    ),
  });
  expect(await bench.replay('show', '77')).toMatchObject({ code: 2, told: expect.stringMatching(/^There is no plan 77: [^\n]+\n$/) });
  expect(await bench.replay('show', 'x')).toMatchObject({ code: 2, told: expect.stringContaining('Give the number of a plan') });
  // Behind the last record, which is not older than the hour before.
  const empty = await bench.replay(
    ...PLAN,
    '--from',
    new Date(Date.now() - 1000).toISOString(),
    '--to',
    new Date(Date.now() - 500).toISOString(),
  );
  expect(empty).toMatchObject({
    code: 1,
    out: expect.stringMatching(/\nNothing was stored: no record of the window is left to be read\.\n$/),
  });
});
