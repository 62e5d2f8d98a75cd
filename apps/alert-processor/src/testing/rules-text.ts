import { readRules } from '../rules/read-rules.ts';
import { problemLine } from '../rules/reading.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';
import { LATENESS_MS, PANE_MS } from './plain-rules.ts';

export const OPTIONS = { file: 'rules.yaml', paneMs: PANE_MS, latenessMs: LATENESS_MS };

/** The rules of a text. Throws where it has problems. */
export function rulesOf(text: string, options = OPTIONS): RuleSet {
  const read = readRules(text, options);
  if ('problems' in read) throw new Error(read.problems.map(problemLine).join('\n'));
  return read.rules;
}

/** The text's first rule. */
export function ruleOf(text: string, options = OPTIONS): Rule {
  const [rule] = rulesOf(text, options).rules;
  if (rule === undefined) throw new Error('there is no rule in the text');
  return rule;
}

/** What is wrong with a text, as people are told. */
export function problemsOf(text: string): readonly string[] {
  const read = readRules(text, OPTIONS);
  return 'problems' in read ? read.problems.map(problemLine) : [];
}

/** A file with all the keys of a rule and of a silence. */
export const FULL_RULES = `rules:
  - name: errors-by-service
    summary: "{service} answers with errors"
    where: status_code >= 500 and not (endpoint = "/health")
    group_by: [service]
    measure: count
    window: 1m
    condition: "> 100"
    for: 2m
    min_count: 20
    severity: critical
    labels: {team: payments}
    response: {do: "Look.", do_not: "Do not restart."}
    runbook: https://example.com/errors
    renotify: 1h
    notify: [oncall]
silences:
  - {rule: errors-by-service, group: {service: shop}, from: 2026-01-01T00:00:00Z, until: 2026-01-01T02:00:00Z, comment: "planned work"}
`;

/** A rule with these lines in place of its own. */
export function withLines(lines: string): string {
  return `rules:
  - name: a
    summary: many
    measure: count
    window: 1m
    condition: "> 5"
    response: {do: look, do_not: wait}
${lines}`;
}

/** The rule, with one of its lines changed. */
export function changed(from: string, to: string): string {
  const text = withLines('');
  if (!text.includes(from)) throw new Error(`there is no ${from}`);
  return text.replace(from, to);
}
