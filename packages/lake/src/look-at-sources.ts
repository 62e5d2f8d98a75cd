import { chainParts, indexObjects } from './chain-parts.ts';
import type { LogExtent } from './compare-log.ts';
import type { KafkaExtents } from './kafka-extents.ts';
import type { Ledger } from './ledger.ts';
import { type ChainId, chainText } from './records.ts';
import { type PlanSources, type PlanWindow, reachOf, spanOf, type TimeSpan } from './replay-plan.ts';
import { chainEnd, type Mark, type PartitionSources } from './replay-sources.ts';

/** What the lake and Kafka hold of every partition of the topics, of all their lives that either knows. */
export async function lookAtSources(ledger: Ledger, kafka: KafkaExtents, topics: readonly string[]): Promise<readonly PartitionSources[]> {
  return (await look(ledger, kafka, topics, undefined)).map(({ sources }) => sources);
}

/** The same with what a plan for the window needs: objects looked into, Kafka's time index, and some times behind the chains' ends. */
export async function lookAtWindow(
  ledger: Ledger,
  kafka: KafkaExtents,
  topics: readonly string[],
  window: PlanWindow,
): Promise<readonly PlanSources[]> {
  const found = await look(ledger, kafka, topics, reachOf(window));
  const logs = found.flatMap(({ log }) => (log === undefined ? [] : [log]));
  const [reach, span] = [reachOf(window), spanOf(window)];
  const [reachFrom, reachTo, spanFrom, spanTo] = [
    await kafka.offsetsAt(logs, reach.fromMs),
    await kafka.offsetsAt(logs, reach.toMs),
    await kafka.offsetsAt(logs, span.fromMs),
    await kafka.offsetsAt(logs, span.toMs),
  ];
  const marks = await tailMarks(kafka, found);
  return found.map(({ sources }): PlanSources => {
    const at = chainText(sources);
    const { log } = sources;
    if (log === null) return { ...sources, index: null };
    return {
      ...sources,
      log: { ...log, marks: [...log.marks, ...(marks.get(at) ?? [])] },
      index: { reachFrom: reachFrom.get(at), reachTo: reachTo.get(at), spanFrom: spanFrom.get(at), spanTo: spanTo.get(at) },
    };
  });
}

interface Looked {
  readonly sources: PartitionSources;
  readonly log: LogExtent | undefined;
}

async function look(
  ledger: Ledger,
  kafka: KafkaExtents,
  topics: readonly string[],
  reach: TimeSpan | undefined,
): Promise<readonly Looked[]> {
  // Kafka first: a chain only grows, so one that ends below such a log start will never reach it.
  const logs = await kafka.logs(topics);
  const chains = (await ledger.chains()).filter(({ topic }) => topics.includes(topic));
  const firsts = await kafka.firstTimes(
    logs.filter(({ logStart, logEnd }) => logStart < logEnd).map((log) => ({ ...log, first: log.logStart })),
  );
  const lives = new Set(chains.map(lifeOf));
  const places = new Map([...chains, ...logs].map((chain) => [chainText(chain), chain]));
  const objects = await indexObjects(ledger);
  const looked: Looked[] = [];
  for (const [at, { topic, incarnation, partition }] of places) {
    const chain = { topic, incarnation, partition };
    const log = logs.find((each) => chainText(each) === at);
    const firstMs = firsts.get(at);
    const marks = log === undefined || firstMs === undefined ? [] : [{ offset: log.logStart, timestampMs: firstMs }];
    looked.push({
      log,
      sources: {
        ...chain,
        parts: await chainParts(ledger, chain, objects, reach),
        log: log === undefined ? null : { logStart: log.logStart, logEnd: log.logEnd, marks },
        archived: lives.has(lifeOf(chain)),
      },
    });
  }
  return looked.sort(
    ({ sources: a }, { sources: b }) =>
      topics.indexOf(a.topic) - topics.indexOf(b.topic) || a.incarnation.localeCompare(b.incarnation) || a.partition - b.partition,
  );
}

function lifeOf({ topic, incarnation }: ChainId): string {
  return `${topic}~${incarnation}`;
}

/** Broker times behind the chains' ends: their beginning, middle and end, where a clock that went back shows. */
async function tailMarks(kafka: KafkaExtents, looked: readonly Looked[]): Promise<ReadonlyMap<string, readonly Mark[]>> {
  const tails = looked.flatMap(({ sources, log }) => {
    const first = Math.max(chainEnd(sources), log?.logStart ?? 0);
    return log === undefined || first >= log.logEnd ? [] : [{ ...log, first }];
  });
  const marks = new Map<string, Mark[]>();
  for (const share of [0, 0.5, 1]) {
    const positions = tails.map((tail) => ({ ...tail, first: tail.first + Math.floor((tail.logEnd - 1 - tail.first) * share) }));
    const times = await kafka.firstTimes(positions);
    for (const position of positions) {
      const timestampMs = times.get(chainText(position));
      if (timestampMs === undefined) continue;
      marks.set(chainText(position), [...(marks.get(chainText(position)) ?? []), { offset: position.first, timestampMs }]);
    }
  }
  return marks;
}
