import type { BrokerConsumer, PartitionFacts, RawRecord, TopicPartition } from '@tailrace/kafka-kit';
import { behindHoles, type ChainId, type LakeRecord, type LogRange, type OffsetRange, type RepairPorts } from '@tailrace/lake';
import { TopicMadeAnew } from './faults.ts';

const MAX_POLL_RECORDS = 1000;
const POLL_MS = 500;
const LOOKUP_MS = 10_000;
const CLOSE_MS = 5_000;
/** No record for so long while records are there: the broker is away. */
const STALLED_MS = 30_000;

/** The log does not hold what it must hold. */
export class UnreadableRange extends Error {
  constructor(chain: ChainId, what: string) {
    super(`Partition ${chain.partition} of ${chain.topic} can not be read again for the lake: ${what}.`);
    this.name = 'UnreadableRange';
  }
}

/** How the log is read again, beside the group: each time with a consumer of its own, by explicit offsets. */
export interface LogAccess {
  readonly connect: () => BrokerConsumer;
  /** Whether that life of the topic is over: its log can never be read again. */
  readonly isOver: (chain: ChainId) => Promise<boolean>;
}

/**
 * Reads exactly [first, next) of a partition. Rejects, to be tried again, rather than ending early: a short read would become a short
 * object that stands for ever.
 */
export function logRangeReader(access: LogAccess): RepairPorts['readLog'] {
  return async (chain, first, next, voids): Promise<LogRange> => {
    if (await access.isOver(chain)) return { kind: 'nothing-left' };
    const consumer = access.connect();
    let reading = false;
    try {
      const from = await startOf(consumer, chain, { first, next });
      if (from >= next) return { kind: 'nothing-left' };
      reading = true;
      return { kind: 'records', from, records: records(consumer, chain, { first: from, next }, voids) };
    } finally {
      if (!reading) await consumer.close(CLOSE_MS);
    }
  };
}

/** Says where the log begins, by a look-up begun after the call; undefined where that life of the topic is over. */
export function logStartReader(access: LogAccess): RepairPorts['logStart'] {
  return async (chain) => {
    if (await access.isOver(chain)) return undefined;
    const consumer = access.connect();
    try {
      return (await factsOf(consumer, chain)).logStart;
    } finally {
      await consumer.close(CLOSE_MS);
    }
  };
}

/** Connects, and looks up the log as it is. */
export async function factsOf(consumer: BrokerConsumer, chain: ChainId): Promise<PartitionFacts> {
  await consumer.connect([], {
    rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
    commit: () => {},
    log: () => {},
  });
  const facts = await consumer.facts(chain, LOOKUP_MS);
  if (facts.incarnation !== chain.incarnation) throw new TopicMadeAnew(chain, facts.incarnation);
  return facts;
}

/** Where the range begins in the log as it is: at its first offset or at the log's start. */
export async function startOf(consumer: BrokerConsumer, chain: ChainId, { first, next }: OffsetRange): Promise<number> {
  const facts = await factsOf(consumer, chain);
  if (facts.logEnd < next) throw new UnreadableRange(chain, `its log ends at ${facts.logEnd}, and offsets up to ${next - 1} were claimed`);
  return Math.max(first, facts.logStart);
}

/** What was delivered before this look-up began is of the chain's own topic: one of the same name may have been made meanwhile. */
export async function stillThatTopic(consumer: BrokerConsumer, chain: ChainId): Promise<void> {
  const present = await consumer.incarnation(chain.topic, LOOKUP_MS);
  if (present !== chain.incarnation) throw new TopicMadeAnew(chain, present);
}

/** Polls until something comes. */
export async function nextRecords(consumer: BrokerConsumer, chain: ChainId, expected: number): Promise<readonly RawRecord[]> {
  const startedMs = performance.now();
  for (;;) {
    const polled = await consumer.poll(MAX_POLL_RECORDS, POLL_MS);
    if (polled.length > 0) return polled;
    if (performance.now() - startedMs > STALLED_MS)
      throw new UnreadableRange(chain, `offset ${expected} did not come within ${STALLED_MS} ms`);
  }
}

async function* records(
  consumer: BrokerConsumer,
  chain: ChainId,
  { first, next }: OffsetRange,
  voids: readonly OffsetRange[],
): AsyncIterable<readonly LakeRecord[]> {
  const tp: TopicPartition = { topic: chain.topic, partition: chain.partition };
  try {
    let expected = behindHoles(first, voids);
    consumer.assign([{ ...tp, nextToRead: expected }]);
    while (expected < next) {
      const batch: LakeRecord[] = [];
      for (const record of await nextRecords(consumer, chain, expected)) {
        if (expected >= next) break;
        if (record.offset !== expected) throw new UnreadableRange(chain, `offset ${record.offset} came where ${expected} was next`);
        batch.push(toLakeRecord(record));
        expected = behindHoles(expected + 1, voids);
      }
      yield batch;
    }
    await stillThatTopic(consumer, chain);
  } finally {
    await consumer.close(CLOSE_MS);
  }
}

function toLakeRecord({ offset, timestampMs, key, value, headers }: RawRecord): LakeRecord {
  return { offset, timestampMs, key, value, headers };
}
