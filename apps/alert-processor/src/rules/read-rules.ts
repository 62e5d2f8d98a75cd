import { createHash } from 'node:crypto';
import type { Node } from 'yaml';
import type { Silence } from '../messages/message.ts';
import { reachOf } from '../panes/check-reach.ts';
import { buildRule } from './build-rule.ts';
import { didYouMean } from './did-you-mean.ts';
import { groupText } from './group-of.ts';
import { Reading, type RuleProblem } from './reading.ts';
import type { Rule, RuleSet } from './rule.ts';
import { fileKeys, type silenceKeys } from './rule-keys.ts';
import { readKeys, type ValuesOf } from './shapes.ts';

export interface RulesOptions {
  readonly paneMs: number;
  readonly latenessMs: number;
  /** Names of the notifiers that there are: a rule that tells another one is refused. Undefined: not known, and not looked at. */
  readonly notifiers?: readonly string[] | undefined;
}

export interface RulesText {
  /** As problems name it. */
  readonly file: string;
  readonly text: string;
}

export type ReadRules = { readonly rules: RuleSet } | { readonly problems: readonly RuleProblem[] };

/** Reads one rules file: rules that all make sense, or what is wrong (MAX_PROBLEMS at most), each with its line and column. Never throws. */
export function readRules(text: string, { file, ...options }: RulesOptions & { readonly file: string }): ReadRules {
  return readRuleFiles([{ file, text }], options);
}

/** Reads files that belong together: names are unique over all of them, and a silence may name a rule of another file. */
export function readRuleFiles(files: readonly RulesText[], { notifiers, ...options }: RulesOptions): ReadRules {
  const readings = files.map(({ file, text }) => new Reading(file, text, { notifiers }));
  const rules = new Map<string, Rule>();
  const names = new Set<string>();
  const quiet: { readonly reading: Reading; readonly node: Node; readonly values: SilenceValues }[] = [];
  for (const reading of readings) {
    const { root } = reading;
    if (root === undefined) {
      if (reading.problems.length === 0) reading.problem(0, 'The file is empty: write rules, or "rules: []" for none.');
      continue;
    }
    const content = readKeys(fileKeys, 'a rules file', root, reading);
    for (const { value, node } of content.rules ?? []) {
      const { name } = value;
      if (name !== undefined && names.has(name))
        reading.problem(reading.find(node, 'name'), `There is another rule named ${name}: names are unique.`);
      if (name !== undefined) names.add(name);
      const rule = buildRule(value, { reading, node }, options);
      if (rule !== undefined) rules.set(rule.name, rule);
    }
    for (const { value, node } of content.silences ?? []) quiet.push({ reading, node, values: value });
  }
  const readable = readings.every(({ problems }) => problems.length === 0);
  const silences = quiet.flatMap(({ reading, node, values }) => silenceOf(values, reading, node, rules, readable) ?? []);
  const problems = readings.flatMap((reading) => reading.told());
  if (problems.length > 0) return { problems };
  const all = [...rules.values()];
  return { rules: { rules: all, ...options, reachMs: Math.max(0, ...all.map(reachOf)), silences } };
}

type SilenceValues = ValuesOf<typeof silenceKeys>;

function silenceOf(
  values: SilenceValues,
  reading: Reading,
  node: Node,
  rules: ReadonlyMap<string, Rule>,
  allRead: boolean,
): Silence | undefined {
  const { rule: name, group, from, until, comment } = values;
  if (until <= from) reading.problem(reading.find(node, 'until'), 'A silence ends after it begins: until must be later than from.');
  const rule = name === undefined ? undefined : rules.get(name);
  // While a rule has problems of its own, it is not told to be missing.
  if (name !== undefined && rule === undefined && allRead)
    reading.problem(reading.find(node, 'rule'), `There is no rule ${name}${didYouMean(name, [...rules.keys()])}.`);
  if (group !== undefined && name === undefined) reading.problem(reading.find(node, 'group'), 'A group is one of a rule: name the rule.');
  const silence = { fromMs: from, untilMs: until, comment, ...(name === undefined ? {} : { rule: name }) };
  if (group === undefined || rule === undefined) return { id: silenceId(silence), ...silence };
  const names = Object.keys(group);
  if (names.length !== rule.groupBy.length || !rule.groupBy.every((each) => Object.hasOwn(group, each))) {
    reading.problem(
      reading.find(node, 'group'),
      `The rule ${rule.name} groups by ${rule.groupBy.join(', ') || 'nothing'}: name exactly these.`,
    );
    return undefined;
  }
  const texts = rule.groupBy.map((each) => groupText(group[each]));
  const whole = { ...silence, group: JSON.stringify(texts) };
  return { id: silenceId(whole), ...whole };
}

/** The same for the same words: whoever reads the file anew finds the silence again. */
function silenceId(silence: Omit<Silence, 'id'>): string {
  const { rule = null, group = null, fromMs, untilMs, comment } = silence;
  return `file-${createHash('sha256')
    .update(JSON.stringify([rule, group, fromMs, untilMs, comment]))
    .digest('hex')
    .slice(0, 12)}`;
}
