import { mergeAll } from '../measures/merge.ts';
import type { Partial } from '../measures/partial.ts';
import { conditionHolds } from '../rules/condition-holds.ts';
import type { Rule } from '../rules/rule.ts';
import type { Coverage } from './coverage.ts';
import type { GroupPanes, RulePanes } from './pane-store.ts';

/** `unknown`: what was counted does not show it, and not everything was counted. */
export type Verdict = 'holds' | 'fails' | 'unknown';

/** What one window of one group holds, by what is there. */
export interface WindowView {
  readonly startMs: number;
  readonly endMs: number;
  readonly value: number | undefined;
  readonly events: number;
  /** What `min_count` is held against: the events; of a rate, those of the larger of its two windows, so that a fall to nothing can be told. */
  readonly weight: number;
  readonly brokerMs: number;
  readonly eventMs: number;
}

/** Everything that a verdict about windows of one rule is made from. */
export interface WindowContext {
  readonly rule: Rule;
  readonly key: string;
  readonly paneMs: number;
  readonly coverage: Coverage;
  readonly store: RulePanes;
}

/** Whether everything in [fromMs, toMs) was counted and is still held. */
function covered({ key, coverage, store }: WindowContext, fromMs: number, toMs: number): boolean {
  return fromMs >= store.heldFromMs && coverage.covers(key, fromMs, toMs);
}

/** Measures of which nothing is nought; of the others nothing is nothing to tell from. */
const NOUGHT_WHEN_EMPTY: ReadonlySet<string> = new Set(['count', 'absence', 'sum', 'distinct']);

/** The distance from one window's end to the next one's. */
export function stepMs(rule: Rule, paneMs: number): number {
  return rule.window.kind === 'tumbling' ? rule.window.ms : paneMs;
}

/** The first end of a window above `ms`. Ends are multiples of the step, so that every process sees the same windows. */
export function endAfter(ms: number, step: number): number {
  return Math.floor(ms / step) * step + step;
}

/** How far back the panes of a rule are needed; what begins an episode of an empty window is one step before it. */
export function lookBackMs(rule: Rule, paneMs: number): number {
  return rule.window.ms + rule.forMs + (rule.compareMs ?? 0) + stepMs(rule, paneMs);
}

/** How far back a partition must be read to decide as if it had been read all along. */
export function readBackMs(rule: Rule, paneMs: number): number {
  return lookBackMs(rule, paneMs) + (rule.rememberMs ?? 0);
}

/** Whether the rule fires early, on what is there: what comes later can only add to it. */
export function firesEarly({ measure, condition }: Rule): boolean {
  return measure.kind !== 'absence' && (condition.operator === '>' || condition.operator === '>=');
}

interface Merged {
  readonly partial: Partial | undefined;
  readonly brokerMs: number;
  readonly eventMs: number;
}

function mergeWindow(group: GroupPanes | undefined, startMs: number, endMs: number, paneMs: number): Merged {
  const partials: Partial[] = [];
  let brokerMs = Number.NEGATIVE_INFINITY;
  let eventMs = Number.NEGATIVE_INFINITY;
  if (group === undefined || group.newestMs < startMs) return { partial: undefined, brokerMs, eventMs };
  for (let at = startMs; at < endMs && at <= group.newestMs; at += paneMs) {
    const pane = group.panes.get(at);
    const merged = pane?.merged;
    if (pane === undefined || merged === undefined) continue;
    partials.push(merged);
    if (pane.brokerMs > brokerMs) brokerMs = pane.brokerMs;
    if (pane.eventMs > eventMs) eventMs = pane.eventMs;
  }
  return { partial: mergeAll(partials), brokerMs, eventMs };
}

function measured(rule: Rule, partial: Partial | undefined): number | undefined {
  if (partial !== undefined) return rule.measure.value(partial);
  return NOUGHT_WHEN_EMPTY.has(rule.measure.kind) ? 0 : undefined;
}

/** The window that ends at `endMs`, by what is there. A rate is the quotient of it and the same window `compareMs` before: none where that one was empty. */
export function viewWindow({ rule, paneMs }: WindowContext, group: GroupPanes | undefined, endMs: number): WindowView {
  const startMs = endMs - rule.window.ms;
  const { partial, brokerMs, eventMs } = mergeWindow(group, startMs, endMs, paneMs);
  const events = partial?.[1] ?? 0;
  let weight = events;
  let value = measured(rule, partial);
  if (rule.compareMs !== undefined) {
    const base = mergeWindow(group, startMs - rule.compareMs, endMs - rule.compareMs, paneMs).partial;
    const before = base === undefined ? 0 : (rule.measure.value(base) ?? 0);
    weight = Math.max(weight, base?.[1] ?? 0);
    value = before === 0 ? undefined : ((partial === undefined ? 0 : rule.measure.value(partial)) ?? 0) / before;
  }
  return { startMs, endMs, value, events, weight, brokerMs, eventMs };
}

/** Whether the group had an event in [fromMs, toMs). */
function seenBetween(group: GroupPanes, fromMs: number, toMs: number): boolean {
  if (group.newestMs >= fromMs && group.newestMs < toMs) return true;
  if (group.forgottenMs >= fromMs && group.forgottenMs < toMs) return true;
  for (const startMs of group.panes.keys()) if (startMs >= fromMs && startMs < toMs) return true;
  return false;
}

/** Absence: no event, of a group that is waited for. Any event shows that it is not; that there was none, only a window that is covered. */
function absent(context: WindowContext, group: GroupPanes | undefined, endMs: number, waited: boolean): Verdict {
  const { rule } = context;
  const startMs = endMs - rule.window.ms;
  if (group !== undefined && seenBetween(group, startMs, endMs)) return 'fails';
  if (!covered(context, startMs, endMs)) return 'unknown';
  if (waited) return 'holds';
  return group !== undefined && seenBetween(group, startMs - (rule.rememberMs ?? 0), startMs) ? 'holds' : 'fails';
}

/**
 * Whether the condition holds in one window. Above a threshold what is there suffices; below it, and where it does not hold, everything must
 * have been counted. `waited`: it fires already, so the group is waited for though its events lie beyond what is remembered.
 */
export function holdsAt(context: WindowContext, group: GroupPanes | undefined, endMs: number, waited: boolean): Verdict {
  const { rule } = context;
  if (rule.measure.kind === 'absence') return absent(context, group, endMs, waited);
  const startMs = endMs - rule.window.ms;
  const base = rule.compareMs;
  if (base !== undefined && !covered(context, startMs - base, endMs - base)) return 'unknown';
  const { value, events, weight } = viewWindow(context, group, endMs);
  const holds = value !== undefined && weight >= rule.minCount && conditionHolds(rule.condition, value);
  if (firesEarly(rule)) return holds ? 'holds' : covered(context, startMs, endMs) ? 'fails' : 'unknown';
  if (!covered(context, startMs, endMs)) return 'unknown';
  // An empty window says something of a group that was there just before it; of one that is long gone, nothing.
  if (holds && events === 0 && !waited && (group === undefined || !seenBetween(group, endMs - lookBackMs(rule, context.paneMs), startMs)))
    return 'fails';
  return holds ? 'holds' : 'fails';
}

/** Whether the rule fires at the window that ends at `endMs`: the condition holds there and in every window of the time before that `for` asks for. */
export function firesAt(context: WindowContext, group: GroupPanes | undefined, endMs: number, waited: boolean): Verdict {
  const { rule, paneMs } = context;
  const step = stepMs(rule, paneMs);
  let verdict: Verdict = 'holds';
  for (let at = endMs; at >= endMs - rule.forMs; at -= step) {
    const each = holdsAt(context, group, at, waited);
    if (each === 'fails') return 'fails';
    if (each === 'unknown') verdict = 'unknown';
  }
  return verdict;
}
