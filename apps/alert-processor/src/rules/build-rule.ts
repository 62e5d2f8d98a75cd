import { createHash } from 'node:crypto';
import { isMap, type Node } from 'yaml';
import { countMeasure } from '../measures/count.ts';
import { distinctMeasure } from '../measures/distinct.ts';
import { percentileMeasure } from '../measures/percentile.ts';
import { ratioMeasure } from '../measures/ratio.ts';
import { sumMeasure } from '../measures/sum.ts';
import { fieldName, groupName } from './group-of.ts';
import { conditionFault, type MeasureValue } from './measure-range.ts';
import type { Reading } from './reading.ts';
import type { Condition, Measure, Rule } from './rule.ts';
import { DEFAULTS, type ruleKeys } from './rule-keys.ts';
import type { ValuesOf } from './shapes.ts';

export interface RuleNode {
  readonly reading: Reading;
  readonly node: Node;
}

type RuleValues = ValuesOf<typeof ruleKeys>;

/** Those that could be read: a key that is there with undefined did not fit, which is told already. */
export type GivenValues = Partial<RuleValues>;

/** What of a measure decides what panes hold: it is in the rule's version. */
interface BuiltMeasure {
  readonly measure: Measure;
  readonly held: readonly unknown[];
}

/** A group that has nothing in the window. */
const NOTHING: Condition = { operator: '<', threshold: 1 };

/**
 * The rule that these values mean; undefined where it can not be made from them. What does not go together is told, also where other keys do not fit: a rule
 * with problems is not used, whatever comes of it here.
 */
export function buildRule(values: GivenValues, { reading, node }: RuleNode, options: { readonly paneMs: number }): Rule | undefined {
  checkTogether(values, { reading, node }, options);
  const { name, summary, measure, window, response } = values;
  if (name === undefined || summary === undefined || measure === undefined || window === undefined || response === undefined)
    return undefined;
  return made({ ...values, name, summary, measure, window, response }, options);
}

function checkTogether(values: GivenValues, { reading, node }: RuleNode, { paneMs }: { readonly paneMs: number }): void {
  const at = (...names: readonly string[]) => reading.find(node, ...names);
  const { measure, condition, summary } = values;
  // A key that is not known may be meant for one that seems to be missing.
  const areAllKnown = isMap(node) && node.items.length === Object.keys(values).length;
  const isAbsence = measure?.kind === 'plain' && measure.value === 'absence';
  const windowMs = values.window?.value;
  const compareMs = measure?.kind === 'rate' ? measure.value.against : undefined;
  if (windowMs !== undefined && windowMs % paneMs !== 0)
    reading.problem(at('window'), `A window is a whole number of panes of ${paneMs} ms (ALERT_PANE_MS).`);
  if (compareMs !== undefined && compareMs % paneMs !== 0)
    reading.problem(
      at('measure', 'rate', 'against'),
      `The distance of a comparison is a whole number of panes of ${paneMs} ms (ALERT_PANE_MS).`,
    );
  if (compareMs !== undefined && windowMs !== undefined && compareMs < windowMs)
    reading.problem(at('measure', 'rate', 'against'), 'The distance of a comparison is at least the window: else the two share events.');
  if (isAbsence && windowMs !== undefined && values.remember !== undefined && values.remember < windowMs)
    reading.problem(at('remember'), 'A group must be remembered for at least the window: else it is forgotten before it is missed.');
  if (isAbsence && reading.has(node, 'condition'))
    reading.problem(at('condition'), 'A rule with absence fires when nothing came: it has no condition.');
  if (isAbsence && reading.has(node, 'min_count'))
    reading.problem(at('min_count'), 'A rule with absence fires when nothing came: it has no min_count.');
  if (measure !== undefined && !isAbsence && areAllKnown && !reading.has(node, 'condition'))
    reading.problem(node, 'The key condition is missing: when the rule fires, like "> 100".');
  if (measure !== undefined && !isAbsence && reading.has(node, 'remember'))
    reading.problem(at('remember'), 'Only a rule with absence has remember.');
  const groupBy = (values.group_by ?? []).map(fieldName);
  const twice = groupBy.find((name, i) => groupBy.indexOf(name) !== i);
  if (twice !== undefined) reading.problem(at('group_by'), `${twice} stands twice in group_by.`);
  const isGroupKnown = values.group_by !== undefined || (areAllKnown && !reading.has(node, 'group_by'));
  for (const [, name = ''] of isGroupKnown ? (summary ?? '').matchAll(/\{([^{}]*)\}/g) : [])
    if (!groupBy.includes(name))
      reading.problem(at('summary'), `{${name}} is replaced only where group_by has it: it has ${groupBy.join(', ') || 'nothing'}.`);
  if (measure === undefined || isAbsence || condition === undefined) return;
  const limit = measure.kind === 'distinct' ? (measure.value.limit ?? DEFAULTS.distinctLimit) : undefined;
  if (limit !== undefined && condition.threshold > limit)
    reading.problem(at('condition'), `It is counted exactly up to the limit of ${limit} only: the condition can not be about more.`);
  else {
    const fault = conditionFault(measure, condition);
    if (fault !== undefined) reading.problem(at('condition'), fault);
  }
}

function made(
  values: GivenValues & Pick<RuleValues, 'name' | 'summary' | 'measure' | 'window' | 'response'>,
  { paneMs }: { readonly paneMs: number },
): Rule {
  const groupBy = (values.group_by ?? []).map(fieldName);
  const isAbsence = values.measure.kind === 'plain' && values.measure.value === 'absence';
  const window = { kind: values.window.kind === 'plain' ? ('sliding' as const) : ('tumbling' as const), ms: values.window.value };
  const compareMs = values.measure.kind === 'rate' ? values.measure.value.against : undefined;
  const rememberMs = isAbsence ? (values.remember ?? Math.max(DEFAULTS.rememberMs, window.ms)) : undefined;
  const { measure, held } = buildMeasure(values.measure);
  return {
    name: values.name,
    version: versionOf([paneMs, values.where?.canonical ?? null, groupBy, held]),
    where: values.where?.test ?? (() => true),
    groupBy,
    groupOf: groupName(values.group_by ?? []),
    measure,
    window,
    condition: values.condition ?? NOTHING,
    forMs: values.for ?? 0,
    minCount: values.min_count ?? 0,
    ...(compareMs === undefined ? {} : { compareMs }),
    ...(rememberMs === undefined ? {} : { rememberMs }),
    ...(values.renotify === undefined ? {} : { renotifyMs: values.renotify }),
    maxGroups: values.max_groups ?? DEFAULTS.maxGroups,
    notify: values.notify ?? [],
    text: {
      severity: values.severity ?? DEFAULTS.severity,
      summary: values.summary,
      labels: values.labels ?? {},
      response: { do: values.response.do, doNot: values.response.do_not },
      ...(values.runbook === undefined ? {} : { runbook: values.runbook }),
    },
  };
}

/** Of what panes hold and of nothing else, so that neither another threshold nor other words begin an episode anew. 16 hexadecimal digits. */
function versionOf(held: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(held)).digest('hex').slice(0, 16);
}

function buildMeasure(given: MeasureValue): BuiltMeasure {
  switch (given.kind) {
    case 'plain':
      return { measure: countMeasure(given.value, given.value === 'count' ? 'count' : 'events'), held: [given.value] };
    case 'ratio': {
      const { test, canonical } = given.value.of;
      return { measure: ratioMeasure(test, `ratio of ${canonical}`), held: ['ratio', canonical] };
    }
    case 'sum':
    case 'mean': {
      const name = fieldName(given.value);
      return { measure: sumMeasure(given.kind, given.value, `${given.kind} of ${name}`), held: [given.kind, name] };
    }
    case 'percentile': {
      const { field, p } = given.value;
      const name = fieldName(field);
      // Any percentile is told from the same bins.
      return { measure: percentileMeasure(field, p, `p${p} of ${name}`), held: ['percentile', name] };
    }
    case 'distinct': {
      const { field, limit = DEFAULTS.distinctLimit } = given.value;
      const name = fieldName(field);
      return { measure: distinctMeasure(field, limit, `different values of ${name}`), held: ['distinct', name, limit] };
    }
    case 'rate':
      return { measure: countMeasure('rate', 'count'), held: ['rate'] };
  }
}
