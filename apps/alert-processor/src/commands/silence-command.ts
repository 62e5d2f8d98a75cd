import { isoTime, systemClock, TAILRACE } from '@tailrace/kafka-kit';
import { ConfigError, printable } from '@tailrace/service';
import type { Silence } from '../messages/message.ts';
import { groupWords, namedGroup } from '../rules/group-words.ts';
import { span } from './alert-view.ts';
import { type AlertsKafka, type AlertTopics, withAlerts } from './alerts-kafka.ts';
import { groupByOf, knowledgeOf, knownRules } from './known-rules.ts';
import { EXIT, type Ports } from './ports.ts';
import { checkRoom, matchedBy, type SilenceFlags, silenceOf } from './silence-request.ts';
import { StateFold } from './state-fold.ts';

const TAKEN_MS = 15_000;
const LOOK_MS = 300;

/** `alerts silence`: nobody is told of some alerts for a while. Resolves once the processors hold it, or none runs. */
export async function silenceCommand(flags: SilenceFlags, ports: Ports, topics: AlertTopics): Promise<number> {
  const { rule } = flags;
  const known = await knownRules(ports.environment);
  return await withAlerts(ports, topics, async (kafka) => {
    const { alerts, silences } = await kafka.states();
    checkRoom(silences);
    const knowledge = rule === undefined ? undefined : knowledgeOf(rule, known, alerts);
    const silence = silenceOf(flags, ports.nowMs(), knowledge);
    const taken = await tellAndWait(kafka, silence, ports);
    const firing = alerts.filter(({ state }) => state === 'firing').length;
    const matches = matchedBy(silence, alerts).length;
    if (flags.json === true) {
      const checked = { matches, firing, rule_checked: knowledge?.unchecked === undefined };
      ports.out(`${JSON.stringify({ silence: silenceJson(silence), ...checked, ...taken })}\n`);
    } else {
      const lines = [
        silenceLine(silence, ports.nowMs(), knowledge?.groupBy),
        ...(knowledge?.unchecked === undefined ? [] : [knowledge.unchecked]),
        firing === 0 ? 'Nothing fires now that it could match.' : `It matches ${matches} of ${firing} alerts that fire now.`,
        takenWords(taken),
        `Take it back with: ${TAILRACE} alerts unsilence ${silence.id}`,
      ];
      ports.out(`${lines.join('\n')}\n`);
    }
    return EXIT.good;
  });
}

/** `alerts unsilence`: takes a silence of the command line back. */
export async function unsilenceCommand(id: string, json: boolean, ports: Ports, topics: AlertTopics): Promise<number> {
  if (id.trim() === '') throw new ConfigError([`Say which silence: ${TAILRACE} alerts silences shows those that there are.`]);
  if (id.startsWith('file-')) throw new ConfigError([`The silence ${id} stands in the rules file: take it out there.`]);
  return await withAlerts(ports, topics, async (kafka) => {
    const held = (await kafka.states()).silences.filter(({ silence }) => silence.id === id).map(({ silence }) => silence);
    const [known] = held;
    if (known === undefined)
      throw new ConfigError([`No processor holds a silence ${id}: ${TAILRACE} alerts silences shows those that there are.`]);
    const over = { ...known, untilMs: known.fromMs };
    // No partition takes it a second time, so nothing would come to wait for.
    const before = held.every(({ fromMs, untilMs }) => untilMs <= fromMs)
      ? 'was taken back already'
      : held.every(({ untilMs }) => untilMs <= ports.nowMs())
        ? 'is over already'
        : undefined;
    if (before !== undefined) {
      ports.out(json ? `${JSON.stringify({ id, already: true })}\n` : `Silence ${id} ${before}: nothing is left to take back.\n`);
      return EXIT.good;
    }
    const taken = await tellAndWait(kafka, over, ports);
    if (json) ports.out(`${JSON.stringify({ id, ...taken })}\n`);
    else ports.out(`Silence ${id} is taken back.\n${takenWords(taken)}\n`);
    return EXIT.good;
  });
}

/** `alerts silences`: those that hold or will hold, and with `all` those that are over. */
export async function silencesCommand(
  flags: { readonly all?: boolean; readonly json?: boolean },
  ports: Ports,
  topics: AlertTopics,
): Promise<number> {
  const known = await knownRules(ports.environment);
  const ofFile = 'rules' in known ? known.rules.silences : [];
  const { silences, alerts } = await withAlerts(ports, topics, (kafka) => kafka.states());
  const byId = new Map([...ofFile, ...silences.map(({ silence }) => silence)].map((silence) => [silence.id, silence]));
  const nowMs = ports.nowMs();
  const shown = [...byId.values()]
    .filter(({ fromMs, untilMs }) => flags.all === true || (untilMs > nowMs && untilMs > fromMs))
    .sort((a, b) => a.untilMs - b.untilMs);
  if (flags.json === true) ports.out(`${JSON.stringify({ silences: shown.map(silenceJson) })}\n`);
  else {
    const lines = shown.map((silence) => silenceLine(silence, nowMs, groupByOf(silence.rule ?? '', known, alerts)));
    ports.out(`${lines.join('\n') || 'There is no silence.'}\n`);
  }
  if ('unknown' in known) ports.note(`Silences of the rules file are not among them: ${known.unknown}.\n`);
  return EXIT.good;
}

interface Taken {
  /** Partitions that hold it. */
  readonly taken: number;
  readonly partitions: number;
  /** Processes that decide now. */
  readonly deciders: number;
  /** Whether one ever did. */
  readonly ever_decided: boolean;
}

/** Tells every partition, and waits until each holds it, or nobody is there to take it. */
async function tellAndWait(kafka: AlertsKafka, silence: Silence, ports: Ports): Promise<Taken> {
  // What is written before the silence is told can not hold it.
  let read = await kafka.stateRanges();
  await kafka.tell(silence);
  const fold = new StateFold();
  const partitions = read.length;
  const deadlineMs = performance.now() + TAKEN_MS;
  for (;;) {
    read = await kafka.more(fold, read);
    const taken = fold.silences.filter((each) => each.silence.id === silence.id && each.silence.untilMs === silence.untilMs).length;
    const deciders = taken === partitions ? 0 : await kafka.deciders();
    if (taken === partitions || deciders === 0 || performance.now() > deadlineMs || ports.signal.aborted)
      return { taken, partitions, deciders, ever_decided: deciders > 0 || taken > 0 || (await kafka.everDecided()) };
    await systemClock.sleep(LOOK_MS, ports.signal);
  }
}

function takenWords({ taken, partitions, deciders, ever_decided }: Taken): string {
  if (taken === partitions) return 'Every partition holds it.';
  if (!ever_decided)
    return 'It is written, but no alert-processor has ever run here, and a first one does not read so far back: give the command again when it runs.';
  if (deciders === 0)
    return 'It is written. No alert-processor runs: it holds before the next one decides anything, if that is within two days.';
  return `It is written, and ${taken} of ${partitions} partitions hold it by now: the others take it as soon as their alert-processor gets there.`;
}

function silenceJson({ id, rule, group, fromMs, untilMs, comment }: Silence): object {
  return {
    id,
    rule: rule ?? null,
    group: group === undefined ? null : JSON.parse(group),
    from: isoTime(fromMs),
    until: isoTime(untilMs),
    comment,
  };
}

/** `groupBy`: of its rule, where it is known. */
function silenceLine(
  { id, rule, group, fromMs, untilMs, comment }: Silence,
  nowMs: number,
  groupBy: readonly string[] | undefined,
): string {
  const of = group === undefined ? '' : ` ${groupWords(namedGroup(groupBy, group))}`;
  const what = printable(rule === undefined ? 'every rule' : `${rule}${of}`);
  if (untilMs <= fromMs) return `${id}  ${what}  taken back  ${printable(comment)}`;
  const left = untilMs <= nowMs ? 'over' : fromMs > nowMs ? `begins in ${span(fromMs - nowMs)}` : `${span(untilMs - nowMs)} left`;
  return `${id}  ${what}  until ${isoTime(untilMs)} (${left})  ${printable(comment)}`;
}
