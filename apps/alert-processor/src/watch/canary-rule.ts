import { CANARY_SERVICE } from '@tailrace/events';
import type { EventObject, Measure, Rule, RuleSet } from '../rules/rule.ts';

/** The one rule that counts canaries: its cells show the deciding stage that a canary was stored and read. It never fires. */
export const CANARY_RULE = CANARY_SERVICE;

/** Canaries of this software begin so: what others post under the service's name is of no group, and displaces none. */
export const CANARY_CUSTOMER = 'canary-';

/** One for each pair of a partition of the stream and one of alert-partials, and room for another count of either. */
const MAX_GROUPS = 1000;

const COUNT: Measure = {
  kind: 'count',
  partialKind: 'count',
  text: 'count',
  open: () => {
    let n = 0;
    return {
      fold: () => {
        n += 1;
      },
      partial: () => ['count', n],
    };
  },
  value: (merged) => merged[1],
};

function isOurs({ customer_id: customer }: EventObject): boolean {
  return typeof customer === 'string' && customer.startsWith(CANARY_CUSTOMER);
}

/** The group of a canary, as the rule's `groupOf` has it. */
export function canaryGroup(customer: string): string {
  return JSON.stringify([customer]);
}

/** The rules and, beside them, the one that counts canaries. To be called whenever rules are loaded. */
export function withCanaryRule(set: RuleSet): RuleSet {
  const rule: Rule = {
    name: CANARY_RULE,
    version: `canary-1-${set.paneMs}`,
    where: isOurs,
    groupBy: ['customer_id'],
    groupOf: ({ customer_id: customer }) => canaryGroup(String(customer)),
    measure: COUNT,
    window: { kind: 'tumbling', ms: set.paneMs },
    condition: { operator: '>', threshold: Number.POSITIVE_INFINITY },
    forMs: 0,
    minCount: 0,
    maxGroups: MAX_GROUPS,
    notify: [],
    text: { severity: 'info', summary: 'canaries', labels: {}, response: { do: 'Nothing.', doNot: 'Nothing.' } },
  };
  return { ...set, rules: [...set.rules, rule] };
}
