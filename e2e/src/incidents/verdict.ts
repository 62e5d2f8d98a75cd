import { Findings } from '../proof/findings.ts';
import type { Expected, Incident, IncidentPlan } from './plan.ts';
import type { AlertReceiver, Told } from './receiver.ts';

/** Alerts of tailrace about itself are told of, not held against the plan. */
const OWN = 'tailrace.';

/** What is wrong with what was told of a plan: an incident that nobody told, one that was told twice, one that never was, one told late. */
export function judge(plan: IncidentPlan, receiver: AlertReceiver): Findings {
  const findings = new Findings();
  const left = new Set([...receiver.told.values()].filter(({ rule }) => !rule.startsWith(OWN)));
  for (const incident of plan.incidents) {
    for (const expected of incident.expected) {
      const mine = [...left].filter(({ rule, group }) => rule === expected.rule && group.service === incident.service);
      for (const each of mine) left.delete(each);
      judgeOne(plan, incident, expected, mine, findings);
    }
  }
  for (const told of left) findings.add('false alerts', nameOf(plan, told));
  for (const key of receiver.changed) findings.add('keys that told two things', key);
  return findings;
}

function judgeOne(plan: IncidentPlan, incident: Incident, expected: Expected, mine: readonly Told[], findings: Findings): void {
  const firing = mine.filter(({ status }) => status === 'firing');
  const resolved = mine.filter(({ status }) => status === 'resolved');
  const name = `${expected.rule} of ${incident.service} from ${minutes(plan, incident.startMs)} to ${minutes(plan, incident.endMs)}`;
  const told = mine.map((each) => nameOf(plan, each)).join(', ');
  if (firing.length === 0) findings.add('incidents that were not told', name);
  if (firing.length > 1) findings.add('incidents told twice', `${name}: ${told}`);
  if (firing.length > 0 && resolved.length !== 1) findings.add(`ends told ${resolved.length} times`, `${name}: ${told}`);
  for (const { decidedMs } of firing) {
    if (decidedMs < incident.startMs) findings.add('told before they began', `${name}: ${told}`);
    if (decidedMs > incident.startMs + expected.firesWithinMs) findings.add('told late', `${name}: ${told}`);
  }
  for (const { decidedMs } of resolved) {
    if (decidedMs < incident.endMs) findings.add('ends told too early', `${name}: ${told}`);
    if (decidedMs > incident.endMs + expected.resolvesWithinMs) findings.add('ends told late', `${name}: ${told}`);
  }
}

/** What two runs of one seed must have in common, in order. */
export function tellings(plan: IncidentPlan, receiver: AlertReceiver): string[] {
  return [...receiver.told.values()]
    .filter(({ rule }) => !rule.startsWith(OWN))
    .map(({ rule, group, status, startedMs }) => `${rule} ${JSON.stringify(group)} from ${startedMs - plan.startMs} ms on: ${status}`)
    .sort();
}

function nameOf(plan: IncidentPlan, { rule, group, status, startedMs, decidedMs }: Told): string {
  return `${rule} ${JSON.stringify(group)} ${status}, started at ${minutes(plan, startedMs)}, decided at ${minutes(plan, decidedMs)}`;
}

function minutes(plan: IncidentPlan, ms: number): string {
  const seconds = Math.round((ms - plan.startMs) / 1000);
  return `${Math.floor(seconds / 60)}:${String(((seconds % 60) + 60) % 60).padStart(2, '0')}`;
}
