import { createHash } from 'node:crypto';
import type { Evidence, Notification } from '../notify/notification.ts';
import type { Rule, RuleText } from '../rules/rule.ts';

/** What an alert is about: a user's rule, or a condition of tailrace itself. */
export interface Subject {
  readonly rule: string;
  readonly version: string;
  readonly groupBy: readonly string[];
  readonly text: RuleText;
  readonly channels: readonly string[];
  readonly renotifyMs?: number;
}

/** A rule that names only channels that are not there tells all of them: an alert must reach somebody. */
function channelsOf(named: readonly string[], all: readonly string[]): readonly string[] {
  const known = all.filter((channel) => named.includes(channel));
  return known.length > 0 ? known : all;
}

export function subjectOf(rule: Rule, channels: readonly string[]): Subject {
  const { name, version, groupBy, text, notify, renotifyMs } = rule;
  const subject = { rule: name, version, groupBy, text, channels: channelsOf(notify, channels) };
  return renotifyMs === undefined ? subject : { ...subject, renotifyMs };
}

/** The values of a group, as JSON text of an array. Text that is none comes from nobody of ours: the group then is that text. */
export function groupValues(group: string): readonly (string | null)[] {
  try {
    const values: unknown = JSON.parse(group);
    if (Array.isArray(values)) return values.map((value) => (typeof value === 'string' || value === null ? value : String(value)));
  } catch {
    // Told as it is.
  }
  return [group];
}

function namedGroup(groupBy: readonly string[], values: readonly (string | null)[]): Record<string, string | null> {
  const named: Record<string, string | null> = {};
  groupBy.forEach((name, at) => {
    named[name] = values[at] ?? null;
  });
  return named;
}

function filled(summary: string, group: Readonly<Record<string, string | null>>): string {
  return summary.replace(/\{([^{}]+)\}/g, (all, name: string) => (Object.hasOwn(group, name) ? (group[name] ?? 'none') : all));
}

/** Of (rule, group, episode): what a receiver folds firing and resolved together by. */
export function incidentKey(rule: string, group: string, episodeMs: number): string {
  return `${rule}/${createHash('sha256').update(group).digest('hex').slice(0, 16)}/${episodeMs}`;
}

export interface Told {
  /** The word in the idempotency key. */
  readonly name: string;
  readonly status: Notification['status'];
  readonly episodeMs: number;
  readonly decidedMs: number;
  readonly evidence: Evidence;
  /** What was told of the episode before: receivers know an alert again by its severity, labels and group, so those stay. */
  readonly before?: Notification;
}

export function notificationOf(
  subject: Subject,
  group: string,
  { name, status, episodeMs, decidedMs, evidence, before }: Told,
): Notification {
  const incident = incidentKey(subject.rule, group, episodeMs);
  const named = before?.group ?? namedGroup(subject.groupBy, groupValues(group));
  const { summary, response, runbook } = subject.text;
  const { severity, labels } = before ?? subject.text;
  return {
    key: `${incident}/${name}`,
    incident,
    status,
    rule: subject.rule,
    group: named,
    severity,
    summary: filled(summary, named),
    labels,
    response,
    ...(runbook === undefined ? {} : { runbook }),
    startedMs: episodeMs,
    decidedMs,
    evidence,
  };
}
