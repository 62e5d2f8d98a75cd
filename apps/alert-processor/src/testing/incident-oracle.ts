import type { Rule } from '../rules/rule.ts';
import { recount, type WorldRecord } from './pane-world.ts';
import { PANE_MS } from './plain-rules.ts';

/** One firing stretch: starts of its first and its last firing window. */
export interface Incident {
  readonly group: string;
  readonly firstMs: number;
  readonly lastMs: number;
  /** Whether a window after it does not fire. */
  readonly ended: boolean;
}

/** Evaluates every window of a rule over panes that are recounted from the whole logs, by code that shares nothing with the stage's. Counts only. */
export function incidentsOf(rule: Rule, logs: readonly (readonly WorldRecord[])[], untilMs: number): Incident[] {
  const groups = new Map<string, Map<number, number>>();
  for (const log of logs) {
    for (const [key, n] of recount(log)) {
      const [pane, group] = [Number(key.slice(0, key.indexOf(' '))), key.slice(key.indexOf(' ') + 1)];
      const panes = groups.get(group) ?? new Map<number, number>();
      panes.set(pane, (panes.get(pane) ?? 0) + n);
      groups.set(group, panes);
    }
  }
  return [...groups].flatMap(([group, panes]) => stretches(rule, group, panes, untilMs));
}

function stretches(rule: Rule, group: string, panes: ReadonlyMap<number, number>, untilMs: number): Incident[] {
  const { window, forMs } = rule;
  const step = window.kind === 'tumbling' ? window.ms : PANE_MS;
  const found: Incident[] = [];
  const starts = [...panes.keys()];
  let open: { firstMs: number; lastMs: number } | undefined;
  const firstEnd = Math.floor(Math.min(...starts) / step) * step + step;
  for (let end = firstEnd; end <= untilMs; end += step) {
    const holds = (at: number) => holdsIn(rule, panes, at, step, open !== undefined);
    let fires = true;
    for (let at = end; at >= end - forMs; at -= step) fires &&= holds(at);
    if (fires) open = { firstMs: open?.firstMs ?? end - window.ms, lastMs: end - window.ms };
    else if (open !== undefined) {
      found.push({ group, ...open, ended: true });
      open = undefined;
    }
  }
  if (open !== undefined) found.push({ group, ...open, ended: false });
  return found;
}

function holdsIn(rule: Rule, panes: ReadonlyMap<number, number>, end: number, step: number, firing: boolean): boolean {
  const { window, condition, measure, forMs, rememberMs = 0 } = rule;
  const start = end - window.ms;
  const between = (from: number, to: number) => [...panes].reduce((sum, [pane, n]) => sum + (pane >= from && pane < to ? n : 0), 0);
  const n = between(start, end);
  if (measure.kind === 'absence') return n === 0 && (firing || between(start - rememberMs, start) > 0);
  if (n < rule.minCount) return false;
  switch (condition.operator) {
    case '>':
      return n > condition.threshold;
    case '>=':
      return n >= condition.threshold;
    default: {
      const below = condition.operator === '<' ? n < condition.threshold : n <= condition.threshold;
      return below && (n > 0 || firing || between(end - window.ms - forMs - step, start) > 0);
    }
  }
}
