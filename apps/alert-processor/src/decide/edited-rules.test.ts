import { expect, test } from 'vitest';
import { DeciderBench, T0 } from '../testing/decider-bench.ts';
import { PANE_MS, plainRule } from '../testing/plain-rules.ts';

const HOUR_MS = 3_600_000;

function silence(untilMs: number, fromMs = T0 - HOUR_MS) {
  return { kind: 'silence', silence: { id: 's1', rule: 'events-by-service', fromMs, untilMs, comment: '' } } as const;
}

/** The window that ended it, less a millisecond. */
const firingAt = `firing@${21 - 1 / PANE_MS}`;

function firingBench(rule = plainRule()): DeciderBench {
  const bench = new DeciderBench([rule]);
  bench.mark(0);
  bench.count(1, 6);
  return bench;
}

test('a text-only edit and another threshold keep the episode; what is told of it later has the severity that was told', () => {
  const rule = plainRule();
  const bench = firingBench(rule);
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.setRules([{ ...rule, text: { ...rule.text, severity: 'info', summary: 'other words' } }]);
  expect(bench.tick()).toEqual([]);
  bench.setRules([{ ...rule, condition: { operator: '>', threshold: 3 } }]);
  expect(bench.tick()).toEqual([]);
  bench.setRules([
    { ...rule, condition: { operator: '>', threshold: 7 }, text: { ...rule.text, severity: 'info', summary: 'other words' } },
  ]);
  bench.mark(9);
  expect(bench.tick()).toEqual(['resolved@-4']);
  expect(bench.notification()).toMatchObject({ severity: 'error', summary: 'other words' });
});

test('another version goes on with the episode, and resolves it once it has counted a whole window', () => {
  const bench = firingBench();
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.setRules([plainRule({ version: 'v2' })]);
  bench.mark(10, { ruleFromMs: new Map([['events-by-service', T0 + 5 * PANE_MS]]) });
  expect(bench.tick()).toEqual([]);
  bench.mark(11);
  expect(bench.tick()).toEqual(['resolved@-4']);
});

test('a rule that was taken out and put back while its incident went on was told twice, and the first never resolved', () => {
  const bench = firingBench();
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.setRules([]);
  expect(bench.tick({ afterMs: 60_000 })).toEqual([]);
  expect(bench.state()?.state).toBe('firing');
  bench.setRules([plainRule()]);
  bench.mark(2);
  bench.count(2, 7);
  expect(bench.tick({ afterMs: 400_000 })).toEqual([]);
  bench.mark(20);
  expect(bench.tick()).toEqual(['resolved@-4']);
});

test('a rule that is gone or renamed never told that its alert was over: it does after five minutes, once, to whom it was told', () => {
  const bench = firingBench();
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.setRules([plainRule({ name: 'another-name' })]);
  expect(bench.tick()).toEqual([]);
  expect(bench.tick({ afterMs: 299_000 })).toEqual([]);
  bench.mark(30);
  expect(bench.tick({ afterMs: 1000 })).toEqual(['resolved@-4']);
  expect(bench.notification()).toMatchObject({ status: 'resolved', summary: 'many events', evidence: { text: 'the rule was taken out' } });
  bench.setRules([plainRule()]);
  bench.mark(30);
  bench.count(1, 7);
  expect(bench.tick()).toEqual([]);
});

test('what fires of groups that a rule has no more is told as over, also by an owner that never saw the old rule', () => {
  const bench = firingBench();
  expect(bench.tick()).toEqual(['firing@-4']);
  bench.rules = { ...bench.rules, rules: [plainRule({ version: 'v2', groupBy: ['service', 'region'] })] };
  bench.restart();
  expect(bench.tick()).toEqual([]);
  expect(bench.tick({ afterMs: 300_000 })).toEqual(['resolved@-4']);
  expect(bench.notification()?.evidence.text).toBe('the rule groups by something else now');
});

test('what was told to nobody is told to nobody when its rule is gone', () => {
  const bench = firingBench();
  bench.decider.accept(silence(T0 + HOUR_MS), T0);
  bench.tick();
  bench.setRules([]);
  bench.tick();
  expect(bench.tick({ afterMs: 300_000 })).toEqual([]);
  expect(bench.state()).toMatchObject({
    state: 'ok',
    transitions: [{ silencedBy: 's1' }, { name: 'resolved', silencedBy: 's1', sends: [] }],
  });
});

test('a window that grew is complete only once its panes are held again', () => {
  const few = plainRule({ condition: { operator: '<', threshold: 3 }, window: { kind: 'sliding', ms: 20_000 } });
  const bench = new DeciderBench([few]);
  for (let pane = 0; pane < 100; pane++) bench.count(pane, 5);
  bench.mark(100);
  expect(bench.tick()).toEqual([]);
  bench.setRules([{ ...few, window: { kind: 'sliding', ms: 600_000 }, condition: { operator: '<', threshold: 250 } }]);
  for (let pane = 100; pane < 130; pane++) bench.count(pane, 5);
  bench.mark(130);
  expect(bench.tick()).toEqual([]);
});

test('a longer window gave a later incident the idempotency key of an earlier one', () => {
  const rule = plainRule({ condition: { operator: '>=', threshold: 10 } });
  const bench = new DeciderBench([rule]);
  bench.mark(0);
  bench.count(0, 10);
  expect(bench.tick()).toEqual(['firing@-5']);
  bench.mark(7);
  expect(bench.tick()).toEqual(['resolved@-5']);
  bench.setRules([{ ...rule, window: { kind: 'sliding', ms: 130_000 } }]);
  bench.count(7, 10);
  expect(bench.tick()).toEqual(['firing@7']);
  bench.mark(30);
  expect(bench.tick()).toEqual(['resolved@7']);
});

test('an incident that is found late takes no start that was told, whatever became of the window', () => {
  const rule = plainRule({ condition: { operator: '>=', threshold: 10 } });
  const bench = new DeciderBench([rule]);
  bench.mark(0);
  bench.count(0, 10);
  expect(bench.tick()).toEqual(['firing@-5']);
  bench.mark(7);
  expect(bench.tick()).toEqual(['resolved@-5']);
  bench.count(40, 10);
  expect(bench.tick()).toEqual(['firing@35']);
  bench.setRules([{ ...rule, window: { kind: 'sliding', ms: 130_000 } }]);
  bench.count(7, 10);
  bench.mark(25);
  expect(bench.tick()).toEqual([firingAt, firingAt.replace('firing', 'resolved')]);
});

test('a new rule let the time up to which all is decided fall back by an hour', () => {
  const bench = new DeciderBench();
  bench.mark(100);
  bench.tick();
  expect(bench.decider.settledMs).toBe(T0 + 100 * PANE_MS);
  bench.setRules([plainRule(), plainRule({ name: 'new' })]);
  bench.tick();
  expect(bench.decider.settledMs).toBe(T0 + 100 * PANE_MS);
  bench.mark(101, { ruleFromMs: new Map([['new', T0 + 101 * PANE_MS]]) });
  bench.tick();
  expect(bench.decider.settledMs).toBe(T0 + 101 * PANE_MS);
});

test('a new rule that another process has counted for a while is decided from there on', () => {
  const bench = new DeciderBench();
  bench.mark(0);
  bench.tick();
  const name = 'new';
  bench.count(50, 6, { rule: { name, version: 'v1' } });
  bench.mark(100);
  bench.tick();
  bench.setRules([plainRule(), plainRule({ name })]);
  bench.mark(100, { fromMs: T0 });
  expect(bench.tick()).toEqual(['firing@45', 'resolved@45']);
});
