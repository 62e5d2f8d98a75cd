import type { BrokerConsumer, RawRecord, TopicPartition } from '@tailrace/kafka-kit';
import type { ChainId, LakeRecord, LogRange, OffsetRange, ReadLog } from '@tailrace/lake';
import { NotVoid, TopicMadeAnew } from './faults.ts';

const MAX_POLL_RECORDS = 1000;
const POLL_MS = 500;
const LOOKUP_MS = 10_000;
const CLOSE_MS = 5_000;
/** No record for so long while records are there: the broker is away. */
const STALLED_MS = 30_000;

/** The log does not hold what it must hold. */
class UnreadableRange extends Error {
  constructor(chain: ChainId, what: string) {
    super(`Partition ${chain.partition} of ${chain.topic} can not be read again for the lake: ${what}.`);
    this.name = 'UnreadableRange';
  }
}

/**
 * Reads exactly [first, next) of a partition by explicit offsets, without any group. Rejects, to be tried again, rather than ending
 * early: a short read would become a short object that stands for ever.
 */
export function logRangeReader(connect: () => BrokerConsumer): ReadLog {
  return async (chain, first, next): Promise<LogRange> => {
    const consumer = connect();
    let reading = false;
    try {
      const from = await startOf(consumer, chain, { first, next });
      if (from >= next) return { kind: 'nothing-left' };
      reading = true;
      return { kind: 'records', from, records: records(consumer, chain, from, next) };
    } finally {
      if (!reading) await consumer.close(CLOSE_MS);
    }
  };
}

/** Sees whether a range holds no readable record, as far as the log still has it: the first that is delivered must lie behind it. Rejects with NotVoid otherwise. */
export function voidReader(connect: () => BrokerConsumer): (chain: ChainId, range: OffsetRange) => Promise<void> {
  return async (chain, range) => {
    const consumer = connect();
    try {
      const from = await startOf(consumer, chain, range);
      if (from >= range.next) return;
      consumer.assign([{ topic: chain.topic, partition: chain.partition, nextToRead: from }]);
      const startedMs = performance.now();
      for (;;) {
        const [record] = await consumer.poll(1, POLL_MS);
        if (record !== undefined && record.offset < range.next) throw new NotVoid(chain, range, record.offset);
        if (record !== undefined) return;
        if (performance.now() - startedMs > STALLED_MS)
          throw new UnreadableRange(chain, `nothing came behind offset ${range.next - 1} within ${STALLED_MS} ms`);
      }
    } finally {
      await consumer.close(CLOSE_MS);
    }
  };
}

/** Connects, and says where the range begins in the log as it is: at its first offset or at the log's start. */
async function startOf(consumer: BrokerConsumer, chain: ChainId, { first, next }: OffsetRange): Promise<number> {
  await consumer.connect([], {
    rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
    commit: () => {},
    log: () => {},
  });
  const facts = await consumer.facts(chain, LOOKUP_MS);
  if (facts.incarnation !== chain.incarnation) throw new TopicMadeAnew(chain, facts.incarnation);
  if (facts.logEnd < next) throw new UnreadableRange(chain, `its log ends at ${facts.logEnd}, and offsets up to ${next - 1} were claimed`);
  return Math.max(first, facts.logStart);
}

async function* records(consumer: BrokerConsumer, chain: ChainId, from: number, next: number): AsyncIterable<readonly LakeRecord[]> {
  const tp: TopicPartition = { topic: chain.topic, partition: chain.partition };
  try {
    consumer.assign([{ ...tp, nextToRead: from }]);
    let expected = from;
    let deliveredMs = performance.now();
    while (expected < next) {
      const polled = await consumer.poll(MAX_POLL_RECORDS, POLL_MS);
      const wanted = polled.filter(({ offset }) => offset < next);
      if (wanted.length > 0) deliveredMs = performance.now();
      else if (performance.now() - deliveredMs > STALLED_MS)
        throw new UnreadableRange(chain, `offset ${expected} did not come within ${STALLED_MS} ms`);
      for (const { offset } of wanted) {
        if (offset !== expected) throw new UnreadableRange(chain, `offset ${offset} came where ${expected} was next`);
        expected++;
      }
      if (wanted.length > 0) yield wanted.map(toLakeRecord);
      else if (polled.length > 0) throw new UnreadableRange(chain, `offset ${polled[0]?.offset} came where ${expected} was next`);
    }
  } finally {
    await consumer.close(CLOSE_MS);
  }
}

function toLakeRecord({ offset, timestampMs, key, value, headers }: RawRecord): LakeRecord {
  return { offset, timestampMs, key, value, headers };
}
