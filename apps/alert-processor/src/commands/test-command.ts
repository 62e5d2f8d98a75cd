import { dirname, isAbsolute, join } from 'node:path';
import { isMap } from 'yaml';
import { readRulesConfig } from '../config.ts';
import { groupValues } from '../decide/subject.ts';
import { type RulesOptions, readRules } from '../rules/read-rules.ts';
import { readText, whyUnreadable } from '../rules/read-text.ts';
import { MAX_FILE_BYTES, problemLine, Reading, type RuleProblem } from '../rules/reading.ts';
import { type Case, type RulesOf, readCases } from '../simulate/read-cases.ts';
import { resultLines, summaryLine } from '../simulate/result-lines.ts';
import { type CaseResult, runCase, type SeenAlert } from '../simulate/run-case.ts';
import { EXIT, type Ports } from './ports.ts';

/** `tailrace rules test FILE...`: runs the cases of the files, and says which are not as expected. Resolves with the exit code. */
export async function testCommand(files: readonly string[], flags: { readonly json?: boolean }, ports: Ports): Promise<number> {
  const options = readRulesConfig(ports.environment);
  const cases: Case[] = [];
  const problems: RuleProblem[] = [];
  for (const file of files) {
    const found = textAt(file);
    if ('reason' in found) {
      ports.note(`${file} can not be read, ${found.reason}: name a file of test cases.\n`);
      return EXIT.wrongUse;
    }
    const read = readCases(file, found.text, rulesFrom(file, found.text, options));
    if ('problems' in read) problems.push(...read.problems);
    else cases.push(...read.cases);
  }
  if (problems.length > 0) {
    ports.note(`${problems.map(problemLine).join('\n')}\n`);
    return EXIT.wrongUse;
  }
  const results: CaseResult[] = [];
  for (const each of cases) {
    const result = runCase(each);
    results.push(result);
    if (flags.json !== true) ports.out(`${resultLines(result).join('\n')}\n`);
  }
  const failed = results.filter(({ differences }) => differences.length > 0).length;
  if (flags.json === true) ports.out(`${JSON.stringify({ cases: results.map(resultJson), failed })}\n`);
  else ports.out(`${summaryLine(results)}\n`);
  return failed > 0 ? EXIT.failed : EXIT.good;
}

/** Small files, and nothing else goes on meanwhile: read at once. */
function textAt(file: string): { readonly text: string } | { readonly reason: string } {
  try {
    return { text: readText(file, MAX_FILE_BYTES) };
  } catch (fault) {
    // Told with its file by the caller.
    return { reason: whyUnreadable(fault) };
  }
}

/** Whether it looks like rules. Whoever writes a file of cases can name any file: of one that is something else nothing is shown. */
function looksLikeRules(file: string, text: string): boolean {
  const reading = new Reading(file, text);
  return isMap(reading.root) && reading.root.has('rules');
}

function rulesFrom(file: string, content: string, options: RulesOptions): RulesOf {
  return (path) => {
    const rulesFile = path === undefined ? file : isAbsolute(path) ? path : join(dirname(file), path);
    const found = path === undefined ? { text: content } : textAt(rulesFile);
    if ('reason' in found) return { unreadable: `The rules file ${rulesFile} can not be read: ${found.reason}.` };
    if (path !== undefined && !looksLikeRules(rulesFile, found.text))
      return { unreadable: `${rulesFile} is no YAML with rules: name a rules file, or see what rules check says of it.` };
    const read = readRules(found.text, { file: rulesFile, ...options });
    if ('rules' in read && read.rules.rules.length === 0)
      return {
        unreadable: path === undefined ? 'This file has no rules: name a rules file with rules.' : `There are no rules in ${rulesFile}.`,
      };
    return read;
  };
}

function resultJson({ name, file, line, differences, alerts }: CaseResult): object {
  return { name, file, line, ok: differences.length === 0, differences, alerts: alerts.map(alertJson) };
}

function alertJson({ rule, group, firing, firedMs, resolvedMs, silenced }: SeenAlert): object {
  return {
    rule,
    group: groupValues(group),
    firedAt: new Date(firedMs).toISOString(),
    resolvedAt: resolvedMs === undefined ? null : new Date(resolvedMs).toISOString(),
    silenced,
    severity: firing.severity,
    value: firing.evidence.value,
    evidence: firing.evidence.text,
  };
}
