import { isoTime } from '@tailrace/kafka-kit';
import { groupWords } from '../rules/group-words.ts';
import type { Notification } from './notification.ts';

/** `FIRING critical: shop answers with errors`, on one line: also the subject of a mail. */
export function headline({ status, severity, summary }: Notification): string {
  return oneLine(`${status === 'firing' ? `FIRING ${severity}` : 'RESOLVED'}: ${summary}`);
}

/** What people need behind the headline, a name and its text each. What comes from events stands on one line, so that it can not look like another detail. */
export function details(notification: Notification): readonly (readonly [name: string, text: string])[] {
  const { status, rule, group, labels, response, runbook, startedMs, evidence, incident } = notification;
  const named = groupWords(group);
  const about = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const to: readonly (readonly [string, string])[] =
    status === 'firing'
      ? [['Do', response.do], ['Do not', response.doNot], ...(runbook === undefined ? [] : ([['Runbook', runbook]] as const))]
      : [];
  return [
    ...to,
    ['Evidence', oneLine(evidence.text)],
    ['Since', sinceWords(firstDecidedMs(notification), startedMs)],
    ['Complete up to', evidence.completeUpToMs === null ? 'not known' : isoTime(evidence.completeUpToMs)],
    ...(evidence.missing.length === 0 ? [] : ([['Not seen', oneLine(evidence.missing.join('; '))]] as const)),
    ['Rule', rule],
    ...(named === '' ? [] : ([['Group', oneLine(named)]] as const)),
    ...(about.length === 0 ? [] : ([['Labels', about.join(', ')]] as const)),
    ['Incident', incident],
  ];
}

/** When a firing was first decided, where this notification knows it: the first of an incident does, but not one that a silence held back. */
export function firstDecidedMs({ key, startedMs, decidedMs, evidence }: Notification): number | undefined {
  return key.endsWith('/firing') && evidence.windowStartMs <= startedMs ? decidedMs : undefined;
}

/**
 * Since when it fires, as people read it: when that was decided, and which window it was decided from. The window's start alone, which is in the key,
 * lies before the fault (but for absence, where it is when all fell silent).
 */
export function sinceWords(decidedMs: number | undefined, startedMs: number): string {
  if (decidedMs === undefined) return `the window from ${isoTime(startedMs)}`;
  return decidedMs <= startedMs ? isoTime(decidedMs) : `${isoTime(decidedMs)}, in the window from ${isoTime(startedMs)}`;
}

/** Without line breaks and other control characters, which end a header or a line where the receiver has lines. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}

/** At most so many UTF-16 units, and no half of a character at the end. */
export function cut(text: string, units: number): string {
  if (text.length <= units) return text;
  const kept = text.slice(0, units - 1);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
