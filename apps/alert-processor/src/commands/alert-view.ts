import { isoTime } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { AlertState, Send, Transition } from '../decide/alert-state.ts';
import { GIVEN_UP } from '../decide/episodes.ts';
import { incidentKey } from '../decide/subject.ts';
import { groupWords, type NamedGroup, namedGroup } from '../rules/group-words.ts';
import { SEVERITIES } from '../rules/rule.ts';

/** Names and values of the group, as people are shown it: by the names that were told, or in order where nothing was told. */
export function groupOf(state: AlertState): NamedGroup {
  return state.transitions.at(-1)?.notification.group ?? namedGroup(undefined, state.group);
}

/** A transition that a channel was not, or is not yet, told of. */
export interface Untold {
  readonly transition: Transition;
  readonly send: Send;
}

/** What waits, and what never arrived. */
export function untold(state: AlertState): readonly Untold[] {
  return state.transitions.flatMap((transition) =>
    transition.sends.filter(({ status }) => status !== 'sent').map((send) => ({ transition, send })),
  );
}

/** How many sends wait or never arrived, those that are not listed any more among them. */
export function undeliveredOf(state: AlertState): number {
  return untold(state).length + (state.givenUp ?? 0);
}

/** Firing first, the worst and the newest of them first. */
export function inOrder(states: readonly AlertState[]): readonly AlertState[] {
  const rank = (state: AlertState): number => {
    const severity = state.transitions.at(-1)?.notification.severity ?? 'info';
    return (state.state === 'firing' ? 10 : 0) + SEVERITIES.indexOf(severity);
  };
  return [...states].sort((a, b) => rank(b) - rank(a) || b.episodeMs - a.episodeMs || compare(a.rule, b.rule) || compare(a.group, b.group));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** For scripts: everything that the lines say, and what they are made from. */
export function alertJson(state: AlertState): object {
  const { rule, state: word, episodeMs, transitions } = state;
  const last = transitions.at(-1)?.notification;
  return {
    rule,
    group: groupOf(state),
    state: word,
    incident: incidentKey(rule, state.group, episodeMs),
    since: isoTime(episodeMs),
    ...(last === undefined
      ? {}
      : { severity: last.severity, summary: last.summary, value: last.evidence.value, evidence: last.evidence.text }),
    undelivered: undeliveredOf(state),
    given_up_before: state.givenUp ?? 0,
    transitions: transitions.map(({ name, atMs, silencedBy, notification, sends }) => ({
      name,
      at: isoTime(atMs),
      key: notification.key,
      ...(silencedBy === undefined ? {} : { silenced_by: silencedBy }),
      sends: sends.map(({ channel, status, attempts, lastAttemptMs, reason }) => ({
        channel,
        status,
        attempts,
        ...(lastAttemptMs === undefined ? {} : { last_attempt: isoTime(lastAttemptMs) }),
        ...(reason === undefined ? {} : { reason }),
      })),
    })),
  };
}

/** `ls`: a few lines an alert. Values of events are in them: nothing there reaches a terminal as a control. */
export function alertLines(state: AlertState, nowMs: number): readonly string[] {
  const last = state.transitions.at(-1);
  const severity = last?.notification.severity ?? '';
  const group = groupWords(groupOf(state));
  const head = `${state.state === 'firing' ? `FIRING ${severity}` : 'ok'}  ${state.rule}${group === '' ? '' : `  ${group}`}`;
  const since = `${state.state === 'firing' ? 'since' : 'last since'} ${isoTime(state.episodeMs)} (${span(nowMs - state.episodeMs)})`;
  const told = last === undefined ? 'nothing told' : toldWords(last);
  const others = untold(state).filter(({ transition }) => transition !== last);
  return [
    head,
    `  ${last === undefined ? since : `${last.notification.summary}: ${last.notification.evidence.text}; ${since}`}`,
    `  ${told}`,
    ...others.map(({ transition, send }) => `  ${transition.name}, told before it: ${sendWords(send)}`),
    ...(state.givenUp === undefined ? [] : [`  ${state.givenUp} sends before these were given up (${GIVEN_UP})`]),
  ].map(printable);
}

/** What became of one transition. */
export function toldWords({ name, silencedBy, sends }: Transition): string {
  if (silencedBy !== undefined) return `${name}: nobody is told, by silence ${silencedBy}`;
  if (sends.length === 0) return `${name}: nobody is told, since there is no notifier`;
  return `${name}: ${sends.map(sendWords).join('; ')}`;
}

function sendWords({ channel, status, attempts, reason }: Send): string {
  const tries = `${attempts} ${attempts === 1 ? 'try' : 'tries'}`;
  const why = reason === undefined ? '' : `, ${reason}`;
  if (status === 'sent') return `${channel} was told${attempts > 1 ? ` (${tries})` : ''}`;
  if (status === 'pending') return `${channel} waits (${tries}${why})`;
  return status === 'refused' ? `${channel} refused it (${tries}${why})` : `${channel} was given up (${tries}${why})`;
}

/** `show`: everything that is known of one alert. */
export function alertPage(state: AlertState, nowMs: number): readonly string[] {
  const last = state.transitions.at(-1)?.notification;
  const lines = [...alertLines(state, nowMs).slice(0, 1), `Incident: ${incidentKey(state.rule, state.group, state.episodeMs)}`];
  lines.push(`Since: ${isoTime(state.episodeMs)} (${span(nowMs - state.episodeMs)})`);
  if (last !== undefined) {
    const { summary, response, runbook, labels, evidence } = last;
    lines.push(`Summary: ${summary}`, `Do: ${response.do}`, `Do not: ${response.doNot}`);
    if (runbook !== undefined) lines.push(`Runbook: ${runbook}`);
    if (Object.keys(labels).length > 0) lines.push(`Labels: ${groupWords(labels)}`);
    lines.push(
      `Evidence: ${evidence.text}, over ${evidence.events} events from ${isoTime(evidence.windowStartMs)} to ${isoTime(evidence.windowEndMs)}`,
      `Complete up to: ${evidence.completeUpToMs === null ? 'not known' : isoTime(evidence.completeUpToMs)}`,
      ...evidence.missing.map((sentence) => `Not seen: ${sentence}`),
    );
  }
  for (const transition of state.transitions) {
    lines.push(`${isoTime(transition.atMs)}  ${toldWords(transition)}`, `  key ${transition.notification.key}`);
    for (const { channel, lastAttemptMs } of transition.sends)
      if (lastAttemptMs !== undefined) lines.push(`  last try through ${channel}: ${isoTime(lastAttemptMs)}`);
  }
  return lines.map(printable);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** How long, in its largest unit: `4 min`. */
export function span(ms: number): string {
  const [name, unitMs] = UNITS.find(([, each]) => ms >= each) ?? (['s', 1000] as const);
  return `${Math.max(0, Math.floor(ms / unitMs))} ${name}`;
}
