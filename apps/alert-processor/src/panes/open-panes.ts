import { POSITIONS_TOPIC } from '@tailrace/events';
import {
  type ConsumerRuntime,
  connectAdmin,
  connectPublisher,
  connectTimeReader,
  createConsumerRuntime,
  createNativeConsumer,
  DEFAULT_BACKOFF,
  type KafkaSettings,
  partitionKey,
  positionsLog,
  type RuntimeEvent,
  reasonsOf,
  systemClock,
} from '@tailrace/kafka-kit';
import { kafkaLog, type Logger } from '@tailrace/service';
import { LaneStarts } from './lane-starts.ts';
import type { LeftOut } from './left-out.ts';
import { PanesSink } from './panes-sink.ts';
import { PartialsTopic } from './partials-topic.ts';
import type { RuleSource } from './rule-source.ts';

export interface OpenPanesOptions {
  readonly kafka: KafkaSettings;
  readonly group: string;
  readonly topics: readonly string[];
  /** Where cells and marks go. */
  readonly partialsTopic: string;
  readonly rules: RuleSource;
  readonly tickMs: number;
  readonly stopMs: number;
  readonly maxPollIntervalMs: number;
  /** The clock that the ends of lanes are told by. */
  readonly nowMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly observe: (event: RuntimeEvent) => void;
  readonly onRetry: (records: number) => void;
  readonly onPublished: (cells: number, leftOut: readonly LeftOut[]) => void;
}

/** Stage 1 as it runs. */
export interface Panes {
  readonly runtime: ConsumerRuntime;
  readonly sink: PanesSink;
  close(limitMs: number): Promise<void>;
}

const MIB = 1024 * 1024;
/** Quick to see a member die: KIP-848's session is the broker's, 45 s and not lower by default. */
const SESSION_TIMEOUT_MS = 6000;
/** Records wait for others no longer than this: it counts into the time to an alert. */
const BATCH_AGE_MS = 50;
const POSITIONS_PRODUCER = { topicPropagationMs: 5000 };
const CLOSE_MS = 5000;

/** Joins the group and counts. Rejects when the cluster can not be reached; what was opened is closed then. */
export async function openPanes(options: OpenPanesOptions): Promise<Panes> {
  const { kafka, group, partialsTopic, log, signal, rules } = options;
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
    const reader = await connectTimeReader(kafka, group);
    keep(reader, () => reader.close());
    const publisher = await connect();
    keep(publisher, (ms) => publisher.close(ms));
    const positions = await connect(POSITIONS_PRODUCER);
    keep(positions, (ms) => positions.close(ms));
    const [found] = await admin.readTopics([partialsTopic]);
    if (found === undefined) throw new Error(`there is no topic ${partialsTopic}`);
    const partials = new PartialsTopic({
      topic: partialsTopic,
      partitions: found.partitions,
      publisher,
      backoff: DEFAULT_BACKOFF,
      sleep: systemClock.sleep,
      onRetry(records, reason) {
        options.onRetry(records);
        log.warn(`${records} records of ${partialsTopic} are not acknowledged, and are written again: ${reason}`);
      },
    });
    const sink = new PanesSink(rules.current, {
      starts: new LaneStarts({ reader, admin, nowMs: options.nowMs, sleep: systemClock.sleep }, rules.current),
      partials,
      admin,
      firstTime: async ({ topic, partition }, first) =>
        (await reader.firstTimes([{ topic, partition, first }])).get(partitionKey({ topic, partition })),
      nowMs: options.nowMs,
      onPublished: options.onPublished,
      onFault: (what, fault) => log.warn(`could not ${what}, and tries again: ${reasonsOf(fault)}`),
    });
    const broker = createNativeConsumer(kafka, {
      group,
      protocol: { kind: 'classic', sessionTimeoutMs: SESSION_TIMEOUT_MS },
      maxPollIntervalMs: options.maxPollIntervalMs,
    });
    const runtime = createConsumerRuntime(
      {
        group,
        topics: options.topics,
        sink,
        start: 'latest',
        rewinds: true,
        gaps: {
          kind: 'fresh-first',
          async freshFrom(partition) {
            const { reachMs, latenessMs, paneMs } = rules.current;
            const timeMs = options.nowMs() - reachMs - latenessMs - paneMs;
            const [found] = await admin.offsetsAtTimes([{ ...partition, timeMs }]);
            return found?.offset;
          },
        },
        batch: { maxRecords: 1000, maxBytes: MIB, maxAgeMs: BATCH_AGE_MS },
        // A batch is answered a tick later: until then the lane goes on.
        inFlightPerLane: 64,
        buffer: { pauseAtBytes: 32 * MIB, resumeAtBytes: 16 * MIB },
        backoff: DEFAULT_BACKOFF,
        drain: { revokeMs: Math.min(5000, options.stopMs), stopMs: options.stopMs },
      },
      {
        broker,
        clock: systemClock,
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
    const ticking = sink.run(options.tickMs, systemClock.sleep);
    return {
      runtime,
      sink,
      async close(limitMs) {
        await runtime.stop(limitMs);
        await sink.close();
        await ticking;
        await close(CLOSE_MS);
      },
    };
  } catch (fault) {
    await close(CLOSE_MS);
    throw fault;
  }
}
