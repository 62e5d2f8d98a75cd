import type { EventObject, Measure, Rule, RuleSet } from '../rules/rule.ts';

export const PANE_MS = 10_000;
export const LATENESS_MS = 60_000;

const COUNT: Measure = {
  kind: 'count',
  partialKind: 'count',
  text: 'count',
  open: () => {
    let n = 0;
    return { fold: () => void n++, partial: () => ['count', n] };
  },
  value: (merged) => merged[1],
};

/** A rule that needs no file: counts events by service. */
export function plainRule(changes: Partial<Rule> = {}): Rule {
  return {
    name: 'events-by-service',
    version: 'v1',
    where: () => true,
    groupBy: ['service'],
    groupOf: (event: EventObject) => JSON.stringify([typeof event.service === 'string' ? event.service : null]),
    measure: COUNT,
    window: { kind: 'sliding', ms: 60_000 },
    condition: { operator: '>', threshold: 5 },
    forMs: 0,
    minCount: 0,
    maxGroups: 1000,
    notify: [],
    text: { severity: 'error', summary: 'many events', labels: {}, response: { do: 'look', doNot: 'wait' } },
    ...changes,
  };
}

export function ruleSet(rules: readonly Rule[], changes: Partial<RuleSet> = {}): RuleSet {
  return { rules, paneMs: PANE_MS, latenessMs: LATENESS_MS, reachMs: 60_000, silences: [], ...changes };
}
