import { decideGroupName, POSITIONS_TOPIC } from '@tailrace/events';
import {
  type ClusterAdmin,
  type ConsumerRuntime,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type KafkaSettings,
  positionsLog,
  type RuntimeEvent,
  readRanges,
  reasonsOf,
  systemClock,
} from '@tailrace/kafka-kit';
import { kafkaLog, type Logger } from '@tailrace/service';
import type { Message } from '../messages/message.ts';
import type { Delivery, DeliveryOutcome, DeliveryPort } from '../notify/deliveries.ts';
import type { RuleSource } from '../panes/rule-source.ts';
import type { Transition } from './alert-state.ts';
import type { StreamPartition } from './coverage.ts';
import { DecideSink } from './decide-sink.ts';
import { StateLog } from './state-log.ts';

export interface OpenDecideOptions {
  readonly kafka: KafkaSettings;
  /** Of stage 1; this stage's own is made from it. */
  readonly group: string;
  /** The stream that is counted. */
  readonly topics: readonly string[];
  readonly partialsTopic: string;
  readonly stateTopic: string;
  readonly rules: RuleSource;
  readonly deliveries: DeliveryPort;
  /** Is handed, before anything is delivered, to whom each try is to be told: what `Deliveries` reports. */
  readonly reports: (told: Told) => void;
  readonly tickMs: number;
  readonly stopMs: number;
  readonly maxPollIntervalMs: number;
  readonly nowMs: () => number;
  /** How far a broker's clock may step back; not said: 5 min. */
  readonly clockStepMs?: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly observe: (event: RuntimeEvent) => void;
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
export interface Decide {
  readonly runtime: ConsumerRuntime;
  readonly sink: DecideSink;
  close(limitMs: number): Promise<void>;
}

const MIB = 1024 * 1024;
/** Quick to see a member die, as stage 1. */
const SESSION_TIMEOUT_MS = 6000;
const CLOCK_STEP_MS = 5 * 60_000;
/** Records wait for others no longer than this: it counts into the time to an alert. */
const BATCH_AGE_MS = 20;
const POSITIONS_PRODUCER = { topicPropagationMs: 5000 };
const CLOSE_MS = 5000;
/** How often the stream's partitions are counted anew. */
const SOURCES_MS = 60_000;

/** Joins the group and decides. Rejects when the cluster can not be reached; what was opened is closed then. */
export async function openDecide(options: OpenDecideOptions): Promise<Decide> {
  const { kafka, partialsTopic, stateTopic, topics, log, signal, rules } = options;
  const group = decideGroupName(options.group);
  const opened: ((limitMs: number) => Promise<unknown>)[] = [];
  const keep = <T>(part: T, close: (limitMs: number) => Promise<unknown>): T => {
    opened.push(close);
    return part;
  };
  const close = async (limitMs: number): Promise<void> => {
    for (const each of opened.splice(0).reverse()) await each(limitMs);
  };
  try {
    const connect = (producer?: typeof POSITIONS_PRODUCER) =>
      connectPublisher(kafka, {
        producers: 1,
        maxInFlightBytes: 64 * MIB,
        log: kafkaLog(log),
        signal,
        ...(producer === undefined ? {} : { producer }),
      });
    const admin = await connectAdmin(kafka);
    keep(admin, () => admin.close());
    const publisher = await connect();
    keep(publisher, (ms) => publisher.close(ms));
    const positions = await connect(POSITIONS_PRODUCER);
    keep(positions, (ms) => positions.close(ms));
    const sources = await sourcesOf(admin, topics);
    const [partials] = await admin.readTopics([partialsTopic]);
    if (partials === undefined) throw new Error(`there is no topic ${partialsTopic}`);
    const onFault = (what: string, fault: unknown) => log.warn(`could not ${what}, and tries again: ${reasonsOf(fault)}`);
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
      partitions: partials.partitions,
      onMessage: options.onMessage ?? (() => undefined),
      onTicked: options.onTicked ?? (() => undefined),
      onTransition: options.onTransition ?? (() => undefined),
      onFault,
    });
    options.reports((delivery, outcome, attempts) => sink.told(delivery, outcome, attempts));
    sink.setSources(sources);
    const broker = createNativeConsumer(kafka, {
      group,
      protocol: { kind: 'classic', sessionTimeoutMs: SESSION_TIMEOUT_MS },
      maxPollIntervalMs: options.maxPollIntervalMs,
    });
    const runtime = createConsumerRuntime(
      {
        group,
        topics: [partialsTopic],
        sink,
        start: 'latest',
        rewinds: true,
        // What expired is older than any rule reaches, and evidence says from when on it is counted.
        gaps: { kind: 'skip' },
        batch: { maxRecords: 1000, maxBytes: 4 * MIB, maxAgeMs: BATCH_AGE_MS },
        inFlightPerLane: 4,
        buffer: { pauseAtBytes: 32 * MIB, resumeAtBytes: 16 * MIB },
        backoff: DEFAULT_BACKOFF,
        drain: { revokeMs: Math.min(5000, options.stopMs), stopMs: options.stopMs },
      },
      {
        broker,
        clock: systemClock,
        keeper: sink,
        positions: positionsLog(kafka, { group, topic: POSITIONS_TOPIC, publisher: positions }),
        observe(event) {
          sink.observe(event);
          options.observe(event);
        },
      },
    );
    await runtime.start();
    rules.onChange((changed) => sink.setRules(changed));
    sink.setRules(rules.current);
    const stopped = new AbortController();
    const ticking = sink.run(options.tickMs, systemClock.sleep);
    const looking = lookForSources(sink, () => sourcesOf(admin, topics), stopped.signal, onFault);
    return {
      runtime,
      sink,
      async close(limitMs) {
        await runtime.stop(limitMs);
        await sink.close();
        stopped.abort();
        await Promise.all([ticking, looking]);
        await close(CLOSE_MS);
      },
    };
  } catch (fault) {
    await close(CLOSE_MS);
    throw fault;
  }
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
