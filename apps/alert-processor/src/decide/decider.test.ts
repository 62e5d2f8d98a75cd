import { expect, test } from 'vitest';
import { DeciderBench, T0, WEB } from '../testing/decider-bench.ts';
import { LATENESS_MS, PANE_MS, plainRule } from '../testing/plain-rules.ts';

const COUNT = plainRule().measure;
const ABSENCE = plainRule({ measure: { ...COUNT, kind: 'absence' }, window: { kind: 'sliding', ms: 30_000 }, rememberMs: 600_000 });
const FEW = plainRule({ condition: { operator: '<', threshold: 3 }, window: { kind: 'sliding', ms: 20_000 } });
const RATE = plainRule({ measure: { ...COUNT, kind: 'rate' }, compareMs: 600_000, condition: { operator: '>', threshold: 3 } });

test('a threshold fires early on what is there, and is resolved once every partition has passed a window that does not fire', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(2, 4);
  expect(bench.tick()).toEqual([]);
  bench.count(2, 2, { partition: 1 });
  expect(bench.tick()).toEqual(['firing@-3']);
  expect(bench.notification()?.evidence).toMatchObject({ text: 'count 6 > 5 in 1 min', value: 6, events: 6, missing: [] });
  expect(bench.notification()?.evidence.completeUpToMs).toBe(T0);
  bench.mark(8, { partitions: [0] });
  expect(bench.tick()).toEqual([]);
  bench.mark(8);
  expect(bench.tick()).toEqual([]);
  bench.mark(9);
  expect(bench.tick()).toEqual(['resolved@-3']);
  expect(bench.notification()?.evidence.text).toBe('count 0 (not > 5) in 1 min');
});

test('a partition that lags 60 s silences no rule; the alert says what was missing, and the end waits', () => {
  const bench = new DeciderBench();
  bench.mark(10);
  bench.mark(16, { partitions: [0] });
  bench.mark(10, { partitions: [1], unread: true });
  bench.count(16, 6);
  expect(bench.tick()).toEqual(['firing@11']);
  expect(bench.notification()?.evidence.missing).toEqual(['Partition 1 of service-events: behind, counted up to 2026-01-01T12:01:40Z.']);
  bench.mark(40, { partitions: [0] });
  expect(bench.tick()).toEqual([]);
  bench.mark(40);
  expect(bench.tick()).toEqual(['resolved@11']);
});

test('an incident that shows only when its partition catches up is told as one of its own, or as the one that was told, where they touch', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(50, 6);
  expect(bench.tick()).toEqual(['firing@45']);
  bench.count(10, 6, { partition: 1 });
  bench.count(45, 6, { partition: 1 });
  expect(bench.tick()).toEqual([]);
  bench.mark(30);
  expect(bench.tick()).toEqual(['firing@5', 'resolved@5']);
  bench.mark(60);
  expect(bench.tick()).toEqual(['resolved@45']);
});

test('a partition that was never heard of keeps absence from being told, and thresholds not', () => {
  const bench = new DeciderBench([ABSENCE]);
  bench.mark(30, { partitions: [0] });
  bench.count(1, 1);
  expect(bench.tick()).toEqual([]);
  const other = new DeciderBench();
  other.mark(10, { partitions: [0] });
  other.count(12, 6);
  expect(other.tick()).toEqual(['firing@7']);
  expect(other.notification()?.evidence.missing).toEqual([
    'Partition 1 of service-events: not heard of: nobody reads it, or no count of it came yet.',
  ]);
});

test('time that nobody read is blind: nothing is told absent in it, nothing is resolved by it, and what follows is decided again', () => {
  const bench = new DeciderBench([ABSENCE]);
  bench.count(0, 1);
  bench.mark(1);
  bench.tick();
  bench.mark(10, { partitions: [0] });
  bench.mark(10, { partitions: [1], fromMs: T0 + 5 * PANE_MS });
  expect(bench.tick()).toEqual(['firing@5']);
  const threshold = new DeciderBench();
  threshold.mark(1);
  threshold.count(1, 6);
  expect(threshold.tick()).toEqual(['firing@-4']);
  threshold.mark(10, { fromMs: T0 + 9 * PANE_MS });
  expect(threshold.tick()).toEqual([]);
  threshold.mark(14);
  expect(threshold.tick()).toEqual([]);
  threshold.mark(15);
  expect(threshold.tick()).toEqual(['resolved@-4']);
});

test('absence fires at the watermark, goes on while nothing comes, is resolved by an event, and given up after 24 h', () => {
  const bench = new DeciderBench([ABSENCE]);
  bench.count(0, 1);
  bench.mark(3);
  expect(bench.tick()).toEqual([]);
  bench.mark(4);
  expect(bench.tick()).toEqual(['firing@1']);
  expect(bench.notification()?.evidence.text).toBe('no event in 30 s, since 2026-01-01T12:00:10.000Z');
  bench.mark(200);
  expect(bench.tick()).toEqual([]);
  bench.count(200, 1);
  bench.mark(201);
  expect(bench.tick()).toEqual(['resolved@1']);
  bench.mark(204);
  expect(bench.tick()).toEqual(['firing@201']);
  const day = 204 + 8640;
  bench.mark(day - 1);
  expect(bench.tick()).toEqual([]);
  bench.mark(day);
  expect(bench.tick()).toEqual(['resolved@201']);
  expect(bench.notification()?.evidence.text).toContain('given up waiting after 24 h');
  bench.mark(day + 100);
  expect(bench.tick()).toEqual([]);
});

test('below a threshold only complete windows count, also empty ones of a group that was there before', () => {
  const bench = new DeciderBench([FEW]);
  for (const pane of [0, 1, 2]) bench.count(pane, 5);
  bench.mark(3);
  expect(bench.tick()).toEqual([]);
  bench.mark(5);
  expect(bench.tick()).toEqual(['firing@3']);
  bench.count(5, 2);
  bench.count(6, 2);
  bench.mark(7);
  expect(bench.tick()).toEqual(['resolved@3']);
});

test('a rate says nothing until the time that it is compared with was counted, and nothing where that was empty', () => {
  const bench = new DeciderBench([RATE]);
  bench.count(0, 2);
  bench.mark(60, { fromMs: T0 + PANE_MS });
  bench.count(60, 9);
  expect(bench.tick()).toEqual([]);
  const warm = new DeciderBench([RATE]);
  warm.count(0, 2);
  warm.mark(60);
  warm.count(60, 6);
  expect(warm.tick()).toEqual([]);
  warm.count(60, 7);
  expect(warm.tick()).toEqual(['firing@55']);
  expect(warm.notification()?.evidence.text).toBe('count 3.5 times that of 10 min before > 3 in 1 min');
});

test('a window that told never begins an episode again: repeats, zombies, a restart', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(1, 6);
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
  bench.count(1, 60);
  expect(bench.tick()).toEqual([]);
  bench.restart();
  bench.count(1, 6);
  bench.mark(20);
  expect(bench.tick()).toEqual([]);
  bench.count(21, 6);
  expect(bench.tick()).toEqual(['firing@16']);
});

test("a stage 1 whose clock is ahead of the brokers' seals nothing that still fills, and is told of", () => {
  const bench = new DeciderBench();
  const ahead = 3 * 3_600_000;
  const atMs = T0 + LATENESS_MS;
  bench.mark(0, { watermarkMs: T0 + ahead, atMs });
  bench.tick();
  expect(bench.decider.settledMs).toBe(T0);
  bench.count(1, 6);
  expect(bench.tick()).toEqual(['firing@-4']);
  expect(bench.decider.sources().map(({ aheadMs }) => aheadMs)).toEqual([ahead, ahead]);
  // The clock is mended: time goes on at once.
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
  expect(bench.decider.sources().map(({ aheadMs }) => aheadMs)).toEqual([0, 0]);
});

test("a kept watermark ahead of the brokers' clock does not silence what comes before it", () => {
  const bench = new DeciderBench();
  bench.decider.restore([{ kind: 'partition', partition: 0, watermarkMs: T0 + 3 * 3_600_000, epoch: 0, owner: 'ahead' }]);
  bench.mark(0);
  bench.count(1, 6);
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
});

test('marks that are read again are held against their own broker time, not that of the newest', () => {
  const bench = new DeciderBench();
  bench.mark(20);
  bench.mark(5, { watermarkMs: T0 + 25 * PANE_MS, atMs: T0 + 5 * PANE_MS + LATENESS_MS });
  bench.tick();
  expect(bench.decider.settledMs).toBe(T0 + 20 * PANE_MS);
});

test('cells from the future, from 1970 and of another kind neither fire nor stop anything', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.count(0, 900, { paneMs: Date.UTC(2099, 0, 1) });
  bench.count(0, 900, { paneMs: 0, brokerMs: 5000 });
  // A pane and its broker time of 2096 in a record of today; a pane between two; an event later than its record.
  bench.count(0, 900, { paneMs: 4e12, brokerMs: 4e12, eventMs: 4e12 });
  bench.count(1, 900, { paneMs: T0 + PANE_MS + 1 });
  bench.count(1, 900, { eventMs: 4e12 });
  bench.count(1, 2);
  bench.count(1, 9, { partition: 1, partial: ['sum', 9, 9] });
  expect(bench.tick()).toEqual([]);
  bench.count(1, 6);
  expect(bench.tick()).toEqual(['firing@-4']);
});

test('a partition of the stream that is an hour behind is not waited for: its time is unknown, and the panes stay bounded', () => {
  const bench = new DeciderBench([FEW]);
  bench.mark(0, { partitions: [1] });
  for (let pane = 0; pane < 720; pane++) bench.count(pane, 5);
  bench.mark(720, { partitions: [0] });
  expect(bench.tick()).toEqual([]);
  expect(bench.decider.settledMs).toBe(T0 + 360 * PANE_MS);
  expect(bench.state()?.group ?? WEB).toBe(WEB);
});
