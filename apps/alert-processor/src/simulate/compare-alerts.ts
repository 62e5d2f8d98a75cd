import { conditionHolds } from '../rules/condition-holds.ts';
import { groupWords, namedGroup } from '../rules/group-words.ts';
import type { Condition, RuleSet } from '../rules/rule.ts';
import { type Bounds, printBounds, printMoment } from './moments.ts';
import type { Case, ExpectedAlert } from './read-cases.ts';
import type { SeenAlert } from './run-case.ts';

/** What of the alerts of a case is not as expected, a sentence each. */
export function compareAlerts(
  { startMs, expect, rules }: Pick<Case, 'startMs' | 'expect' | 'rules'>,
  alerts: readonly SeenAlert[],
): string[] {
  const keyOf = ({ rule, group }: { readonly rule: string; readonly group: string }) => JSON.stringify([rule, group]);
  const differences: string[] = [];
  for (const key of new Set([...expect, ...alerts].map(keyOf))) {
    const name = nameOf(JSON.parse(key) as [string, string], rules);
    const wanted = expect.filter((each) => keyOf(each) === key);
    const seen = alerts.filter((each) => keyOf(each) === key).sort((a, b) => a.firedMs - b.firedMs);
    for (let i = 0; i < Math.max(wanted.length, seen.length); i++) differences.push(...compareOne(wanted[i], seen[i], startMs, name));
  }
  return differences;
}

function compareOne(wanted: ExpectedAlert | undefined, seen: SeenAlert | undefined, startMs: number, name: string): string[] {
  if (seen === undefined) return wanted === undefined ? [] : [`${name} did not fire: expected at ${printBounds(wanted.firesAt)}.`];
  const after = (ms: number) => printMoment(ms - startMs);
  const { severity, evidence } = seen.firing;
  if (wanted === undefined)
    return [`${name} fired at ${after(seen.firedMs)}${seen.silenced ? ', under a silence' : ''}: not expected. ${evidence.text}.`];
  const differences: string[] = [];
  if (!lies(seen.firedMs - startMs, wanted.firesAt))
    differences.push(`${name} fired at ${after(seen.firedMs)}: expected at ${printBounds(wanted.firesAt)}. ${evidence.text}.`);
  const { resolvedMs } = seen;
  const { resolvesAt } = wanted;
  if (resolvesAt === 'never' && resolvedMs !== undefined) differences.push(`${name} was over at ${after(resolvedMs)}: expected never.`);
  else if (resolvesAt !== undefined && resolvesAt !== 'never' && (resolvedMs === undefined || !lies(resolvedMs - startMs, resolvesAt)))
    differences.push(
      `${name} was ${resolvedMs === undefined ? 'never over' : `over at ${after(resolvedMs)}`}: expected at ${printBounds(resolvesAt)}.`,
    );
  if (wanted.severity !== undefined && severity !== wanted.severity)
    differences.push(`${name} has the severity ${severity}: expected ${wanted.severity}.`);
  if (wanted.value !== undefined && !fits(evidence.value, wanted.value))
    differences.push(`${name} measured ${evidence.value} when it fired: expected ${valueText(wanted.value)}.`);
  if (seen.silenced !== wanted.silenced)
    differences.push(
      `${name} was ${seen.silenced ? 'kept quiet by a silence' : 'told'}: expected ${wanted.silenced ? 'a silence' : 'to be told'}.`,
    );
  return differences;
}

function nameOf([rule, group]: readonly [rule: string, group: string], { rules }: RuleSet): string {
  const words = groupWords(namedGroup(rules.find(({ name }) => name === rule)?.groupBy, group));
  return words === '' ? rule : `${rule} ${words}`;
}

function lies(ms: number, { fromMs, untilMs }: Bounds): boolean {
  return fromMs <= ms && ms < untilMs;
}

function fits(value: number | null, wanted: number | Condition): boolean {
  if (typeof wanted === 'number' || value === null) return value === wanted;
  return conditionHolds(wanted, value);
}

function valueText(wanted: number | Condition): string {
  return typeof wanted === 'number' ? String(wanted) : `${wanted.operator} ${wanted.threshold}`;
}
