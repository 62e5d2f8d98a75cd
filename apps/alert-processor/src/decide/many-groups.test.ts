import { expect, test } from 'vitest';
import { REFUSED_GROUP } from '../messages/message.ts';
import { DeciderBench, T0, WEB } from '../testing/decider-bench.ts';
import { PANE_MS, plainRule } from '../testing/plain-rules.ts';

test('groups above the bound are an alert of their own, here and in a lane, and it ends', () => {
  const bench = new DeciderBench([plainRule({ maxGroups: 2 })]);
  bench.mark(0);
  for (const group of ['["a"]', '["b"]', '["c"]', '["d"]', '["e"]']) bench.count(1, 1, { group });
  expect(bench.tick()).toEqual([`firing@${250 / PANE_MS}`]);
  expect(bench.notification('tailrace.groups', '["events-by-service"]')?.summary).toContain('events-by-service');
  expect(bench.tick({ afterMs: 700_000 })).toEqual([`resolved@${250 / PANE_MS}`]);
  bench.count(80, 9, { group: REFUSED_GROUP });
  expect(bench.tick()).toEqual([`firing@${(bench.nowMs - T0) / PANE_MS}`]);
  expect(bench.decider.groups).toBe(4);
});

test('groups of panes before kept a busy group out of the decide stage for as long as a window reached: it never fired', () => {
  const bench = new DeciderBench([plainRule({ maxGroups: 2 })]);
  bench.mark(0);
  bench.count(0, 6, { group: '["fires"]' });
  expect(bench.tick()).toEqual(['firing@-5']);
  // Two in each pane: as many as the rule allows.
  for (let pane = 1; pane < 6; pane++) {
    bench.count(pane, 1, { group: `["idle ${pane}"]` });
    bench.count(pane, pane, { group: WEB });
  }
  bench.mark(5);
  expect(bench.tick()).toEqual(['firing@-2', `firing@${500 / PANE_MS}`]);
  expect(bench.state('events-by-service', WEB)?.state).toBe('firing');
  expect(bench.decider.groups).toBeLessThanOrEqual(4);
  // What fires never gives way: nothing would end it.
  bench.mark(8);
  expect(bench.tick()).toEqual(['resolved@-5']);
});

test('a group that gave way is not told to have few events when it comes back', () => {
  const bench = new DeciderBench([plainRule({ maxGroups: 1, condition: { operator: '<', threshold: 3 } })]);
  bench.mark(0);
  bench.count(0, 5);
  for (let n = 0; n < 3; n++) bench.count(1, 9, { group: `["other ${n}"]` });
  bench.count(2, 1);
  bench.mark(3);
  expect(bench.tick()).toEqual([`firing@${250 / PANE_MS}`]);
  expect(bench.state()).toBeUndefined();
});

test.each([false, true])(
  'the alert about the groups of a rule that was taken out or renamed never ended (another owner: %s)',
  (another) => {
    const bench = new DeciderBench([plainRule({ maxGroups: 1 })]);
    bench.mark(0);
    for (const group of ['["a"]', '["b"]', '["c"]']) bench.count(1, 1, { group });
    expect(bench.tick()).toEqual([`firing@${250 / PANE_MS}`]);
    bench.setRules([plainRule({ name: 'another-name' })]);
    expect(bench.tick()).toEqual([]);
    if (another) bench.restart();
    bench.tick();
    expect(bench.tick({ afterMs: 300_000 })).toEqual([`resolved@${250 / PANE_MS}`]);
    expect(bench.notification('tailrace.groups', '["events-by-service"]')?.evidence.text).toBe('the rule was taken out');
    expect(bench.tick({ afterMs: 300_000 })).toEqual([]);
  },
);
