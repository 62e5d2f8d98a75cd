import { type BrokerConsumer, createNativeConsumer, type KafkaSettings } from '@tailrace/kafka-kit';
import { type Place, placeOf } from './records.ts';

const PARTITIONS = 12;
const LOOKUP_MS = 20_000;
const POLL_MS = 500;
const STALLED_MS = 60_000;
/** A reader of its own wants no partition from the group; no topic can have this name, so it never gets one. */
const NO_TOPIC = '^~$';

export interface LogContent {
  /** The value of each record, by its place. */
  readonly values: ReadonlyMap<Place, Buffer>;
  readonly incarnation: string;
  /** The high watermark of each partition, up to which was read. */
  readonly ends: readonly number[];
}

async function withConsumer<T>(settings: KafkaSettings, work: (consumer: BrokerConsumer) => Promise<T>): Promise<T> {
  const consumer = createNativeConsumer(settings, {
    group: 'tailrace-e2e',
    protocol: { kind: 'consumer' },
    maxPollIntervalMs: 300_000,
  });
  try {
    await consumer.connect([NO_TOPIC], {
      rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
      commit: () => {},
      log: () => {},
    });
    return await work(consumer);
  } finally {
    await consumer.close(LOOKUP_MS);
  }
}

function marks(consumer: BrokerConsumer, topic: string) {
  return Promise.all(Array.from({ length: PARTITIONS }, (_, partition) => consumer.facts({ topic, partition }, LOOKUP_MS)));
}

/** The high watermark of each partition. */
export async function logEnds(settings: KafkaSettings, topic: string): Promise<number[]> {
  return await withConsumer(settings, async (consumer) => (await marks(consumer, topic)).map(({ logEnd }) => logEnd));
}

/**
 * Reads every partition from its start to its high watermark.
 * @throws Error when an offset does not come: nothing else than the log's end may end the reading
 */
export async function readLog(settings: KafkaSettings, topic: string): Promise<LogContent> {
  return await withConsumer(settings, async (consumer) => {
    const facts = await marks(consumer, topic);
    const [incarnation = ''] = facts.map((each) => each.incarnation);
    const next = facts.map(({ logStart }) => logStart);
    const values = new Map<Place, Buffer>();
    const behind = () => facts.flatMap(({ logEnd }, partition) => ((next[partition] ?? 0) < logEnd ? [partition] : []));
    consumer.assign(behind().map((partition) => ({ topic, partition, nextToRead: next[partition] ?? 0 })));
    let deliveredMs = performance.now();
    while (behind().length > 0) {
      const records = await consumer.poll(5000, POLL_MS);
      if (records.length > 0) deliveredMs = performance.now();
      else if (performance.now() - deliveredMs > STALLED_MS)
        throw new Error(`partitions ${behind()} of ${topic} delivered nothing for ${STALLED_MS} ms`);
      for (const { partition, offset, value } of records) {
        if (offset >= (facts[partition]?.logEnd ?? 0)) continue;
        if (offset !== next[partition]) throw new Error(`partition ${partition}: offset ${offset} came where ${next[partition]} was next`);
        if (value === null) throw new Error(`partition ${partition}, offset ${offset}: nobody posted a tombstone`);
        next[partition] = offset + 1;
        values.set(placeOf(incarnation, partition, offset), value);
      }
    }
    return { values, incarnation, ends: facts.map(({ logEnd }) => logEnd) };
  });
}
