import { isoTime } from '@tailrace/kafka-kit';
import { alertJson, alertLines, inOrder } from './alert-view.ts';
import { type AlertTopics, withAlerts } from './alerts-kafka.ts';
import { knowledgeOf, knownRules } from './known-rules.ts';
import { EXIT, type Ports } from './ports.ts';
import type { StateFold } from './state-fold.ts';
import { channelLines, type Undelivered, undeliveredOf } from './undelivered.ts';

export interface LsFlags {
  readonly all?: boolean;
  readonly rule?: string;
  readonly json?: boolean;
}

/** `alerts ls`: what fires, and what somebody was not told of; exit code 1 when there is any. */
export async function lsCommand(flags: LsFlags, ports: Ports, topics: AlertTopics): Promise<number> {
  const known = flags.rule === undefined ? undefined : await knownRules(ports.environment);
  const states = await withAlerts(ports, topics, (kafka) => kafka.states());
  // A name that is misspelt has nothing to tell, and looks as if all were well.
  const unchecked = flags.rule === undefined || known === undefined ? undefined : knowledgeOf(flags.rule, known, states.alerts).unchecked;
  const ofRule = states.alerts.filter(({ rule }) => flags.rule === undefined || rule === flags.rule);
  const nowMs = ports.nowMs();
  const firing = ofRule.filter(({ state }) => state === 'firing').length;
  const counts = ofRule.map((state) => undeliveredOf(state, nowMs));
  const waiting = counts.reduce((sum, each) => sum + each.waiting, 0);
  const failed = counts.reduce((sum, each) => sum + each.failed, 0);
  const decidedUpTo = decidedUpToMs(states);
  if (flags.json === true) {
    const shown = inOrder(flags.all === true ? ofRule : ofRule.filter((state, i) => state.state === 'firing' || sumOf(counts[i]) > 0));
    const decided_up_to = decidedUpTo === undefined ? null : isoTime(decidedUpTo);
    const alerts = shown.map((state) => alertJson(state, nowMs));
    const found = { firing, undelivered: waiting + failed, waiting, decided_up_to, unreadable: states.unreadable };
    ports.out(`${JSON.stringify({ alerts, ...found })}\n`);
  } else {
    // What is over and will never be told is in its channel's line.
    const isListed = (counted: Undelivered | undefined) => counted !== undefined && counted.waiting + counted.unlisted > 0;
    const shown = inOrder(flags.all === true ? ofRule : ofRule.filter((state, i) => state.state === 'firing' || isListed(counts[i])));
    const lines = [...shown.flatMap((state) => alertLines(state, nowMs)), ...channelLines(ofRule, nowMs)];
    const summary = summaryOf(flags.rule, { firing, waiting, failed });
    const last = [summary, ...(unchecked === undefined ? [] : [unchecked]), decidedWords(decidedUpTo), ...unreadableWords(states)];
    ports.out(`${[...lines, ...last].join('\n')}\n`);
  }
  return firing > 0 || waiting > 0 || failed > 0 ? EXIT.finding : EXIT.good;
}

function sumOf(counts: Undelivered | undefined): number {
  return counts === undefined ? 0 : counts.waiting + counts.failed;
}

function summaryOf(
  rule: string | undefined,
  { firing, waiting, failed }: { readonly firing: number; readonly waiting: number; readonly failed: number },
): string {
  const of = rule === undefined ? '' : ` of ${rule}`;
  const parts = [
    firing === 0 ? `No alert${of} is firing` : `${firing}${of} firing`,
    ...(waiting > 0 ? [`${waiting} not delivered yet`] : []),
    ...(failed > 0 ? [`${failed} refused or given up in the last day`] : []),
    ...(waiting + failed === 0 ? [rule === undefined ? 'and everybody was told' : 'and everybody was told of it'] : []),
  ];
  return `${parts.join(', ')}.`;
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
