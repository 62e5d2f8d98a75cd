import { likelyService, type SideTopic, sideTopicName } from '@tailrace/events';
import {
  type ClientLogLine,
  connectPublisher,
  type DeadLetter,
  type DeadLetterPort,
  type KafkaSettings,
  type Publisher,
  TAILRACE,
} from '@tailrace/kafka-kit';
import type { S3Config } from '@tailrace/service';

const DLQ: SideTopic = 'dlq';
const MAX_IN_FLIGHT_BYTES = 32 * 1024 * 1024;
/** Above what any topic takes: the broker decides, on compressed bytes, what is too large for it. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The topic was there at the start: one that is missing was deleted, and is told soon. A try that was wrong is followed by another. */
const TOPIC_PROPAGATION_MS = 5000;

const WAY_OUT =
  'if the records are bad indeed, restart it with INDEX_DEAD_LETTER_HALT=0 in its environment (npm start gives it to the indexer: INDEX_DEAD_LETTER_HALT=0 npm start -- --data DIR)';

/** Dead letters of one group, and the connection that they go through. */
export interface DeadLetterDesk {
  readonly port: DeadLetterPort;
  close(timeoutMs: number): Promise<void>;
}

export interface DeadLetterOptions {
  readonly group: string;
  readonly s3: S3Config;
  /** Whether a partition stops when most keys fail at once. */
  readonly halt: boolean;
  readonly log: (line: ClientLogLine) => void;
  readonly signal: AbortSignal;
}

/** The name of the topic into which a group's dead records of `source` go. */
export function deadLetterTopic(source: string, group: string): string {
  return sideTopicName(source, group, DLQ);
}

/** Connects the producer of dead letters. Rejects with BrokerError when the cluster can not be reached. */
export async function connectDeadLetters(kafka: KafkaSettings, options: DeadLetterOptions): Promise<DeadLetterDesk> {
  const { group, s3, halt, log, signal } = options;
  const publisher = await connectPublisher(kafka, {
    producers: 1,
    maxInFlightBytes: MAX_IN_FLIGHT_BYTES,
    log,
    signal,
    producer: { maxMessageBytes: MAX_MESSAGE_BYTES, topicPropagationMs: TOPIC_PROPAGATION_MS },
  });
  return deskOf(publisher, group, s3, halt);
}

function deskOf(publisher: Publisher, group: string, s3: S3Config, halt: boolean): DeadLetterDesk {
  const bucket = lazyBucket(s3);
  return {
    port: {
      publisher,
      topic: (source) => deadLetterTopic(source, group),
      unsendable: bucket.keep,
      budget: halt ? { keyOf: senderOf, wayOut: WAY_OUT, look: lookAt } : undefined,
    },
    async close(timeoutMs) {
      await publisher.close(timeoutMs);
      await bucket.close();
    },
  };
}

/** From the lake, which has every record a little later. Qualified, since OFFSET is a word of SQL, and quotes would end the shell's. */
export function lookAt({ origin: { topic, partition, offset } }: Pick<DeadLetter, 'origin'>): string {
  return `${TAILRACE} lake query "SELECT * FROM events e WHERE e.topic = '${topic}' AND e.partition = ${partition} AND e.offset = ${offset}"`;
}

/** Whose trouble a dead letter is: one bad service must not stop the others. */
function senderOf({ reason, value }: DeadLetter): string {
  return `${reason} of ${likelyService(value) ?? 'no known service'}`;
}

/** The bucket, opened when it is first needed: most indexers never need it, and its client costs memory and time. */
function lazyBucket(s3: S3Config) {
  const load = async () => {
    const { S3Store, keepUnsendable } = await import('@tailrace/lake/store');
    const store = new S3Store(s3);
    return { store, keep: (letter: DeadLetter, why: string) => keepUnsendable(store, s3.prefix, letter, why) };
  };
  let opened: ReturnType<typeof load> | undefined;
  return {
    async keep(letter: DeadLetter, why: string): Promise<void> {
      opened ??= load();
      await (await opened).keep(letter, why);
    },
    async close(): Promise<void> {
      (await opened)?.store.close();
    },
  };
}
