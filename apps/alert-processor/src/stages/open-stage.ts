import { POSITIONS_TOPIC } from '@tailrace/events';
import {
  type ClusterAdmin,
  type ConsumerOptions,
  type ConsumerRuntime,
  connectAdmin,
  connectPublisher,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type KafkaSettings,
  type Publisher,
  positionsLog,
  type RuntimeEvent,
  reasonsOf,
  type Sink,
  type StoreKeeper,
  systemClock,
} from '@tailrace/kafka-kit';
import { kafkaLog, type Logger } from '@tailrace/service';
import type { RuleSource } from '../panes/rule-source.ts';
import type { RuleSet } from '../rules/rule.ts';

/** What both stages are told. */
export interface StageOptions {
  readonly kafka: KafkaSettings;
  readonly group: string;
  /** Of a member that comes back under it: see `GroupProtocol`. */
  readonly instanceId?: string | undefined;
  readonly partialsTopic: string;
  readonly rules: RuleSource;
  readonly tickMs: number;
  readonly stopMs: number;
  readonly maxPollIntervalMs: number;
  /** The clock that ticks and the ends of lanes go by. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly observe: (event: RuntimeEvent) => void;
}

/** What is open before the stage's sink is made. */
export interface StageParts {
  readonly admin: ClusterAdmin;
  readonly publisher: Publisher;
  /** How many partitions the topic of partials has. */
  readonly partitions: number;
  readonly onFault: (what: string, fault: unknown) => void;
  /** Closes a part with the stage, before those that were there before it. */
  keep<T>(part: T, close: (part: T) => Promise<unknown>): T;
}

/** A sink that works by ticks. */
export interface StageSink extends Sink {
  setRules(rules: RuleSet): void;
  observe(event: RuntimeEvent): void;
  run(tickMs: number, sleep: (ms: number, signal?: AbortSignal) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** What differs between the stages. */
export interface StagePlan<S extends StageSink> extends Required<Pick<ConsumerOptions, 'topics' | 'batch' | 'inFlightPerLane' | 'gaps'>> {
  readonly sink: S;
  readonly keeper?: StoreKeeper;
  /** What goes on beside the ticks, until it is told to stop. */
  readonly beside?: (signal: AbortSignal) => Promise<void>;
}

/** A stage as it runs. */
export interface Stage<S extends StageSink> {
  readonly runtime: ConsumerRuntime;
  readonly sink: S;
  close(limitMs: number): Promise<void>;
}

const MIB = 1024 * 1024;
/** Quick to see a member die: KIP-848's session is the broker's, 45 s and not lower by default. */
const SESSION_TIMEOUT_MS = 6000;
/** For so long a rebalance waits for the flush of what is taken away: less than a session. */
const REVOKE_MS = 5000;
const POSITIONS_PRODUCER = { topicPropagationMs: 5000 };
const CLOSE_MS = 5000;

/** Joins the group and ticks. Rejects when the cluster can not be reached; what was opened is closed then. */
export async function openStage<S extends StageSink>(
  options: StageOptions,
  plan: (parts: StageParts) => Promise<StagePlan<S>>,
): Promise<Stage<S>> {
  const { kafka, group, instanceId, partialsTopic, log, signal, rules } = options;
  const opened: (() => Promise<unknown>)[] = [];
  const keep: StageParts['keep'] = (part, close) => {
    opened.push(() => close(part));
    return part;
  };
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  const connect = async (producer?: typeof POSITIONS_PRODUCER): Promise<Publisher> => {
    const common = { producers: 1, maxInFlightBytes: 64 * MIB, log: kafkaLog(log), signal };
    return keep(await connectPublisher(kafka, { ...common, ...(producer === undefined ? {} : { producer }) }), (each) =>
      each.close(CLOSE_MS),
    );
  };
  try {
    const admin = keep(await connectAdmin(kafka), (each) => each.close());
    const publisher = await connect();
    const positions = await connect(POSITIONS_PRODUCER);
    const [partials] = await admin.readTopics([partialsTopic]);
    if (partials === undefined) throw new Error(`there is no topic ${partialsTopic}`);
    const onFault = (what: string, fault: unknown) => log.warn(`could not ${what}, and tries again: ${reasonsOf(fault)}`);
    const { sink, keeper, beside, ...consumes } = await plan({ admin, publisher, partitions: partials.partitions, onFault, keep });
    const { maxPollIntervalMs, stopMs } = options;
    const runtime = createConsumerRuntime(
      {
        ...consumes,
        group,
        sink,
        start: 'latest',
        rewinds: true,
        buffer: { pauseAtBytes: 12 * MIB, resumeAtBytes: 6 * MIB },
        backoff: DEFAULT_BACKOFF,
        drain: { revokeMs: Math.min(REVOKE_MS, stopMs), stopMs },
      },
      {
        broker: createNativeConsumer(kafka, {
          group,
          protocol: { kind: 'classic', sessionTimeoutMs: SESSION_TIMEOUT_MS, ...(instanceId === undefined ? {} : { instanceId }) },
          maxPollIntervalMs,
        }),
        clock: systemClock,
        ...(keeper === undefined ? {} : { keeper }),
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
    const working = [sink.run(options.tickMs, systemClock.sleep), beside?.(stopped.signal)];
    return {
      runtime,
      sink,
      async close(limitMs) {
        await runtime.stop(limitMs);
        await sink.close();
        stopped.abort();
        await Promise.all(working);
        await closeAll();
      },
    };
  } catch (fault) {
    await closeAll();
    throw fault;
  }
}
