import { validateEvent } from '@tailrace/events';
import type { Node } from 'yaml';
import { reachOf } from '../panes/check-reach.ts';
import { groupText } from '../rules/group-of.ts';
import type { ReadRules } from '../rules/read-rules.ts';
import { type Place, Reading, type RuleProblem } from '../rules/reading.ts';
import type { Condition, Rule, RuleSet, Severity } from '../rules/rule.ts';
import { readKeys, unread, type ValuesOf } from '../rules/shapes.ts';
import { type caseKeys, caseShape, DEFAULT_START_MS, type eventKeys, type expectKeys, MAX_CASE_EVENTS } from './case-keys.ts';
import type { Bounds } from './moments.ts';

/** One line of `events`: the same event, several times. Times in ms. */
export interface CaseEvents {
  readonly atMs: number;
  readonly event: Readonly<Record<string, unknown>>;
  readonly times: number;
  readonly everyMs: number;
  readonly delayMs: number;
  readonly partition: number | undefined;
}

/** Times are after the start. */
export interface ExpectedAlert {
  readonly rule: string;
  /** JSON text, as the rule makes it. */
  readonly group: string;
  readonly firesAt: Bounds;
  readonly resolvesAt: Bounds | 'never' | undefined;
  readonly severity: Severity | undefined;
  readonly value: number | Condition | undefined;
  readonly silenced: boolean;
}

export interface Case {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly rules: RuleSet;
  readonly startMs: number;
  /** Absolute. */
  readonly untilMs: number;
  readonly events: readonly CaseEvents[];
  readonly expect: readonly ExpectedAlert[];
}

export type ReadCases = { readonly cases: readonly Case[] } | { readonly problems: readonly RuleProblem[] };

/** Reads the rules of a file that a case names, or of the file itself where it names none. */
export type RulesOf = (path: string | undefined) => ReadRules | { readonly unreadable: string };

const caseFileKeys = {
  cases: { shape: caseShape, required: true, about: 'The test cases.' },
  rules: { shape: unread, about: 'The rules, where they stand in the same file.' },
  silences: { shape: unread, about: 'Their silences.' },
} as const;

/** Reads a file of test cases: cases that all make sense, or every problem with its line and column. Never throws. */
export function readCases(file: string, content: string, rulesOf: RulesOf): ReadCases {
  const reading = new Reading(file, content);
  const { root } = reading;
  const fromRules: RuleProblem[] = [];
  if (root === undefined) {
    if (reading.problems.length === 0) reading.problem(0, 'The file is empty: it has at least cases: [].');
    return { problems: reading.told() };
  }
  const { cases: found = [] } = readKeys(caseFileKeys, 'a file of test cases', root, reading);
  const loaded = new Map<string | undefined, RuleSet | undefined>();
  const cases: Case[] = [];
  for (const { value, node } of found) {
    if (!loaded.has(value.rules)) {
      const read = rulesOf(value.rules);
      if ('unreadable' in read) reading.problem(reading.find(node, 'rules'), read.unreadable);
      else if ('problems' in read) fromRules.push(...read.problems);
      loaded.set(value.rules, 'rules' in read ? read.rules : undefined);
    }
    const rules = loaded.get(value.rules);
    if (rules !== undefined) cases.push(caseOf(value, node, rules, reading));
  }
  const problems = [...reading.told(), ...fromRules];
  return problems.length > 0 ? { problems } : { cases };
}

type CaseValues = ValuesOf<typeof caseKeys>;
type EventValues = ValuesOf<typeof eventKeys>;
type ExpectValues = ValuesOf<typeof expectKeys>;

function caseOf(values: CaseValues, node: Node, all: RuleSet, reading: Reading): Case {
  const { name, only, start: startMs = DEFAULT_START_MS } = values;
  for (const each of only ?? [])
    if (!all.rules.some((rule) => rule.name === each)) reading.problem(reading.find(node, 'only'), `There is no rule ${each}.`);
  const taking = all.rules.filter((rule) => only === undefined || only.includes(rule.name));
  const rules: RuleSet = { ...all, rules: taking, reachMs: Math.max(0, ...taking.map(reachOf)) };
  const events = values.events.map((each) => eventsOf(each.value, each.node, startMs, reading));
  const total = events.reduce((sum, { times }) => sum + times, 0);
  if (total > MAX_CASE_EVENTS) reading.problem(reading.find(node, 'events'), `A case has at most ${MAX_CASE_EVENTS} events, not ${total}.`);
  const expect = values.expect.flatMap((each) => expectedOf(each.value, each.node, taking, reading) ?? []);
  const lastMs = Math.max(0, ...events.map(({ atMs, everyMs, times, delayMs }) => atMs + everyMs * (times - 1) + delayMs));
  const afterMs = lastMs + rules.reachMs + rules.latenessMs + 3 * rules.paneMs;
  const { line } = reading.position(node);
  return { name, file: reading.file, line, rules, startMs, untilMs: startMs + (values.until ?? afterMs), events, expect };
}

function eventsOf(values: EventValues, node: Node, startMs: number, reading: Reading): CaseEvents {
  const { at: atMs, event, times = 1, every: everyMs = 1000, delay: delayMs = 0, partition } = values;
  const timestamp = new Date(startMs + atMs).toISOString();
  for (const { field, reason } of validateEvent({ timestamp, ...event })) {
    const place: Place = reading.find(node, 'event', ...(field === null ? [] : [field]));
    reading.problem(place, `The gateway refuses this event: ${field === null ? '' : `${field} `}${reason}.`);
  }
  return { atMs, event, times, everyMs, delayMs, partition };
}

function expectedOf(values: ExpectValues, node: Node, rules: readonly Rule[], reading: Reading): ExpectedAlert | undefined {
  const rule = rules.find(({ name }) => name === values.rule);
  if (rule === undefined) {
    reading.problem(reading.find(node, 'rule'), `There is no rule ${values.rule} that takes part.`);
    return undefined;
  }
  const given = values.group ?? {};
  const names = Object.keys(given);
  if (names.length !== rule.groupBy.length || !rule.groupBy.every((each) => Object.hasOwn(given, each))) {
    const groups = rule.groupBy.join(', ') || 'nothing';
    reading.problem(reading.find(node, 'group'), `The rule ${rule.name} groups by ${groups}: name exactly these.`);
    return undefined;
  }
  return {
    rule: rule.name,
    group: JSON.stringify(rule.groupBy.map((each) => groupText(given[each]))),
    firesAt: values.fires_at,
    resolvesAt: values.resolves_at,
    severity: values.severity,
    value: values.value,
    silenced: values.silenced ?? false,
  };
}
