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
