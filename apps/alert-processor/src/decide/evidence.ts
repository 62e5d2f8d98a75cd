import type { Evidence } from '../notify/notification.ts';
import type { Rule } from '../rules/rule.ts';
import { missingSentences } from './missing.ts';
import type { WindowContext, WindowView } from './windows.ts';

const UNITS: readonly (readonly [ms: number, word: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
];

/** `5 min`, `90 s`: the greatest unit of which it is a whole number. */
export function durationText(ms: number): string {
  for (const [unit, word] of UNITS) if (ms >= unit && ms % unit === 0) return `${ms / unit} ${word}`;
  return `${ms} ms`;
}

/** At most four significant digits after the point: people read it. */
function numberText(value: number): string {
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}

function sentence(rule: Rule, { value, events, weight, startMs }: WindowView): string {
  const within = durationText(rule.window.ms);
  const lasting = rule.forMs > 0 ? `, for ${durationText(rule.forMs)}` : '';
  if (rule.measure.kind === 'absence') {
    return events > 0 ? `${events} events in ${within}` : `no event in ${within}, since ${new Date(startMs).toISOString()}${lasting}`;
  }
  const { operator, threshold } = rule.condition;
  if (value === undefined) return `${rule.measure.text}: nothing to tell it from in ${within} (${events} events)`;
  const against = rule.compareMs === undefined ? '' : ` times that of ${durationText(rule.compareMs)} before`;
  const few = weight < rule.minCount ? ` (${weight} events, ${rule.minCount} are asked for)` : '';
  const holds = { '>': value > threshold, '>=': value >= threshold, '<': value < threshold, '<=': value <= threshold }[operator];
  const compared = holds ? `${operator} ${numberText(threshold)}` : `(not ${operator} ${numberText(threshold)})`;
  return `${rule.measure.text} ${numberText(value)}${against} ${compared} in ${within}${few}${lasting}`;
}

function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}

/** What an alert is decided from; `why` says more than the numbers do. */
export function evidenceOf(context: WindowContext, view: WindowView, why?: string): Evidence {
  const { rule, key, coverage } = context;
  const text = sentence(rule, view);
  return {
    text: why === undefined ? text : `${text}; ${why}`,
    value: view.value ?? null,
    threshold: rule.condition.threshold,
    events: view.events,
    windowStartMs: view.startMs,
    windowEndMs: view.endMs,
    completeUpToMs: coverage.watermarkMs(key) ?? null,
    missing: missingSentences(context, view.startMs - rule.forMs, view.endMs),
    brokerMs: finite(view.brokerMs),
    eventMs: finite(view.eventMs),
  };
}
