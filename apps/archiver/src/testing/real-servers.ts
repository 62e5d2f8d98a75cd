import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClusterAdmin,
  connectAdmin,
  connectPublisher,
  createNativeConsumer,
  type KafkaSettings,
  type OutgoingRecord,
} from '@tailrace/kafka-kit';
import { TransactionalProducer } from '@tailrace/kafka-kit/testing';
import {
  type ChainId,
  Database,
  fetchObjects,
  type LakeRecord,
  Ledger,
  lakeLayout,
  listDataObjects,
  type ObjectStore,
  readParquet,
  S3Store,
} from '@tailrace/lake';
import { footerOf } from '@tailrace/lake/testing';
import { loadConfig } from '@tailrace/service';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';
import type { ArchiveEvent } from '../archive-events.ts';
import { createArchiver } from '../archiver.ts';
import { archiverVariables } from '../config.ts';
import { logRangeReader } from '../log-range-reader.ts';
import { Spool } from '../spool.ts';

export const environment = environmentOf(endpointsFromEnvironment());
const kafka: KafkaSettings = {
  bootstrapServers: environment.KAFKA_BOOTSTRAP_SERVERS ?? '',
  clientId: 'archiver-test',
  securityProtocol: 'plaintext',
};
const PARTITIONS = 2;
const READ_GROUP = 'archiver-test.read';

/** A topic and a lake of a test's own, on the real servers. */
export class Bench {
  readonly id = randomUUID().slice(0, 8);
  readonly topic = `archiver-test-${this.id}`;
  readonly config = loadConfig(archiverVariables, {
    ...environment,
    ARCHIVER_DATA_DIR: join(tmpdir(), `tailrace-bench-${this.id}`),
    ARCHIVER_IDLE_MS: '300',
    TAILRACE_LAKE_PREFIX: `archiver-test-${this.id}`,
    TAILRACE_STOP_TIMEOUT_MS: '10000',
  });
  readonly layout = lakeLayout(this.config.s3);
  readonly store = new S3Store(this.config.s3);
  readonly ledger = new Ledger(this.store, this.layout);
  readonly #closing: (() => Promise<void>)[] = [];

  static async open(): Promise<Bench> {
    const bench = new Bench();
    const admin = await connectAdmin(kafka);
    await bench.make(admin);
    bench.#closing.push(async () => {
      await admin.deleteTopics([bench.topic]);
      await admin.close();
    });
    return bench;
  }

  /** Makes its topic, also anew. */
  async make(admin: ClusterAdmin): Promise<void> {
    const spec = { name: this.topic, partitions: PARTITIONS, replicationFactor: 1, configs: {}, key: 'customer' } as const;
    await admin.apply([{ kind: 'create', topic: this.topic, spec }]);
  }

  async publish(records: readonly Omit<OutgoingRecord, 'topic'>[]): Promise<void> {
    const publisher = await connectPublisher(kafka, { producers: 1, maxInFlightBytes: 2 ** 26, log: () => {} });
    const fates = await publisher.publish(
      records.map((record) => ({ ...record, topic: this.topic })),
      { deadlineMs: 20_000 },
    );
    await publisher.close(5_000);
    const failed = fates.filter(({ kind }) => kind !== 'acknowledged');
    if (failed.length > 0) throw new Error(`not published: ${JSON.stringify(failed[0])}`);
  }

  /** Lends a transactional producer. */
  async transactions(work: (producer: TransactionalProducer, topic: string) => Promise<void>): Promise<void> {
    const producer = await TransactionalProducer.connect(kafka);
    try {
      await work(producer, this.topic);
    } finally {
      await producer.close();
    }
  }

  /** An archiver of its own group, so that two of them own the same partitions: what a zombie and its successor do. */
  async archiver(group: string, store: ObjectStore = this.store) {
    const made = await this.unstarted(group, store);
    await made.runtime.start();
    const stop = async () => {
      const report = await made.runtime.stop();
      await made.close();
      return report;
    };
    this.#closing.push(async () => void (await stop()));
    return { ...made, stop };
  }

  /** The same before its runtime was started: its sink can be told what a runtime would tell it. */
  async unstarted(group: string, store: ObjectStore = this.store) {
    const database = await Database.open();
    const spool = await Spool.open(join(this.config.dataFolder, randomUUID()));
    const events: ArchiveEvent[] = [];
    const made = createArchiver(
      this.config,
      { store, database, spool, observeArchive: (event) => events.push(event), observeRuntime: () => {} },
      { group: `${this.id}-${group}`, topics: [this.topic] },
    );
    this.#closing.push(async () => database.close());
    const close = async (): Promise<void> => {
      await made.sink.close();
      made.close();
    };
    return { ...made, events, spool, close };
  }

  /** Every partition of the topic as a chain. */
  async chains(): Promise<ChainId[]> {
    const consumer = createNativeConsumer(kafka, { group: READ_GROUP, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 });
    await consumer.connect([], { rebalance: () => {}, commit: () => {}, log: () => {} });
    const incarnation = (await consumer.incarnation(this.topic, 10_000)) ?? '';
    await consumer.close(5_000);
    return Array.from({ length: PARTITIONS }, (_, partition) => ({ topic: this.topic, incarnation, partition }));
  }

  /** `[first, next)` of a partition, as Kafka has it. */
  async inKafka(chain: ChainId, first: number, next: number): Promise<LakeRecord[]> {
    const read = logRangeReader({
      connect: () => createNativeConsumer(kafka, { group: READ_GROUP, protocol: { kind: 'consumer' }, maxPollIntervalMs: 300_000 }),
      isOver: async () => false,
    });
    const range = await read(chain, first, next, []);
    const all: LakeRecord[] = [];
    if (range.kind === 'records') for await (const records of range.records) all.push(...records);
    return all;
  }

  /** Every record of a partition in the lake, in the order of their offsets. */
  async inLake(chain: ChainId): Promise<LakeRecord[]> {
    const folder = await mkdtemp(join(tmpdir(), 'tailrace-in-lake-'));
    const database = await Database.open();
    try {
      const own = (await listDataObjects(this.store, this.layout)).filter(({ key }) => key.includes(`+${chain.partition}+`));
      const files = await fetchObjects(
        this.store,
        [...own].sort((a, b) => (a.key.slice(-28) < b.key.slice(-28) ? -1 : 1)),
        folder,
      );
      const all: LakeRecord[] = [];
      for (const file of files)
        for await (const batch of readParquet(database, file, (await footerOf(file)).description)) all.push(...batch);
      return all;
    } finally {
      database.close();
      await rm(folder, { recursive: true });
    }
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    this.store.close();
    await rm(this.config.dataFolder, { recursive: true, force: true });
  }
}
