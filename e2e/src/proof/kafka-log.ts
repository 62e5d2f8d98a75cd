import { type BrokerConsumer, createNativeConsumer, type KafkaSettings, type RawRecord } from '@tailrace/kafka-kit';
import { type Place, placeOf } from './records.ts';

export const PARTITIONS = 12;
const LOOKUP_MS = 20_000;
const POLL_MS = 500;
const STALLED_MS = 60_000;
/** A reader of its own wants no partition from the group; no topic can have this name, so it never gets one. */
const NO_TOPIC = '^~$';

/** How far a log was read. */
export interface LogExtent {
  readonly incarnation: string;
  /** The high watermark of each partition, up to which was read. */
  readonly ends: readonly number[];
}

export interface LogContent extends LogExtent {
  /** The value of each record, by its place. */
  readonly values: ReadonlyMap<Place, Buffer>;
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

/** Every record's value. */
export async function readLog(settings: KafkaSettings, topic: string): Promise<LogContent> {
  const values = new Map<Place, Buffer>();
  const extent = await walkLog(settings, topic, ({ incarnation }) => ({ partition, offset, value }) => {
    if (value === null) throw new Error(`partition ${partition}, offset ${offset}: nobody posted a tombstone`);
    values.set(placeOf(incarnation, partition, offset), value);
  });
  return { ...extent, values };
}

/**
 * Reads every partition from its start to its high watermark, and shows each record to what `begin` gives, in the order of its partition.
 * @throws Error when an offset does not come: nothing else than the log's end may end the reading
 */
export async function walkLog(
  settings: KafkaSettings,
  topic: string,
  begin: (extent: LogExtent) => (record: RawRecord) => void,
): Promise<LogExtent> {
  return await withConsumer(settings, async (consumer) => {
    const facts = await marks(consumer, topic);
    const [incarnation = ''] = facts.map((each) => each.incarnation);
    const extent = { incarnation, ends: facts.map(({ logEnd }) => logEnd) };
    const visit = begin(extent);
    const next = facts.map(({ logStart }) => logStart);
    const behind = () => facts.flatMap(({ logEnd }, partition) => ((next[partition] ?? 0) < logEnd ? [partition] : []));
    consumer.assign(behind().map((partition) => ({ topic, partition, nextToRead: next[partition] ?? 0 })));
    let deliveredMs = performance.now();
    while (behind().length > 0) {
      const records = await consumer.poll(5000, POLL_MS);
      if (records.length > 0) deliveredMs = performance.now();
      else if (performance.now() - deliveredMs > STALLED_MS)
        throw new Error(`partitions ${behind()} of ${topic} delivered nothing for ${STALLED_MS} ms`);
      for (const record of records) {
        const { partition, offset } = record;
        if (offset >= (facts[partition]?.logEnd ?? 0)) continue;
        if (offset !== next[partition]) throw new Error(`partition ${partition}: offset ${offset} came where ${next[partition]} was next`);
        next[partition] = offset + 1;
        visit(record);
      }
    }
    return extent;
  });
}
