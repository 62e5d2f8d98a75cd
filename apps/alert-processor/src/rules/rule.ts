import type { Partial, PartialKind } from '../measures/partial.ts';
import type { Silence } from '../messages/message.ts';

/** A record's value as rules see it: one decoded JSON object. */
export type EventObject = Readonly<Record<string, unknown>>;

/** Folds events into what one pane holds of one group. Mutable: there is one per pane and group. */
export interface Accumulator {
  fold(event: EventObject): void;
  partial(): Partial;
}

/** What a rule measures over its window. Only measures whose partials merge. */
export interface Measure {
  readonly kind: 'count' | 'ratio' | 'sum' | 'mean' | 'percentile' | 'distinct' | 'absence' | 'rate';
  readonly partialKind: PartialKind;
  open(): Accumulator;
  /** The measure of a whole window; undefined where there is nothing to tell it from (no event of a mean). */
  value(merged: Partial): number | undefined;
  /** In people's words, for evidence: `count`, `p95 of latency_ms`. */
  readonly text: string;
}

/** `above` fires early, on what is there; `below` and absence only once the window is complete. */
export interface Condition {
  readonly operator: '>' | '>=' | '<' | '<=';
  readonly threshold: number;
}

export const SEVERITIES = ['info', 'warning', 'error', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** What a rule says to people; editing it changes no episode. */
export interface RuleText {
  readonly severity: Severity;
  readonly summary: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly response: { readonly do: string; readonly doNot: string };
  readonly runbook?: string;
}

/** One rule, read and checked. */
export interface Rule {
  readonly name: string;
  /** Changes whenever what the panes hold does: pane, where, group_by, measure. */
  readonly version: string;
  /** Whether an event belongs to the rule. Never throws. */
  readonly where: (event: EventObject) => boolean;
  readonly groupBy: readonly string[];
  /** The group's values as JSON text of an array of text or null, bounded in length. Never throws. */
  readonly groupOf: (event: EventObject) => string;
  readonly measure: Measure;
  /** Whole panes. A sliding window ends at each pane; tumbling ones stand side by side from the epoch on. */
  readonly window: { readonly kind: 'sliding' | 'tumbling'; readonly ms: number };
  readonly condition: Condition;
  /** For how long the condition must hold before it fires; 0: at once. */
  readonly forMs: number;
  /** Below so many events in the window a threshold says nothing. */
  readonly minCount: number;
  /** Measured against the same group so much earlier (`rate`): the value is then the quotient of the two. */
  readonly compareMs?: number;
  /** Absence: a group is waited for so long after its last event. */
  readonly rememberMs?: number;
  /** Told again after so long while it goes on firing. */
  readonly renotifyMs?: number;
  /** Groups above it, per partition and pane, are not counted: that is an alert by itself. */
  readonly maxGroups: number;
  /** Names of notifiers; none named: all. */
  readonly notify: readonly string[];
  readonly text: RuleText;
}

/** The rules that hold now, with what follows from all of them. Made anew on each reload, never changed. */
export interface RuleSet {
  readonly rules: readonly Rule[];
  readonly paneMs: number;
  readonly latenessMs: number;
  /** The longest look-back of a rule: window + for + compare + remember. */
  readonly reachMs: number;
  /** Those that stand in the file; others come from the command line. */
  readonly silences: readonly Silence[];
}
