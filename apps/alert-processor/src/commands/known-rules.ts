import { TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, type Environment } from '@tailrace/service';
import type { AlertState } from '../decide/alert-state.ts';
import { GROUPS_RULE } from '../decide/self-conditions.ts';
import { didYouMean } from '../rules/did-you-mean.ts';
import { readRuleFiles } from '../rules/read-rules.ts';
import { problemLine } from '../rules/reading.ts';
import type { RuleSet } from '../rules/rule.ts';
import { readRulesAt } from '../rules/rule-files.ts';
import { WATCH_RULES } from '../watch/dead-man.ts';

/** The rules of ALERT_RULES (with an endpoints file: those that it names), or why they are not known here, as a part of a sentence. */
export type KnownRules = { readonly rules: RuleSet; readonly path: string } | { readonly unknown: string };

/** Any: what a rule groups by does not depend on them. */
const READING = { paneMs: 10_000, latenessMs: 60_000 };

/** Alerts about tailrace itself stand in no file. */
const SELF_RULES: readonly string[] = [...WATCH_RULES, GROUPS_RULE];

/**
 * Never rejects: somebody who silences alerts at night must not have to mend a rules file first, and while one is refused the processors go on with the
 * rules of before.
 */
export async function knownRules({ ALERT_RULES: path = '' }: Environment): Promise<KnownRules> {
  if (path === '') return { unknown: 'ALERT_RULES is not set, and no --endpoints FILE is given' };
  const found = await readRulesAt(path);
  if ('problem' in found) return { unknown: `ALERT_RULES can not be read (${found.problem})` };
  const read = readRuleFiles(found.files, READING);
  if ('rules' in read) return { rules: read.rules, path };
  const [first] = read.problems.map(problemLine);
  return { unknown: `the rules at ${path} are refused as they stand now (${first}): see ${TAILRACE} rules check ${path}` };
}

/** What a rule groups by, as far as somebody here knows it; and why its name could not be checked, where it could not. */
export interface RuleKnowledge {
  readonly groupBy: readonly string[] | undefined;
  readonly unchecked: string | undefined;
}

/** Looks a rule up in the rules, and among what has fired. @throws ConfigError where there is no such rule */
export function knowledgeOf(rule: string, known: KnownRules, alerts: readonly AlertState[]): RuleKnowledge {
  const groupBy = groupByOf(rule, known, alerts);
  const fired = alerts.some((state) => state.rule === rule);
  if (fired || SELF_RULES.includes(rule) || ('rules' in known && known.rules.rules.some(({ name }) => name === rule)))
    return { groupBy, unchecked: undefined };
  if (rule.startsWith('tailrace.'))
    throw new ConfigError([
      `There is no rule ${rule}${didYouMean(rule, SELF_RULES)}: those of tailrace itself are ${SELF_RULES.join(', ')}.`,
    ]);
  if ('rules' in known) {
    const names = known.rules.rules.map(({ name }) => name);
    throw new ConfigError([`There is no rule ${rule}${didYouMean(rule, names)} in ${known.path}.`]);
  }
  const near = didYouMean(
    rule,
    alerts.map((state) => state.rule),
  );
  return { groupBy, unchecked: `Whether there is a rule ${rule}${near} was not checked: ${known.unknown}.` };
}

/** What a rule groups by; undefined where nobody here knows. */
export function groupByOf(rule: string, known: KnownRules, alerts: readonly AlertState[]): readonly string[] | undefined {
  const ofFile = 'rules' in known ? known.rules.rules.find(({ name }) => name === rule)?.groupBy : undefined;
  const told = alerts.find((state) => state.rule === rule)?.transitions.at(-1)?.notification.group;
  return ofFile ?? (told === undefined ? undefined : Object.keys(told));
}
