import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sideTopicName } from '@tailrace/events';
import { type ClusterAdmin, connectAdmin, TopicIdentity } from '@tailrace/kafka-kit';
import { deleteRecordsBefore, produceForeign } from '@tailrace/kafka-kit/testing';
import { buildObject, type ChainId, Database, dataEntry, Ledger, lakeLayout, RowFile, S3Store } from '@tailrace/lake';
import { endpointsFromEnvironment, environmentOf } from '@tailrace/stack';
import { readReplayerConfig } from '../config.ts';
import { replayCommand } from '../replay-command.ts';
import { RunProcess } from './run-process.ts';

export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Partition 0 has one record every six minutes from here on, partition 1 one every twelve, partition 2 none. */
export const BASE_MS = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 11 * HOUR_MS;
const STEP_MS = [6 * MINUTE_MS, 12 * MINUTE_MS];
const COUNT = [100, 50];
/** Of `replay plan` for the one consumer that there is. */
export const PLAN = ['plan', '--into', 'indexer'] as const;

export const timeOf = (partition: number, offset: number): number => BASE_MS + offset * (STEP_MS[partition] ?? 0);
export const at = (partition: number, offset: number): string => new Date(timeOf(partition, offset)).toISOString();
const SIDE = { 'message.timestamp.type': 'LogAppendTime', 'max.message.bytes': '2162688' };
const eventOf = (offset: number): Buffer => Buffer.from(`{"service":"s${offset}"}`);

/** A topic with times of the test's choice and a lake, on the real servers, and the command that looks at them. */
export class ReplayBench {
  readonly topic = `replayer-test-${randomUUID().slice(0, 8)}`;
  readonly admin: ClusterAdmin;
  readonly store: S3Store;
  readonly ledger: Ledger;
  readonly #environment = { ...environmentOf(endpointsFromEnvironment()), TAILRACE_LAKE_PREFIX: this.topic };
  readonly #config = readReplayerConfig(this.#environment);
  readonly #database: Database;
  readonly #folder: string;
  readonly sideTopic = sideTopicName(this.topic, 'indexer', 'replay');
  readonly #made: string[] = [this.topic];
  readonly positionsTopic = `${this.topic}-positions`;
  readonly #processes: RunProcess[] = [];
  interrupted = new AbortController();
  incarnation = '';

  private constructor(admin: ClusterAdmin, database: Database, folder: string) {
    this.admin = admin;
    this.store = new S3Store(this.#config.s3);
    this.ledger = new Ledger(this.store, lakeLayout(this.#config.s3));
    this.#database = database;
    this.#folder = folder;
  }

  static async open(): Promise<ReplayBench> {
    const { kafka } = readReplayerConfig(environmentOf(endpointsFromEnvironment()));
    const admin = await connectAdmin({ ...kafka, clientId: 'replayer-test' });
    const bench = new ReplayBench(admin, await Database.open(), await mkdtemp(join(tmpdir(), 'tailrace-replayer-')));
    await bench.makeTopic();
    const identity = new TopicIdentity(bench.settings);
    bench.incarnation = (await identity.lookUp(bench.topic, 10_000)) ?? '';
    identity.close();
    return bench;
  }

  get settings() {
    return { ...this.#config.kafka, clientId: 'replayer-test' };
  }

  async makeTopic(): Promise<void> {
    const configs = { 'message.timestamp.type': 'CreateTime', 'retention.ms': '-1' };
    const spec = { name: this.topic, key: 'none', partitions: 3, replicationFactor: 1, configs } as const;
    await this.admin.apply([{ kind: 'create', topic: this.topic, spec }]);
  }

  /** The side channel of the indexer beside the topic, and where positions are kept. */
  async makeSideTopics(): Promise<void> {
    await this.#make(this.sideTopic, 3, SIDE);
    await this.#make(this.positionsTopic, 1, { 'cleanup.policy': 'compact' });
  }

  /** Deletes the side channel and makes it anew. */
  async remakeSideTopic(): Promise<void> {
    await this.admin.deleteTopics([this.sideTopic]);
    await this.#make(this.sideTopic, 3, SIDE);
    // Until the broker leads the new partitions it answers with an error, or for the old ones.
    for (let tries = 0; ; tries += 1) {
      const ends = await this.admin.groupLag('nobody', [this.sideTopic]).catch(() => []);
      if (ends.length === 3 && ends.every(({ logEnd }) => logEnd === 0)) return;
      if (tries > 100) throw new Error(`${this.sideTopic} is not there anew`);
      await sleep(100);
    }
  }

  async #make(name: string, partitions: number, configs: Readonly<Record<string, string>>): Promise<void> {
    await this.admin.apply([{ kind: 'create', topic: name, spec: { name, key: 'none', partitions, replicationFactor: 1, configs } }]);
    if (!this.#made.includes(name)) this.#made.push(name);
  }

  chain(partition: number): ChainId {
    return { topic: this.topic, incarnation: this.incarnation, partition };
  }

  /** Writes records with these times, each as a batch of its own: the time index is of batches. */
  async write(partition: number, timesMs: readonly number[]): Promise<void> {
    for (const [i, timestampMs] of timesMs.entries())
      await produceForeign(this.settings, this.topic, [
        { partition, key: null, value: eventOf(i), headers: new Map(), timestampMs: BigInt(timestampMs) },
      ]);
  }

  /** All records of partitions 0 and 1; archived [0, 60) of partition 0 in entries of ten, and [0, 20) of partition 1 in entries of five. */
  async fill(): Promise<void> {
    for (const [partition, count] of COUNT.entries())
      await this.write(
        partition,
        Array.from({ length: count }, (_, i) => timeOf(partition, i)),
      );
    for (let first = 0; first < 60; first += 10) await this.archive(0, first, first + 10);
    for (let first = 0; first < 20; first += 5) await this.archive(1, first, first + 5);
  }

  /** Records with these times in one batch. */
  async writeBatch(partition: number, timesMs: readonly number[], value = eventOf): Promise<void> {
    await produceForeign(
      this.settings,
      this.topic,
      timesMs.map((timestampMs, i) => ({ partition, key: null, value: value(i), headers: new Map(), timestampMs: BigInt(timestampMs) })),
    );
  }

  /** How many records the indexer's side channel holds. */
  async sideRecords(): Promise<number> {
    return (await this.admin.groupLag('nobody', [this.sideTopic])).reduce((sum, { logEnd }) => sum + logEnd, 0);
  }

  /** `tailrace replay ...` as a process that can be killed. */
  process(...argv: readonly string[]): RunProcess {
    const run = new RunProcess(this.#environment, this.topic, this.positionsTopic, argv);
    this.#processes.push(run);
    return run;
  }

  /** Ends every run. One replay at a time goes into a consumer: what a failed test left open, all later ones would wait for. */
  async endRuns(): Promise<void> {
    this.interrupted.abort();
    await Promise.all(this.#processes.map((run) => run.kill()));
    this.interrupted = new AbortController();
    for (const { id, state } of (await this.json('ls')).plans)
      if (state === 'begun' || state === 'sent') await this.replay('cancel', String(id));
  }

  async deleteBefore(partition: number, offset: number, topic = this.topic): Promise<void> {
    await deleteRecordsBefore(this.settings, { topic, partition }, offset);
  }

  /** Runs `tailrace replay ...` in this process. */
  async replay(...argv: readonly string[]): Promise<{ readonly code: number; readonly out: string; readonly told: string }> {
    let out = '';
    let told = '';
    const code = await replayCommand(['replay', ...argv], {
      out: (text) => {
        out += text;
      },
      note: (text) => {
        told += text;
      },
      nowMs: Date.now,
      environment: this.#environment,
      topics: [this.topic],
      positionsTopic: this.positionsTopic,
      signal: this.interrupted.signal,
    });
    return { code, out, told };
  }

  // biome-ignore lint/suspicious/noExplicitAny: the printed JSON is what is looked at.
  async json(...argv: readonly string[]): Promise<any> {
    return JSON.parse((await this.replay(...argv, '--json')).out);
  }

  async close(): Promise<void> {
    await this.admin.deleteTopics(this.#made);
    await this.admin.close();
    this.#database.close();
    this.store.close();
    await rm(this.#folder, { recursive: true });
  }

  /** Archives offsets `[first, next)` as one object, by the lake's own writer. */
  async archive(partition: number, first: number, next: number): Promise<void> {
    const file = await RowFile.create(join(this.#folder, randomUUID()));
    const offsets = Array.from({ length: next - first }, (_, i) => first + i);
    await file.append(
      offsets.map((offset) => ({ offset, timestampMs: timeOf(partition, offset), key: null, value: eventOf(offset), headers: [] })),
    );
    await file.close();
    const range = { first, next, voids: [] };
    const chain = this.chain(partition);
    const built = await buildObject(this.#database, chain, { file, ...range }, join(this.#folder, `${randomUUID()}.parquet`));
    const entry = dataEntry(this.ledger.lake, chain, range, built.totals, randomUUID());
    await this.ledger.claim(chain, entry);
    await this.store.putIfAbsent(entry.object, await readFile(built.path));
  }
}
