import type { BrokerConsumer } from '../broker/broker-consumer.ts';
import type { GroupMembership } from '../broker/membership.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import { partitionKey, type RawRecord, type TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';

/** Offsets `[from, to)` of a partition; `to` is at most its high watermark. */
export interface LogRange extends TopicPartition {
  readonly from: number;
  readonly to: number;
}

const MAX_POLL_RECORDS = 1000;
const POLL_MS = 500;
/** So many polls that bring nothing, one behind the other, say that nothing waits inside the client. */
const EMPTY_POLLS = 2;
const CLOSE_MS = 5000;
const MAX_POLL_INTERVAL_MS = 300_000;
/** Nothing for so long while records are there: the brokers are away. */
const STALLED_MS = 30_000;

/** Reads ranges on the real cluster, without touching any group. Rejects when the cluster can not be reached. */
export function readRanges(settings: KafkaSettings, ranges: readonly LogRange[]): AsyncGenerator<readonly RawRecord[], void> {
  return readRangesWith(createNativeConsumer(settings, readerMembership(settings)), ranges);
}

/** What a consumer is made with that joins no group. */
export function readerMembership(settings: KafkaSettings): GroupMembership {
  return { group: `${settings.clientId}.reader`, protocol: { kind: 'consumer' }, maxPollIntervalMs: MAX_POLL_INTERVAL_MS };
}

/**
 * Reads each range to its end, in offset order per partition, by explicit offsets. It ends when every range was read, never because
 * nothing came for a while: that rejects. Closes the consumer.
 */
export async function* readRangesWith(consumer: BrokerConsumer, ranges: readonly LogRange[]): AsyncGenerator<readonly RawRecord[], void> {
  if (ranges.some(({ from, to }) => from < to)) yield* connectedRead(consumer, async () => ranges);
}

/**
 * Reads what a partition holds, up to its end by a look-up begun after the call. Closes the consumer. Rejects as `readRangesWith`, and where there is
 * no such topic.
 */
export function readPartition(consumer: BrokerConsumer, tp: TopicPartition, timeoutMs: number): AsyncGenerator<readonly RawRecord[], void> {
  return connectedRead(consumer, async () => {
    const { logStart, logEnd } = await consumer.facts(tp, timeoutMs);
    return [{ ...tp, from: logStart, to: logEnd }];
  });
}

/** Connects, asks what is to be read, and reads it. */
async function* connectedRead(
  consumer: BrokerConsumer,
  find: () => Promise<readonly LogRange[]>,
): AsyncGenerator<readonly RawRecord[], void> {
  await consumer.connect([], {
    rebalance: ({ kind, partitions }) => (kind === 'assigned' ? consumer.assign([]) : consumer.unassign(partitions)),
    commit: () => {},
    log: () => {},
  });
  try {
    const ranges = await find();
    const open = new Map(ranges.filter(({ from, to }) => from < to).map((range) => [partitionKey(range), { ...range }]));
    if (open.size === 0) return;
    consumer.assign([...open.values()].map(({ topic, partition, from }) => ({ topic, partition, nextToRead: from })));
    let heardMs = performance.now();
    let emptyPolls = 0;
    while (open.size > 0) {
      const fetched = new Map([...open].map(([key, range]) => [key, consumer.fetchPosition(range) ?? 0]));
      const polled = await consumer.poll(MAX_POLL_RECORDS, POLL_MS);
      const wanted = polled.filter((record) => record.offset < (open.get(partitionKey(record))?.to ?? 0));
      emptyPolls = polled.length > 0 ? 0 : emptyPolls + 1;
      if (wanted.length > 0) yield wanted;
      for (const { topic, partition, offset } of polled) {
        const range = open.get(partitionKey({ topic, partition }));
        if (range !== undefined) range.from = Math.max(range.from, offset + 1);
      }
      let ended = 0;
      for (const [key, range] of open) {
        // A range may end in offsets that hold no record: then only the client's own position tells. That is of what was fetched, and megabytes of it
        // may wait inside the client: what it was before a poll is believed once polls find nothing there, else a slow reader would lose them.
        if (Math.max(range.from, emptyPolls < EMPTY_POLLS ? 0 : (fetched.get(key) ?? 0)) < range.to) continue;
        open.delete(key);
        consumer.unassign([{ topic: range.topic, partition: range.partition }]);
        ended += 1;
      }
      if (polled.length > 0 || ended > 0) heardMs = performance.now();
      else if (performance.now() - heardMs > STALLED_MS) throw new StalledRead([...open.values()]);
    }
  } finally {
    await consumer.close(CLOSE_MS);
  }
}

class StalledRead extends Error {
  constructor(left: readonly LogRange[]) {
    const [first] = left;
    super(
      `Kafka gave nothing for ${STALLED_MS / 1000} s of ${first?.topic}, partition ${first?.partition} from offset ${first?.from} on, which holds records up to ${first?.to}: try again when its brokers answer.`,
    );
    this.name = 'StalledRead';
  }
}
