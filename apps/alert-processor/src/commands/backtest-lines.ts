import { isoTime } from '@tailrace/kafka-kit';
import { chainText, span } from '@tailrace/lake';
import { printable } from '@tailrace/service';
import { groupValues } from '../decide/subject.ts';
import type { BacktestReading, Unreadable } from '../simulate/backtest.ts';
import type { Firing, RuleFirings } from '../simulate/firings.ts';

export interface BacktestResult {
  readonly fromMs: number;
  readonly toMs: number;
  readonly readFromMs: number;
  readonly reading: BacktestReading;
  readonly rules: readonly RuleFirings[];
}

/** Alerts, groups and stretches that people are shown of each; all that are kept are in the JSON. */
const SHOWN = 10;

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** For people. Groups come from events: nothing of them reaches a terminal as a control. */
export function backtestLines({ fromMs, toMs, readFromMs, reading, rules }: BacktestResult): string[] {
  const { lake, kafka } = reading.records;
  return [
    `From ${isoTime(fromMs)} to ${isoTime(toMs)} (${span(toMs - fromMs)}):`,
    ...rules.flatMap((each) => ['', ...ruleLines(each, toMs)]),
    '',
    `${count(lake + kafka, 'record')} read (${lake} from the lake, ${kafka} from Kafka), from ${isoTime(readFromMs)} on, so that the first windows are full.`,
    ...reading.unreadable.slice(0, SHOWN).map(unreadableLine),
    ...more(reading.unreadable.length - SHOWN, 'stretch that could not be read', 'stretches that could not be read'),
  ].map(printable);
}

function ruleLines(firings: RuleFirings, toMs: number): string[] {
  const { rule, fired, silenced, again, firingAtStart, firingAtEnd, firstMs, lastMs, longest, days, groups, otherGroups, alerts, leftOut } =
    firings;
  const asides = [
    ...(firingAtStart > 0 ? [`${firingAtStart} fired already when the window began`] : []),
    ...(firingAtEnd > 0 ? [`${firingAtEnd} still fired when it ended`] : []),
    ...(silenced > 0 ? [`${silenced} began under a silence`] : []),
    ...(again > 0 ? [`told again ${count(again, 'time')}`] : []),
  ];
  const aside = asides.length === 0 ? '' : ` (${asides.join('; ')})`;
  if (firstMs === undefined || lastMs === undefined) return [`${rule} would not have fired${aside}.`];
  const ofGroups = groups.slice(0, SHOWN).map(({ group, fired: times }) => `${groupText(group)} ${times}`);
  const others = groups.slice(SHOWN).reduce((sum, each) => sum + each.fired, otherGroups);
  return [
    `${rule} would have fired ${count(fired, 'time')}, first at ${isoTime(firstMs)}, last at ${isoTime(lastMs)}${aside}.`,
    ...(longest === undefined
      ? []
      : [`  longest: ${lengthText(longest, toMs)} from ${isoTime(longest.firedMs)} on, ${groupText(longest.group)}`]),
    `  by day: ${days.map((each) => `${each.day} ${each.fired}`).join(', ')}`,
    `  by group: ${[...ofGroups, ...(others > 0 ? [`others ${others}`] : [])].join(', ')}`,
    ...alerts
      .slice(0, SHOWN)
      .map((each) => `  ${isoTime(each.firedMs)}  ${groupText(each.group)}  ${lengthText(each, toMs)}  ${each.evidence}`),
    ...more(alerts.length + leftOut - SHOWN, 'more alert', 'more alerts').map((line) => `  ${line}`),
  ];
}

function more(left: number, one: string, several: string): string[] {
  return left <= 0 ? [] : [`... and ${left} ${left === 1 ? one : several}.`];
}

function lengthText({ firedMs, overMs }: Firing, toMs: number): string {
  return overMs === undefined ? `over ${span(toMs - firedMs)}` : span(overMs - firedMs);
}

function groupText(group: string): string {
  const values = groupValues(group);
  return values.length === 0 ? '(all)' : values.map((value) => value ?? 'none').join(', ');
}

const WHY = {
  lost: 'were lost before they were archived',
  'before-archive': 'are from before the archive began',
  hole: 'are neither in the lake nor in Kafka, and nobody has declared them lost',
} as const satisfies Record<Unreadable['kind'], string>;

function unreadableLine({ source, kind, from, to }: Unreadable): string {
  return `Not read: offsets ${from} to ${to - 1} of ${chainText(source)}, which ${WHY[kind]}.`;
}

export function backtestJson({ fromMs, toMs, readFromMs, reading, rules }: BacktestResult): object {
  const time = (ms: number | undefined) => (ms === undefined ? null : isoTime(ms));
  const firing = (each: Firing) => ({
    group: groupValues(each.group),
    firedAt: isoTime(each.firedMs),
    overAt: time(each.overMs),
    forMs: (each.overMs ?? toMs) - each.firedMs,
    evidence: each.evidence,
  });
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    readFrom: isoTime(readFromMs),
    records: reading.records,
    unreadable: reading.unreadable.map(({ source: { topic, incarnation, partition }, ...rest }) => ({
      topic,
      incarnation,
      partition,
      ...rest,
    })),
    rules: rules.map(({ firstMs, lastMs, longest, groups, alerts, ...rest }) => ({
      ...rest,
      firstAt: time(firstMs),
      lastAt: time(lastMs),
      longest: longest === undefined ? null : firing(longest),
      groups: groups.map((each) => ({ ...each, group: groupValues(each.group) })),
      alerts: alerts.map(firing),
    })),
  };
}
