import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsumerRuntime, commitGroupOffsets, type RuntimeEvent } from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { Database, LakeHistory, Ledger, S3Store } from '@tailrace/lake';
import { Cluster } from '../cluster/cluster.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, LAKE, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { countRows } from '../proof/lake-rows.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { Feed } from '../torture/feed.ts';
import { GROUP, startReader } from './reader.ts';
import { Receiver } from './receiver.ts';

export interface RestoreOptions {
  /** So many are read from the lake, and a hundredth as many from Kafka behind them. */
  readonly records: number;
  /** How often the reader is stopped on the way, and goes on. */
  readonly stops: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

export interface RestoreResult {
  readonly table: readonly (readonly [what: string, value: string])[];
  readonly findings: readonly string[];
}

const LOGS = join(RESULTS_FOLDER, 'restore-logs');
const LIMIT_MS = 1_800_000;
const TIMEOUT_MS = 20_000;
const LIVE_SHARE = 0.01;

/**
 * Writes records, has them archived, deletes all of them from Kafka, and lets a group that never read one come back: every record once, in order per key,
 * from the lake and then from Kafka. After a finding or a failure the logs of all processes are kept.
 */
export async function restore(options: RestoreOptions): Promise<RestoreResult> {
  rmSync(LOGS, { recursive: true, force: true });
  const cluster = await Cluster.start({ brokers: 1, jit: 'fast-start', signal: options.signal, report: options.report });
  let kept = true;
  try {
    const failed = cluster.stack.failed.then((failure) => {
      throw failure;
    });
    const stopped = new Promise<never>((_, reject) =>
      options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true }),
    );
    const result = await Promise.race([run(cluster, options), failed, stopped]);
    kept = result.findings.length > 0;
    return result;
  } finally {
    // Before the folder goes.
    if (kept && existsSync(cluster.stack.folder)) cpSync(join(cluster.stack.folder, 'logs'), LOGS, { recursive: true });
    if (kept) options.report(`the logs of this run are kept in ${LOGS}`);
    await cluster.stop();
  }
}

async function run(cluster: Cluster, { records, stops, seed, report }: RestoreOptions): Promise<RestoreResult> {
  const settings = kafkaSettings(cluster.endpoints);
  const live = Math.ceil(records * LIVE_SHARE);
  const archiver = cluster.join('archiver');
  const feed = await Feed.start(settings, seed);
  try {
    feed.allow(records);
    await until('all records written', LIMIT_MS, () => feed.acknowledged === records);
    report(`${records} records are written`);
    const known = new Map<string, number>();
    await until('all records archived', LIMIT_MS, async () => (await countRows(s3Settings(cluster.endpoints), LAKE, known)) === records);
    report(`they are in the lake, in ${known.size} objects`);
    // What comes from now on is not archived: the reader gets it from Kafka.
    await archiver.kill();
    await forgetInKafka(cluster);
    report('Kafka has none of them any more; the group stands at offset 0');
    feed.allow(records + live);
    await until('the live records written', LIMIT_MS, () => feed.acknowledged === records + live);
  } finally {
    await feed.stop();
  }
  return await comeBack(cluster, { records, live, stops, seed, report });
}

/** Deletes everything from Kafka, of which a group has read nothing. */
async function forgetInKafka({ admin, endpoints }: Cluster): Promise<void> {
  const settings = kafkaSettings(endpoints);
  const partitions = await admin.groupLag(GROUP, [TOPIC]);
  await commitGroupOffsets(
    settings,
    GROUP,
    partitions.map(({ topic, partition }) => ({ topic, partition, nextToRead: 0 })),
    TIMEOUT_MS,
  );
  for (const { partition, logEnd } of partitions) await deleteRecordsBefore(settings, { topic: TOPIC, partition }, logEnd);
}

interface ComingBack extends Pick<RestoreOptions, 'records' | 'stops' | 'seed' | 'report'> {
  readonly live: number;
}

async function comeBack(cluster: Cluster, { records, live, stops, seed, report }: ComingBack): Promise<RestoreResult> {
  const settings = kafkaSettings(cluster.endpoints);
  const folder = join(cluster.stack.folder, 'restore');
  mkdirSync(folder);
  const store = new S3Store(s3Settings(cluster.endpoints));
  const database = await Database.open();
  const receiver = new Receiver(records + live);
  let restored = 0;
  const observe = (event: RuntimeEvent): void => {
    if (event.kind === 'restored') restored += event.records;
    else if (event.kind === 'lane-halted') receiver.findings.add('halted', event.why.kind);
    else if (event.kind === 'restore-passed') receiver.findings.add('passed', `${event.from} to ${event.to}`);
  };
  const history = new LakeHistory({ ledger: new Ledger(store, LAKE), database, folder });
  let reader: ConsumerRuntime | undefined;
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  try {
    for (let stop = 1; stop <= stops + 1; stop++) {
      reader = await startReader(settings, receiver, history, observe);
      const wanted = stop > stops ? records + live : Math.floor((records * stop) / (stops + 1));
      await until(`${wanted} records read`, LIMIT_MS, () => receiver.records >= wanted || receiver.findings.lines.length > 0);
      const { committed, abandonedRecords } = await reader.stop();
      report(`${receiver.records} records were read; stopped, ${abandonedRecords} abandoned`);
      if (!committed) receiver.findings.add('stops without a confirmed commit', stop);
      if (receiver.findings.lines.length > 0) break;
    }
  } finally {
    await reader?.stop();
    database.close();
    store.close();
  }
  const { user, system } = process.cpuUsage(cpu);
  const tookMs = performance.now() - startedMs;
  receiver.count();
  const number = (value: number): string => value.toLocaleString('en-US');
  return {
    table: [
      ['seed', String(seed)],
      ['records read from the lake', `${number(restored)}, with those that a stop abandoned`],
      ['records handed over', `${number(receiver.records)}, of which Kafka had ${number(live)}`],
      ['stopped on the way', `${stops} times`],
      ['time', `${(tookMs / 1000).toFixed(1)} s, ${number(Math.round(receiver.records / (tookMs / 1000)))} records a second`],
      ['CPU of the reader', `${((user + system) / receiver.records).toFixed(1)} us a record`],
    ],
    findings: receiver.findings.lines,
  };
}
