import { reachOf } from '../panes/check-reach.ts';
import { printDuration } from './durations.ts';
import type { Rule } from './rule.ts';

/** What a rule means, in one line: `errors: fires when count > 5 in 1m, for each service; looks back 1m; version 0123456789abcdef`. */
export function ruleLine(rule: Rule): string {
  return `${rule.name}: ${ruleMeaning(rule)}${neverCameWords(rule)}; looks back ${printDuration(reachOf(rule))}; version ${rule.version}`;
}

function ruleMeaning({ measure, window, condition, forMs, minCount, compareMs, rememberMs, groupBy }: Rule): string {
  const length = `${printDuration(window.ms)}${window.kind === 'tumbling' ? ' (tumbling)' : ''}`;
  const against = compareMs === undefined ? '' : ` times that of ${printDuration(compareMs)} before`;
  const what =
    rememberMs === undefined
      ? `${measure.text} ${condition.operator} ${condition.threshold}${against} in ${length}`
      : `nothing came for ${length} and something did in the ${printDuration(rememberMs)} before`;
  return [
    `fires when ${what}`,
    ...(forMs === 0 ? [] : [`for ${printDuration(forMs)} on end`]),
    ...(minCount === 0 ? [] : [`with at least ${minCount} events`]),
  ]
    .join(' ')
    .concat(groupBy.length === 0 ? '' : `, for each ${groupBy.join(' and ')}`);
}

/** Whoever writes `count < 1` often means a group that never was: of that no rule knows. */
function neverCameWords({ measure, condition: { operator, threshold } }: Rule): string {
  const isNone = measure.kind === 'count' && ((operator === '<' && threshold <= 1) || (operator === '<=' && threshold < 1));
  return isNone ? '; only what came before is missed (absence says for how long)' : '';
}
