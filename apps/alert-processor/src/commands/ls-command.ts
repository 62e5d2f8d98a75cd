import { isoTime } from '@tailrace/kafka-kit';
import { alertJson, alertLines, inOrder, undeliveredOf } from './alert-view.ts';
import { type AlertTopics, withAlerts } from './alerts-kafka.ts';
import { EXIT, type Ports } from './ports.ts';
import type { StateFold } from './state-fold.ts';

export interface LsFlags {
  readonly all?: boolean;
  readonly rule?: string;
  readonly json?: boolean;
}

/** `alerts ls`: what fires, and what somebody was not told of; exit code 1 when there is any. */
export async function lsCommand(flags: LsFlags, ports: Ports, topics: AlertTopics): Promise<number> {
  const states = await withAlerts(ports, topics, (kafka) => kafka.states());
  const ofRule = states.alerts.filter(({ rule }) => flags.rule === undefined || rule === flags.rule);
  const firing = ofRule.filter(({ state }) => state === 'firing').length;
  const undelivered = ofRule.reduce((sum, state) => sum + undeliveredOf(state), 0);
  const shown = inOrder(flags.all === true ? ofRule : ofRule.filter((state) => state.state === 'firing' || undeliveredOf(state) > 0));
  const decidedUpTo = decidedUpToMs(states);
  if (flags.json === true) {
    const decided_up_to = decidedUpTo === undefined ? null : isoTime(decidedUpTo);
    ports.out(`${JSON.stringify({ alerts: shown.map(alertJson), firing, undelivered, decided_up_to, unreadable: states.unreadable })}\n`);
  } else {
    const lines = shown.flatMap((state) => alertLines(state, ports.nowMs()));
    const summary = `${firing === 0 ? 'No alert is firing' : `${firing} firing`}, ${undelivered === 0 ? 'and everybody was told' : `${undelivered} not delivered`}.`;
    ports.out(`${[...lines, summary, decidedWords(decidedUpTo), ...unreadableWords(states)].join('\n')}\n`);
  }
  return firing > 0 || undelivered > 0 ? EXIT.finding : EXIT.good;
}

/** Up to when every partition is decided, as its owner has written it; undefined where one never was. */
function decidedUpToMs({ partitions }: StateFold): number | undefined {
  const marks = partitions.flatMap(({ watermarkMs }) => (watermarkMs === null ? [] : [watermarkMs]));
  return marks.length === 0 || marks.length < partitions.length ? undefined : Math.min(...marks);
}

function decidedWords(ms: number | undefined): string {
  return ms === undefined ? 'Nothing is decided yet: see whether alert-processor runs.' : `Decided up to ${isoTime(ms)}.`;
}

function unreadableWords({ unreadable }: StateFold): readonly string[] {
  return unreadable === 0 ? [] : [`${unreadable} records of alert-state could not be read: a newer version may have written them.`];
}
