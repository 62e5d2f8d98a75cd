import type { ConsumerRuntime } from '../consume/consumer-runtime.ts';
import type { IdleMember } from '../consume/idle-member.ts';
import type { Outage } from '../consume/lane-phase.ts';
import type { LaneView } from '../consume/lane-view.ts';
import { isoTime } from '../time/iso-time.ts';

/**
 * How a runtime is, in one sentence for the person who looks. `degraded`: it works, but a partition waits for a person or a server.
 * `not-ready`: it does not run, or the Kafka client delivers nothing of a partition that has more.
 */
export interface RuntimeHealth {
  readonly state: 'ok' | 'degraded' | 'not-ready';
  readonly sentence: string;
}

/** No write takes so long: a server that hangs is told before the client gives it up. */
const LONG_ANSWER_MS = 10_000;

/** Without partitions Kafka is asked every 10 s, and given 10 s for the answer. */
const SILENT_KAFKA_MS = 30_000;

/** An answer about a topic takes milliseconds: after so long a sink that asks Kafka, too, may be waiting for that. */
const KAFKA_DOUBTED_MS = 2000;

/** So many partitions are named one by one. */
const NAMED = 3;

/** What a person calls the servers, with their addresses. */
export interface ServerNames {
  readonly kafka: string;
  /** Where the sink writes. */
  readonly sink: string;
  /** Where what Kafka no longer holds is read. */
  readonly history?: string;
}

const UNNAMED: ServerNames = { kafka: 'Kafka', sink: 'the sink' };
const UNNAMED_HISTORY = 'the history';

/** Reads what the runtime already knows; asks nobody. `nowMs` is of the runtime's clock. */
export function runtimeHealth(
  runtime: Pick<ConsumerRuntime, 'state' | 'lanes' | 'idle' | 'silentSinceMs'>,
  servers: ServerNames = UNNAMED,
  nowMs: number = Date.now(),
): RuntimeHealth {
  const { state } = runtime;
  switch (state.kind) {
    case 'idle':
      return { state: 'not-ready', sentence: 'The consumer has not been started.' };
    case 'stopping':
      return { state: 'not-ready', sentence: 'The consumer is stopping.' };
    case 'stopped':
      return { state: 'not-ready', sentence: 'The consumer has stopped.' };
    case 'failed':
      return { state: 'not-ready', sentence: `The consumer can not go on: ${state.error.message}` };
    case 'running':
      return (
        idleHealth(runtime.idle(), servers, nowMs) ??
        lanesHealth(runtime.lanes(), nowMs - (runtime.silentSinceMs() ?? nowMs), servers, nowMs)
      );
  }
}

/** A spare member is well: it takes over when another ends. One whose topic is not there, or to whom Kafka does not answer, is not. */
function idleHealth(idle: IdleMember | undefined, { kafka }: ServerNames, nowMs: number): RuntimeHealth | undefined {
  if (idle === undefined) return undefined;
  const owns = `The consumer has owned no partition since ${isoTime(idle.sinceMs)}`;
  const [missing] = idle.missingTopics;
  if (missing !== undefined) return { state: 'degraded', sentence: `${owns}: topic ${missing} does not exist.` };
  const silentMs = nowMs - Math.max(idle.sinceMs, idle.answeredMs ?? 0);
  if (silentMs > SILENT_KAFKA_MS)
    return { state: 'degraded', sentence: `${owns}, and ${kafka} has not answered for ${Math.round(silentMs / 1000)} s.` };
  return { state: 'ok', sentence: `${owns}: it is joining, or other members own them all.` };
}

function lanesHealth(lanes: readonly LaneView[], silentMs: number, servers: ServerNames, nowMs: number): RuntimeHealth {
  const stalled = lanes.flatMap((lane) => stalledSentence(lane) ?? []);
  if (stalled.length > 0) return { state: 'not-ready', sentence: some(stalled) };
  const halted = lanes.flatMap(({ halted: sentence }) => sentence ?? []);
  const asked = silentMs > KAFKA_DOUBTED_MS ? { ...servers, sink: `${servers.kafka} or ${servers.sink}` } : servers;
  const waiting = lanes.flatMap((lane) => waitingSentence(lane, asked, nowMs) ?? restoringSentence(lane, asked) ?? []);
  const silent = silentMs > SILENT_KAFKA_MS ? [`${servers.kafka} has not answered for ${Math.round(silentMs / 1000)} s.`] : [];
  if (silent.length + halted.length + waiting.length > 0) return { state: 'degraded', sentence: some([...silent, ...halted, ...waiting]) };
  const opening = lanes.filter(({ phase }) => phase === 'opening').length;
  const still = opening > 0 ? `, ${opening} of them still looking for their position` : '';
  return { state: 'ok', sentence: `The consumer reads ${lanes.length} ${lanes.length === 1 ? 'partition' : 'partitions'}${still}.` };
}

/** Whose answer is missing. A partition is opened by questions to both. */
const WAITED_FOR: Readonly<Record<Outage['why'], (servers: ServerNames) => string>> = {
  sink: ({ sink }) => sink,
  retry: ({ sink }) => sink,
  gap: ({ sink }) => sink,
  history: ({ history }) => history ?? UNNAMED_HISTORY,
  'dead-letter': ({ kafka }) => kafka,
  open: ({ kafka, sink }) => (sink.startsWith(kafka) ? sink : `${kafka} or ${sink}`),
};

function waitingSentence(
  { topic, partition, outage, unansweredSinceMs }: LaneView,
  servers: ServerNames,
  nowMs: number,
): string | undefined {
  if (outage === undefined) {
    const silentMs = nowMs - (unansweredSinceMs ?? nowMs);
    if (silentMs < LONG_ANSWER_MS) return undefined;
    return `${topic}, partition ${partition} has been waiting for ${Math.round(silentMs / 1000)} s for an answer of ${servers.sink} about records that it handed over.`;
  }
  const forSeconds = Math.max(0, Math.round((nowMs - outage.sinceMs) / 1000));
  return `${topic}, partition ${partition} has been waiting for ${WAITED_FOR[outage.why](servers)} for ${forSeconds} s and goes on by itself: ${outage.reason}`;
}

/** Degraded, not ready: it goes on by itself, but until then what comes in is not processed, and Kafka has overtaken the group once. */
function restoringSentence(
  { topic, partition, restore, logEnd }: LaneView,
  { history = UNNAMED_HISTORY }: ServerNames,
): string | undefined {
  if (restore === undefined) return undefined;
  const { from, next, logStart, waitsSinceMs } = restore;
  const where = `${topic}, partition ${partition}`;
  if (waitsSinceMs === undefined)
    return `${where} reads from ${history} what Kafka no longer holds, from offset ${from} on; it is at ${next} of ${logEnd ?? logStart}, and goes on by itself.`;
  const range = logStart - next === 1 ? `offset ${next}` : `offsets ${next} to ${logStart - 1}`;
  return `${where} has been waiting for ${range} since ${isoTime(waitsSinceMs)}: Kafka no longer holds that, and it is not in ${history} yet. It is asked for every 30 s; look whether that which writes it runs.`;
}

function stalledSentence({ topic, partition, stall }: LaneView): string | undefined {
  if (stall === undefined) return undefined;
  const since = isoTime(stall.sinceMs);
  return `${topic}, partition ${partition} got nothing from offset ${stall.position} on since ${since}, although its log ends at ${stall.end}; it is read again from there until records come.`;
}

function some(sentences: readonly string[]): string {
  const more = sentences.length - NAMED;
  return [...sentences.slice(0, NAMED), ...(more > 0 ? [`And ${more} more.`] : [])].join(' ');
}
