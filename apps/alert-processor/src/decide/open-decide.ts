import { decideGroupName } from '@tailrace/events';
import { type ClusterAdmin, DEFAULT_BACKOFF, readRanges, systemClock } from '@tailrace/kafka-kit';
import type { Message } from '../messages/message.ts';
import type { Delivery, DeliveryOutcome, DeliveryPort } from '../notify/deliveries.ts';
import { openStage, type Stage, type StageOptions } from '../stages/open-stage.ts';
import type { Transition } from './alert-state.ts';
import type { StreamPartition } from './coverage.ts';
import { DecideSink } from './decide-sink.ts';
import { StateLog } from './state-log.ts';

/** `group`: of stage 1; this stage's own is made from it. */
export interface OpenDecideOptions extends StageOptions {
  /** The stream that is counted. */
  readonly topics: readonly string[];
  readonly stateTopic: string;
  readonly deliveries: DeliveryPort;
  /** Is handed, before anything is delivered, to whom each try is to be told: what `Deliveries` reports. */
  readonly reports: (told: Told) => void;
  /** How far a broker's clock may step back; not said: 5 min. */
  readonly clockStepMs?: number;
  /** Each message that is taken in. */
  readonly onMessage?: (partition: number, message: Message) => void;
  /** Behind each tick whose states are acknowledged, and whose notifications are handed over. */
  readonly onTicked?: (partition: number) => void;
  /** Each transition, once it is acknowledged. */
  readonly onTransition?: (transition: Transition) => void;
  readonly onRetry?: (records: number) => void;
}

type Told = (delivery: Delivery, outcome: DeliveryOutcome, attempts: number) => void;

/** Stage 2 as it runs. */
export type Decide = Stage<DecideSink>;

const MIB = 1024 * 1024;
const CLOCK_STEP_MS = 5 * 60_000;
/** Records wait for others no longer than this: it counts into the time to an alert. */
const BATCH_AGE_MS = 20;
/** How often the stream's partitions are counted anew. */
const SOURCES_MS = 60_000;

/** Joins the group and decides. Rejects when the cluster can not be reached; what was opened is closed then. */
export function openDecide(options: OpenDecideOptions): Promise<Decide> {
  const { kafka, partialsTopic, stateTopic, topics, log, rules } = options;
  const group = decideGroupName(options.group);
  return openStage({ ...options, group }, async ({ admin, publisher, partitions, onFault }) => {
    const stateLog = new StateLog({
      topic: stateTopic,
      publisher,
      admin,
      ranges: async () =>
        (await admin.groupLag(group, [stateTopic])).map(({ topic, partition, logStart, logEnd }) => ({
          topic,
          partition,
          from: logStart,
          to: logEnd,
        })),
      read: (ranges) => readRanges({ ...kafka, clientId: group }, ranges),
      backoff: DEFAULT_BACKOFF,
      sleep: systemClock.sleep,
      onRetry(records, reason) {
        options.onRetry?.(records);
        log.warn(`${records} records of ${stateTopic} are not acknowledged, and are written again: ${reason}`);
      },
      onUnreadable: (records) => log.error(`${records} records of ${stateTopic} can not be read, and are left out`),
    });
    const sink = new DecideSink(rules.current, {
      log: stateLog,
      admin,
      deliveries: options.deliveries,
      nowMs: options.nowMs,
      clockStepMs: options.clockStepMs ?? CLOCK_STEP_MS,
      partitions,
      onMessage: options.onMessage ?? (() => undefined),
      onTicked: options.onTicked ?? (() => undefined),
      onTransition: options.onTransition ?? (() => undefined),
      onFault,
    });
    options.reports((delivery, outcome, attempts) => sink.told(delivery, outcome, attempts));
    sink.setSources(await sourcesOf(admin, topics));
    return {
      sink,
      keeper: sink,
      topics: [partialsTopic],
      // What expired is older than any rule reaches, and evidence says from when on it is counted.
      gaps: { kind: 'skip' },
      batch: { maxRecords: 1000, maxBytes: 4 * MIB, maxAgeMs: BATCH_AGE_MS },
      inFlightPerLane: 4,
      beside: (stopped) => lookForSources(sink, () => sourcesOf(admin, topics), stopped, onFault),
    };
  });
}

/** Every partition of the stream's topics. */
async function sourcesOf(admin: ClusterAdmin, topics: readonly string[]): Promise<readonly StreamPartition[]> {
  const found = await admin.readTopics(topics);
  if (found.length < topics.length) throw new Error(`the topics ${topics.join(', ')} are not all there`);
  return found.flatMap(({ name, partitions }) => Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition })));
}

async function lookForSources(
  sink: DecideSink,
  look: () => Promise<readonly StreamPartition[]>,
  signal: AbortSignal,
  onFault: (what: string, fault: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    await systemClock.sleep(SOURCES_MS, signal);
    if (signal.aborted) return;
    try {
      sink.setSources(await look());
    } catch (fault) {
      onFault('count the partitions of the stream', fault);
    }
  }
}
