import { ALERT_PARTIALS_TOPIC, topicsFor } from '@tailrace/events';
import { systemClock } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import { readRulesConfig } from '../config.ts';
import { readNotifiersAt } from '../notify/open-notifiers.ts';
import { reachFaults, reachOf } from '../panes/check-reach.ts';
import { printDuration } from '../rules/durations.ts';
import { type RulesText, readRuleFiles } from '../rules/read-rules.ts';
import { problemLine, type RuleProblem } from '../rules/reading.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import { readRulesAt } from '../rules/rule-files.ts';
import { ruleLine } from '../rules/rule-line.ts';
import { namedNotifiers } from './named-notifiers.ts';
import { EXIT, type Ports } from './ports.ts';

export interface CheckFlags {
  readonly json?: boolean;
  readonly notifiers?: string;
}

/** `rules check`: what rules mean, or all that is wrong with them. Files are read together, as the alert processor reads a folder. */
export async function checkCommand(paths: readonly string[], flags: CheckFlags, ports: Ports): Promise<number> {
  const { json = false } = flags;
  const options = readRulesConfig(ports.environment);
  const files = await filesAt(paths);
  const given = namedNotifiers(flags.notifiers, ports);
  const told = given === undefined ? undefined : readNotifiersAt(given.file, given.from, ports.environment, systemClock);
  const read = readRuleFiles(files, { ...options, notifiers: told?.names });
  const problems = [told, read].flatMap((each) => (each !== undefined && 'problems' in each ? each.problems : []));
  if ('problems' in read || problems.length > 0) return tellProblems(problems, json, ports);
  const { rules } = read;
  const faults = reachFaults(ALERT_PARTIALS_TOPIC, declaredRetentionMs(), rules);
  if (json) ports.out(`${JSON.stringify({ ...setView(rules), problems: [], faults })}\n`);
  else {
    for (const rule of rules.rules) ports.out(`${ruleLine(rule)}\n`);
    for (const fault of faults) ports.out(`${fault}\n`);
    ports.out(`${summary(rules, told?.names)}\n`);
  }
  return faults.length > 0 ? EXIT.finding : EXIT.good;
}

function summary(rules: RuleSet, notifiers: readonly string[] | undefined): string {
  const counts = [counted(rules.rules.length, 'rule'), counted(rules.silences.length, 'silence')];
  if (notifiers !== undefined) counts.push(counted(notifiers.length, 'notifier'));
  const isUnsure = notifiers === undefined && rules.rules.some(({ notify }) => notify.length > 0);
  const unsure = isUnsure
    ? ' Whether there are the notifiers that notify names was not looked at: add --notifiers FILE, or set ALERT_NOTIFIERS.'
    : '';
  return `${counts.join(', ')}${reachWords(rules)}.${unsure}`;
}

/** Throws ConfigError for what can not be read at all: that is no finding about rules. */
async function filesAt(paths: readonly string[]): Promise<readonly RulesText[]> {
  const read = await Promise.all(paths.map(readRulesAt));
  const faults = read.flatMap((each) => ('problem' in each ? [each.problem] : []));
  if (faults.length > 0) throw new ConfigError(faults);
  return read.flatMap((each) => ('files' in each ? each.files : []));
}

function tellProblems(problems: readonly RuleProblem[], json: boolean, ports: Ports): number {
  if (json) ports.out(`${JSON.stringify({ rules: [], problems, faults: [] })}\n`);
  else {
    for (const problem of problems) ports.out(`${problemLine(problem)}\n`);
    ports.out(`${counted(problems.length, 'problem')}: the alert processor refuses these files.\n`);
  }
  return EXIT.finding;
}

/** As `tailrace topics apply` makes the topic. */
function declaredRetentionMs(): number | undefined {
  const ms = topicsFor('cluster').find(({ name }) => name === ALERT_PARTIALS_TOPIC)?.configs['retention.ms'];
  return ms === undefined ? undefined : Number(ms);
}

function reachWords({ rules, reachMs }: RuleSet): string {
  return rules.length === 0 ? '' : `; they look back ${printDuration(reachMs)} at most`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function setView({ rules, silences, paneMs, latenessMs, reachMs }: RuleSet): object {
  return { paneMs, latenessMs, reachMs, rules: rules.map(ruleView), silences };
}

/** A rule as data, without the functions that work for it. */
function ruleView(rule: Rule): object {
  const { where: _where, groupOf: _groupOf, measure, ...rest } = rule;
  return { ...rest, measure: { kind: measure.kind, text: measure.text }, reachMs: reachOf(rule) };
}
