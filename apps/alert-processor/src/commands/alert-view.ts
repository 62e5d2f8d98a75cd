import { isoTime } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { AlertState, Send, Transition } from '../decide/alert-state.ts';
import { GIVEN_UP, isPending } from '../decide/episodes.ts';
import { incidentKey } from '../decide/subject.ts';
import { firstDecidedMs, sinceWords } from '../notify/alert-text.ts';
import { groupWords, type NamedGroup, namedGroup } from '../rules/group-words.ts';
import { SEVERITIES } from '../rules/rule.ts';
import { pendingOf, undeliveredOf } from './undelivered.ts';

/** Names and values of the group, as people are shown it: by the names that were told, or in order where nothing was told. */
export function groupOf(state: AlertState): NamedGroup {
  return state.transitions.at(-1)?.notification.group ?? namedGroup(undefined, state.group);
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
export function alertJson(state: AlertState, nowMs: number): object {
  const { rule, state: word, episodeMs, transitions } = state;
  const last = transitions.at(-1)?.notification;
  const decidedMs = decidedFirstMs(state);
  const { waiting, failed } = undeliveredOf(state, nowMs);
  return {
    rule,
    group: groupOf(state),
    state: word,
    incident: incidentKey(rule, state.group, episodeMs),
    since: isoTime(episodeMs),
    first_decided: decidedMs === undefined ? null : isoTime(decidedMs),
    ...(last === undefined
      ? {}
      : { severity: last.severity, summary: last.summary, value: last.evidence.value, evidence: last.evidence.text }),
    undelivered: waiting + failed,
    waiting,
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

/** When the firing of the present or the last episode was decided; undefined where it is not known (any more). */
function decidedFirstMs({ transitions, episodeMs }: AlertState): number | undefined {
  const firing = transitions.find(({ name, notification }) => name === 'firing' && notification.startedMs === episodeMs);
  return firing === undefined ? undefined : firstDecidedMs(firing.notification);
}

/** `since 22:22:41 (4 min), in the window from 22:20:10`. */
function since(state: AlertState, nowMs: number): string {
  const decidedMs = decidedFirstMs(state);
  const [at, ...window] = sinceWords(decidedMs, state.episodeMs).split(', ');
  return [`${at} (${span(nowMs - (decidedMs ?? state.episodeMs))})`, ...window].join(', ');
}

/** `ls`: a few lines an alert; why channels were not told stands behind them all, once a channel. Nothing of an event reaches a terminal as a control. */
export function alertLines(state: AlertState, nowMs: number): readonly string[] {
  const last = state.transitions.at(-1);
  const begun = `${state.state === 'firing' ? 'since' : 'last since'} ${since(state, nowMs)}`;
  const earlier = state.transitions.filter((each) => each !== last && isPending(each));
  return [
    headOf(state),
    `  ${last === undefined ? begun : `${last.notification.summary}: ${last.notification.evidence.text}; ${begun}`}`,
    `  ${last === undefined ? 'nothing told' : toldWords(last, state, false)}`,
    ...earlier.map((transition) => `  before it, ${toldWords({ ...transition, sends: pendingOf(transition) }, state, false)}`),
    ...(state.givenUp === undefined ? [] : [`  ${state.givenUp} sends before these were given up (${GIVEN_UP})`]),
  ].map(printable);
}

function headOf(state: AlertState): string {
  const severity = state.transitions.at(-1)?.notification.severity ?? '';
  const group = groupWords(groupOf(state));
  return `${state.state === 'firing' ? `FIRING ${severity}` : 'ok'}  ${state.rule}${group === '' ? '' : `  ${group}`}`;
}

/** What became of one transition of an alert. `why`: with the receivers' own words. */
export function toldWords(transition: Transition, { transitions }: Pick<AlertState, 'transitions'>, why: boolean): string {
  const { name, silencedBy, sends, notification } = transition;
  if (silencedBy !== undefined) return `${name}: nobody is told, by silence ${silencedBy}`;
  if (sends.length === 0) return `${name}: nobody is told, since there is no notifier`;
  const place = transitions.findIndex((each) => each.notification.key === notification.key);
  const isBehind = ({ channel }: Send) =>
    transitions
      .slice(0, place)
      .some((each) => each.notification.incident === notification.incident && pendingOf(each).some((send) => send.channel === channel));
  return `${name}: ${sends.map((send) => sendWords(send, isBehind(send), why)).join('; ')}`;
}

/** Not each try is written, and what a killed process tried last is not: there were at least so many. */
function sendWords({ channel, status, attempts, reason }: Send, isBehind: boolean, withReason: boolean): string {
  const tries = attempts === 0 ? [] : [`at least ${attempts} ${attempts === 1 ? 'try' : 'tries'}`];
  const why = reason === undefined || !withReason ? [] : [reason];
  const aside = (parts: readonly string[]): string => (parts.length === 0 ? '' : ` (${parts.join(', ')})`);
  if (status === 'sent') return `${channel} was told${aside(attempts > 1 ? tries : [])}`;
  if (status === 'refused') return `${channel} refused it${aside(why)}`;
  if (status === 'given-up') return `${channel} was given up${aside([...tries, ...why])}`;
  if (attempts === 0) return `${channel} waits ${isBehind ? 'behind an earlier one' : 'for its first try'}`;
  return `${channel} waits${aside([...tries, ...why])}`;
}

/** `show`: everything that is known of one alert. */
export function alertPage(state: AlertState, nowMs: number): readonly string[] {
  const last = state.transitions.at(-1)?.notification;
  const lines = [headOf(state), `Incident: ${incidentKey(state.rule, state.group, state.episodeMs)}`];
  lines.push(`Since: ${since(state, nowMs)}`);
  if (last !== undefined) {
    const { summary, response, runbook, labels, evidence, decidedMs } = last;
    lines.push(`Summary: ${summary}`, `Do: ${response.do}`, `Do not: ${response.doNot}`);
    if (runbook !== undefined) lines.push(`Runbook: ${runbook}`);
    if (Object.keys(labels).length > 0) lines.push(`Labels: ${groupWords(labels)}`);
    lines.push(
      // What is measured meanwhile is kept nowhere.
      `Evidence, as of ${isoTime(decidedMs)}: ${evidence.text}, over ${evidence.events} events from ${isoTime(evidence.windowStartMs)} to ${isoTime(evidence.windowEndMs)}`,
      `Complete up to: ${evidence.completeUpToMs === null ? 'not known' : isoTime(evidence.completeUpToMs)}`,
      ...evidence.missing.map((sentence) => `Not seen: ${sentence}`),
    );
  }
  for (const transition of state.transitions) {
    lines.push(`${isoTime(transition.atMs)}  ${toldWords(transition, state, true)}`, `  key ${transition.notification.key}`);
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
