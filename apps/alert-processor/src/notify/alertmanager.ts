import { isoTime } from '@tailrace/kafka-kit';
import { cut, details, oneLine } from './alert-text.ts';
import type { HttpMessage } from './http-notifier.ts';
import type { Notification } from './notification.ts';

/** A label's value longer than this says nothing more; Alertmanager's own bound is that of the request. */
const VALUE_UNITS = 1024;

/**
 * `POST /api/v2/alerts`: a list of one alert. Alertmanager takes an alert for resolved when its `endsAt` has passed, and one without `endsAt` after its own
 * `resolve_timeout` (5 min): a firing one therefore ends `holdMs` after it was decided, each `renotify` moves that on, and the resolved one ends it at once.
 * It knows an alert by its labels, so firing and resolved must have the same ones.
 */
export function alertmanagerMessage(notification: Notification, holdMs: number): HttpMessage {
  const { status, incident, rule, group, severity, summary, labels, startedMs, decidedMs, runbook } = notification;
  const own = Object.fromEntries(Object.entries(group).flatMap(([name, value]) => (value === null ? [] : [[labelName(name), value]])));
  const annotations = Object.fromEntries(details(notification).map(([name, text]) => [labelName(name.toLowerCase()), text]));
  const alert = {
    labels: valued({ ...labels, ...own, alertname: rule, severity, tailrace_group: groupHash(incident) }),
    annotations: { ...annotations, summary },
    // The same in every send of the incident, so the first decision, which only the first of them knows, can not be it.
    startsAt: isoTime(startedMs),
    // An alert may not end before it starts, and the start of an incident behind an earlier one may lie ahead of the decision.
    endsAt: isoTime(Math.max(startedMs, status === 'firing' ? decidedMs + holdMs : decidedMs)),
    ...(runbook === undefined ? {} : { generatorURL: runbook }),
  };
  return { body: JSON.stringify([alert]) };
}

/** `rule/group's hash/start`: groups whose values or names become the same as labels would else be one alert, and one's end would end the other. */
function groupHash(incident: string): string {
  return incident.split('/')[1] ?? '';
}

/** Label names of every release of Alertmanager: `attributes.tier` is `attributes_tier`. */
function labelName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=\d)/, '_');
}

/** An empty value is no label for Alertmanager; one that is all white space is refused with the whole post. */
function valued(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([name, value]) => {
      const text = cut(oneLine(value), VALUE_UNITS);
      return text === '' ? [] : [[name, text]];
    }),
  );
}
