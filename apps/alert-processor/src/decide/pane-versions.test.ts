import { expect, test } from 'vitest';
import { DeciderBench, T0, WEB } from '../testing/decider-bench.ts';
import { PANE_MS, plainRule } from '../testing/plain-rules.ts';
import { IDLE_VERSION_MS } from './coverage.ts';

const FEW = plainRule({ name: 'few', condition: { operator: '<', threshold: 3 }, window: { kind: 'sliding', ms: 20_000 } });
const OTHERS = Array.from({ length: 120 }, (_, at) => plainRule({ name: `other-${at}` }));
const COUNTED = { rule: { name: 'few', version: 'v1' } };

/** Marks of a process that has the rule already, where this one has not. */
function marked(bench: DeciderBench, pane: number): void {
  const source = (partition: number) => ({ topic: 'service-events', incarnation: 'AbCd-_12', partition });
  const mark = { watermarkMs: T0 + pane * PANE_MS, fromMs: T0 - 3_600_000, ruleFromMs: new Map(), unread: false, late: 0 };
  const marks = [0, 1].map((partition) => ({ source: source(partition), ...mark }));
  const rules = [COUNTED.rule, ...bench.rules.rules.map(({ name, version }) => ({ name, version }))];
  bench.decider.accept({ kind: 'marks', rules, marks }, T0 + pane * PANE_MS + 60_000);
}

test('with 100 and more rules loaded, cells of a version that only another process has are kept for when it is loaded here', () => {
  const bench = new DeciderBench(OTHERS);
  for (const pane of [0, 1, 2, 3]) bench.count(pane, 5, COUNTED);
  marked(bench, 4);
  bench.tick();
  bench.setRules([...OTHERS, FEW]);
  expect(bench.tick()).toEqual([]);
  bench.count(4, 1, COUNTED);
  marked(bench, 6);
  expect(bench.tick()).toEqual(['firing@4']);
});

test('a version of which cells were dropped is not complete up to there, whatever marks say', () => {
  const bench = new DeciderBench([plainRule()]);
  for (let at = 0; at < 100; at++) bench.count(0, 1, { rule: { name: `noise-${at}`, version: 'v1' } });
  for (const pane of [0, 1, 2, 3]) bench.count(pane, 5, COUNTED);
  marked(bench, 2);
  bench.setRules([plainRule(), FEW]);
  // One event of the pane behind the dropped ones, where there were more before: no window of the dropped panes says few.
  bench.count(4, 1, { ...COUNTED, group: WEB });
  marked(bench, 5);
  expect(bench.tick()).toEqual([]);
  marked(bench, 6);
  expect(bench.tick()).toEqual(['firing@4']);
});

test('panes that were forgotten since nobody had the rule for a while are not taken for empty when it comes back', () => {
  const bench = new DeciderBench([FEW, plainRule()]);
  bench.count(0, 5, COUNTED);
  marked(bench, 1);
  bench.tick();
  bench.setRules([plainRule()]);
  bench.tick({ afterMs: IDLE_VERSION_MS + 1 });
  bench.tick({ afterMs: IDLE_VERSION_MS + 1 });
  bench.setRules([FEW, plainRule()]);
  bench.count(1, 1, COUNTED);
  marked(bench, 2);
  expect(bench.tick()).toEqual([]);
});
