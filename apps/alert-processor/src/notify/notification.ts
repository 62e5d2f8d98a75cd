import type { Severity } from '../rules/rule.ts';

/** What one alert tells, whatever the channel: everything that its text is made from. */
export interface Notification {
  /** Of (rule, group, episode, transition): the same one however often it is sent. */
  readonly key: string;
  /** Of (rule, group, episode): what a receiver folds firing and resolved together by. */
  readonly incident: string;
  readonly status: 'firing' | 'resolved';
  readonly rule: string;
  /** Names of `group_by` with their values. */
  readonly group: Readonly<Record<string, string | null>>;
  readonly severity: Severity;
  /** One sentence. */
  readonly summary: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly response: { readonly do: string; readonly doNot: string };
  readonly runbook?: string;
  readonly startedMs: number;
  /** When the firing or its end was decided. */
  readonly decidedMs: number;
  readonly evidence: Evidence;
}

export interface Evidence {
  /** `count 153 > 100 in 1 min` and the like. */
  readonly text: string;
  readonly value: number | null;
  readonly threshold: number;
  /** Events that were counted in the window. */
  readonly events: number;
  readonly windowStartMs: number;
  readonly windowEndMs: number;
  /** Up to when every partition is counted; null where one was never heard of. */
  readonly completeUpToMs: number | null;
  /** A sentence for each thing that was not seen: partitions behind or without a reader, time that nobody read, rules that count since short. */
  readonly missing: readonly string[];
  /** The greatest broker time and event time that were counted: what the delay is measured from. */
  readonly brokerMs: number | null;
  readonly eventMs: number | null;
}
