import { groupView } from '../admin/group-view.ts';
import { partitionKey, type RawRecord, type TopicPartition } from '../records.ts';
import type { KafkaSettings } from '../settings.ts';
import { systemClock } from '../time/clock.ts';
import { AssignmentWatch } from './assignment-watch.ts';
import {
  type BrokerConsumer,
  BrokerError,
  type BrokerHandlers,
  type ClientLogLine,
  type PartitionFacts,
  type Position,
  type RebalanceEvent,
} from './broker-consumer.ts';
import { FetchPositions, STATISTICS_MS } from './fetch-positions.ts';
import { type GroupMembership, protocolSettings } from './membership.ts';
import { Metadata } from './metadata.ts';
import { ask, CODES, kafka, nativeSettings, tellLog, toBrokerError } from './native-client.ts';
import { toRecords } from './native-record.ts';
import { TopicIdentity } from './topic-identity.ts';
import { Turns } from './turns.ts';

const COMMIT_INTERVAL_MS = 1000;
/** Partitions looked up at a time. Each holds threads of the pool for its whole time-out while Kafka is silent, and a poll needs one too. */
const LOOK_UPS = 3;
const CONNECT_TIMEOUT_MS = 10_000;
const LOOK_UP_MS = 5000;
/** Prefetch a consumer holds inside the client, outside the runtime's own bound. */
const PREFETCH_KBYTES = 16_384;

/** Of one partition in one answer, still packed. With the client's 1 MiB, twelve partitions were 100 MiB of unpacked records at a time. */
const FETCH_BYTES = 262_144;

type NativeConsumer = InstanceType<typeof kafka.KafkaConsumer>;

/** A group member on the native client. One per process role; it can not live in a worker thread. */
export function createNativeConsumer(settings: KafkaSettings, membership: GroupMembership): BrokerConsumer {
  return new NativeBrokerConsumer(settings, membership);
}

class NativeBrokerConsumer implements BrokerConsumer {
  readonly #consumer: NativeConsumer;
  readonly #identity: TopicIdentity;
  /** What was stored last and is not confirmed yet. */
  readonly #stored = new Map<string, number>();
  readonly #fetched = new FetchPositions();
  readonly #lookUps = new Turns(LOOK_UPS);
  readonly #metadata = new Metadata((topic, timeout) => ask((done) => this.#consumer.getMetadata({ topic, timeout }, done as never)));
  readonly #watch: AssignmentWatch;
  #topics: readonly string[] = [];
  #handlers: BrokerHandlers | undefined;
  #closing = false;
  /** Why this client will never deliver a record again. */
  #dead: BrokerError | undefined;
  /** Of a static member. */
  readonly #instance: { readonly group: string; readonly id: string } | undefined;
  /** Partitions are wanted back, and not given back yet. */
  #revoking = false;

  constructor(settings: KafkaSettings, membership: GroupMembership) {
    this.#watch = new AssignmentWatch({
      members: () => groupView(settings, membership.group, LOOK_UP_MS),
      owned: () => (this.#revoking ? undefined : new Set(this.#consumer.assignments().map(partitionKey))),
      rejoin: () => this.#rejoin(),
      dead: (why) => {
        this.#dead = new BrokerError(why, CODES.fatal, true);
      },
      log: (line) => this.#handlers?.log(line),
      clock: systemClock,
    });
    this.#identity = new TopicIdentity(settings);
    const { group, protocol } = membership;
    if (protocol.kind === 'classic' && protocol.instanceId !== undefined) this.#instance = { group, id: protocol.instanceId };
    // ONE argument: a second one makes the client ignore topic-level settings such as auto.offset.reset.
    this.#consumer = new kafka.KafkaConsumer({
      ...nativeSettings(settings),
      'group.id': membership.group,
      ...protocolSettings(membership.protocol),
      'max.poll.interval.ms': membership.maxPollIntervalMs,
      'enable.auto.commit': true,
      'auto.commit.interval.ms': COMMIT_INTERVAL_MS,
      // Stored by the runtime after settling; the client then commits them by its timer and on unassign.
      'enable.auto.offset.store': false,
      // A jump to the log's start shows as an unexpected offset, which the runtime classifies; `error` is told once and may be dropped.
      'auto.offset.reset': 'earliest',
      'fetch.queue.backoff.ms': 20,
      'queued.min.messages': 10_000,
      'queued.max.messages.kbytes': PREFETCH_KBYTES,
      'fetch.wait.max.ms': 100,
      'fetch.message.max.bytes': FETCH_BYTES,
      'statistics.interval.ms': STATISTICS_MS,
      rebalance_cb: (error: { code: number }, assignment: TopicPartition[]) => this.#rebalance(error.code, assignment),
      offset_commit_cb: (
        error: { code: number; message: string } | undefined,
        offsets: { topic: string; partition: number; offset: number }[],
      ) => this.#committed(error, offsets),
    });
  }

  async connect(topics: readonly string[], handlers: BrokerHandlers): Promise<void> {
    this.#handlers = handlers;
    this.#topics = topics;
    tellLog(this.#consumer, (line) => {
      this.#watch.heard(line);
      this.#heardFencing(line);
      handlers.log(line);
    });
    this.#consumer.on('event.stats', ({ message }: { message: string }) => this.#fetched.report(message));
    await ask((done) => this.#consumer.connect({ timeout: CONNECT_TIMEOUT_MS }, done));
    this.#consumer.setDefaultIsTimeoutOnlyForFirstMessage(true);
    // Without topics it only reads what it is told to, outside any group: the client refuses an empty subscription.
    if (topics.length > 0) this.#consumer.subscribe([...topics]);
  }

  async poll(maxRecords: number, timeoutMs: number): Promise<readonly RawRecord[]> {
    if (this.#dead !== undefined) throw this.#dead;
    this.#consumer.setDefaultConsumeTimeout(timeoutMs);
    return await new Promise((resolve, reject) => {
      this.#consumer.consume(maxRecords, (fault, messages) => {
        if (fault) void this.#why(toBrokerError(fault)).then(reject);
        else resolve(toRecords(messages));
      });
    });
  }

  assign(positions: readonly Position[]): void {
    for (const position of positions) this.#fetched.forget(position);
    this.#consumer.incrementalAssign(
      positions.map(({ topic, partition, nextToRead }) => ({
        topic,
        partition,
        offset: offset(nextToRead),
      })),
    );
  }

  unassign(partitions: readonly TopicPartition[]): void {
    this.#revoking = false;
    this.#consumer.incrementalUnassign(plain(partitions));
    for (const tp of partitions) this.#stored.delete(partitionKey(tp));
  }

  pause(partitions: readonly TopicPartition[]): void {
    this.#consumer.pause(plain(partitions));
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.#consumer.resume(plain(partitions));
  }

  store(positions: readonly Position[]): void {
    this.#consumer.offsetsStore(positions.map((p) => ({ topic: p.topic, partition: p.partition, offset: offset(p.nextToRead) })));
    for (const position of positions) this.#stored.set(partitionKey(position), position.nextToRead);
  }

  commitStored(): void {
    this.#consumer.commit();
  }

  facts(tp: TopicPartition, timeoutMs: number): Promise<PartitionFacts> {
    return this.#lookUps.run(() => this.#metadata.refreshedWhereStale(tp.topic, timeoutMs, () => this.#facts(tp, timeoutMs)));
  }

  incarnation(topic: string, timeoutMs: number): Promise<string | undefined> {
    return this.#identity.lookUp(topic, timeoutMs);
  }

  cachedLogEnd({ topic, partition }: TopicPartition): number | undefined {
    try {
      const { highOffset } = this.#consumer.getWatermarkOffsets(topic, partition);
      return highOffset >= 0 ? highOffset : undefined;
    } catch {
      // Safe: the client has not fetched from this partition yet; "not known" is a value here.
      return undefined;
    }
  }

  fetchPosition(partition: TopicPartition): number | undefined {
    return this.#fetched.of(partition);
  }

  async close(timeoutMs: number): Promise<void> {
    this.#closing = true;
    this.#watch.close();
    this.#identity.close();
    // The client's own disconnect takes 45 s with Kafka gone: the caller's deadline counts, then the process ends.
    await Promise.race([
      ask((done) => this.#consumer.disconnect(done)),
      new Promise<never>((_, reject) =>
        setTimeout(() => reject(new Error(`the client did not leave within ${timeoutMs} ms`)), timeoutMs).unref(),
      ),
    ]);
  }

  async #facts({ topic, partition }: TopicPartition, timeoutMs: number): Promise<PartitionFacts> {
    const [incarnation, committed, marks] = await Promise.all([
      this.incarnation(topic, timeoutMs),
      ask<{ offset?: number }[]>((done) => this.#consumer.committed([{ topic, partition }], timeoutMs, done)),
      ask<{ lowOffset: number; highOffset: number }>((done) => this.#consumer.queryWatermarkOffsets(topic, partition, timeoutMs, done)),
    ]);
    if (incarnation === undefined) throw new Error(`topic ${topic} does not exist`);
    const at = committed[0]?.offset;
    // Without a commit the client answers a logical offset below 0 or none at all.
    return { incarnation, committed: at !== undefined && at >= 0 ? at : null, logStart: marks.lowOffset, logEnd: marks.highOffset };
  }

  #rebalance(code: number, assignment: TopicPartition[]): void {
    const partitions = plain(assignment);
    if (this.#closing) {
      this.#answerInline(code, partitions);
      return;
    }
    const lost = code !== CODES.assignPartitions && this.#consumer.assignmentLost();
    const kind: RebalanceEvent['kind'] = code === CODES.assignPartitions ? 'assigned' : lost ? 'lost' : 'revoked';
    this.#revoking = kind !== 'assigned';
    this.#handlers?.rebalance({ kind, partitions });
  }

  /** The client itself says only that it can not go on, with a code that all fatal errors share. */
  #heardFencing({ message }: ClientLogLine): void {
    if (this.#instance === undefined || !message.includes('Static consumer fenced')) return;
    const why = `another process has joined the group ${this.#instance.group} under the name ${this.#instance.id}, and only the latest one of a name stays in it: give each process a KAFKA_GROUP_INSTANCE_ID of its own`;
    this.#dead ??= new BrokerError(why, CODES.fatal, true);
  }

  /** Why a poll failed. The client's log says it before the poll does, or right behind it. */
  async #why(error: BrokerError): Promise<BrokerError> {
    for (let looks = 0; looks < 100 && error.fatal && this.#instance !== undefined && this.#dead === undefined; looks += 1)
      await systemClock.sleep(20);
    return this.#dead ?? error;
  }

  /** The client gives back what it owns, leaves, and joins as a new member. */
  #rejoin(): void {
    if (this.#closing || this.#topics.length === 0) return;
    this.#consumer.unsubscribe();
    this.#consumer.subscribe([...this.#topics]);
  }

  /** Everything was drained before the close: the last revoke has nothing to wait for, and unanswered it would hang the disconnect. */
  #answerInline(code: number, partitions: TopicPartition[]): void {
    try {
      if (code === CODES.assignPartitions) this.#consumer.incrementalAssign(partitions.map((tp) => ({ ...tp, offset: 0 })));
      else this.#consumer.incrementalUnassign(partitions);
    } catch (error) {
      // Safe: a disconnect that overtook the callback refuses the answer, and needs none.
      this.#handlers?.log({ severity: 6, facility: 'CLOSE', message: `late rebalance: ${String(error)}` });
    }
  }

  #committed(error: { code: number; message: string } | undefined, offsets: { topic: string; partition: number; offset: number }[]): void {
    // Nothing was stored since the last commit: not a fault.
    if (error?.code === CODES.noOffset) return;
    const positions = offsets.flatMap((o) => (o.offset >= 0 ? [{ topic: o.topic, partition: o.partition, nextToRead: o.offset }] : []));
    if (!error) this.#forget(positions);
    this.#handlers?.commit(error ? { kind: 'failed', positions, reason: error.message } : { kind: 'committed', positions });
  }

  /**
   * On unassign the client commits what is stored once more, also when that was confirmed long ago. By then the topic may have been
   * made anew under its name, and the old position would hide the new topic's records below it.
   */
  #forget(positions: readonly Position[]): void {
    for (const { topic, partition, nextToRead } of positions) {
      const key = partitionKey({ topic, partition });
      if (this.#stored.get(key) !== nextToRead) continue;
      this.#stored.delete(key);
      try {
        this.#consumer.offsetsStore([{ topic, partition, offset: OFFSET_INVALID }]);
      } catch (error) {
        // Safe: a partition that was given away meanwhile has nothing stored any more.
        this.#handlers?.log({ severity: 7, facility: 'STORE', message: `${key}: ${String(error)}` });
      }
    }
  }
}

/** librdkafka's logical offset for "none". */
const OFFSET_INVALID = -1001;

/** The client commits 0 for an offset that is not a number: checked here, since it would rewind the group. */
function offset(nextToRead: number): number {
  if (!Number.isSafeInteger(nextToRead) || nextToRead < 0) throw new RangeError(`${nextToRead} is not an offset`);
  return nextToRead;
}

function plain(partitions: readonly TopicPartition[]): { topic: string; partition: number }[] {
  return partitions.map(({ topic, partition }) => ({ topic, partition }));
}
