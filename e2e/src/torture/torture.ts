import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster } from '../cluster/cluster.ts';
import { until } from '../machine/until.ts';
import { kafkaSettings, LAKE, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { countDocuments } from '../proof/index-documents.ts';
import { countRows } from '../proof/lake-rows.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { type Census, takeCensus } from './census.ts';
import { Chaos } from './chaos.ts';
import { Feed } from './feed.ts';
import { GROUPS, makePlan } from './plan.ts';

export interface TortureOptions {
  readonly records: number;
  /** Of each of the two groups. */
  readonly kills: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Told what happens, in lines for people. */
  readonly report: (line: string) => void;
}

export interface TortureResult {
  /** The outcome in rows for people. */
  readonly table: readonly (readonly [what: string, value: string])[];
  /** What is wrong, a line each. */
  readonly findings: readonly string[];
}

const LOGS = join(RESULTS_FOLDER, 'torture-logs');
/** Without one more record in a sink for so long it will not catch up any more. */
const STALLED_MS = 120_000;
const LOOK_MS = 60_000;

/**
 * Writes records into three brokers while members of both groups are killed, stopped, joined and left and brokers are killed, and counts
 * afterwards what is where. After a finding or a failure the logs of all processes are kept.
 */
export async function torture(options: TortureOptions): Promise<TortureResult> {
  const { signal, report } = options;
  rmSync(LOGS, { recursive: true, force: true });
  const startedMs = performance.now();
  const cluster = await Cluster.start({ brokers: 3, jit: 'fast-start', signal, report });
  let kept = true;
  try {
    const failed = cluster.stack.failed.then((failure) => {
      throw failure;
    });
    const result = await Promise.race([run(cluster, options, startedMs), failed, aborted(signal)]);
    kept = result.findings.length > 0;
    return result;
  } finally {
    // Before the folder goes.
    if (kept && existsSync(cluster.stack.folder)) cpSync(join(cluster.stack.folder, 'logs'), LOGS, { recursive: true });
    if (kept && existsSync(LOGS)) report(`the logs of this run are kept in ${LOGS}`);
    await cluster.stop();
  }
}

async function run(cluster: Cluster, options: TortureOptions, startedMs: number): Promise<TortureResult> {
  const { records, kills, seed, report } = options;
  const feed = await Feed.start(kafkaSettings(cluster.endpoints), seed);
  const chaos = new Chaos({ cluster, feed, plan: makePlan(seed, kills), records, report });
  try {
    await chaos.run();
    feed.allow(records);
  } finally {
    await feed.stop();
  }
  const tortureMs = performance.now() - startedMs;
  const catchUpMs = await caughtUp(cluster, feed.acknowledged, report);
  report('caught up; every record is counted now');
  const census = await takeCensus(cluster.endpoints, records);
  const query = await cluster.tailrace('lake', 'query', 'SELECT count(*) AS n FROM events', '--json');
  const audit = await auditOf(cluster);
  chaos.end();
  const counted = query.code === 0 ? (JSON.parse(query.stdout) as { rows: { n: number }[] }).rows[0]?.n : undefined;
  const findings = [
    ...[...feed.faults].map(([fault, count]) => `${count} records were not acknowledged: ${fault}`),
    ...census.findings,
    ...(census.records === records ? [] : [`${records} records were written, and Kafka holds ${census.records}`]),
    ...(counted === census.records ? [] : [`DuckDB counts ${counted ?? `nothing (${query.stderr.trim()})`} rows over the bucket`]),
    ...(audit.clean ? [] : [`tailrace ${audit.command}: ${audit.said}`]),
    ...chaos.deaths,
  ];
  return { table: tableOf(options, chaos, census, { counted, audit, tortureMs, catchUpMs, startedMs }), findings };
}

/** The deepest audit that this release has. */
async function auditOf(cluster: Cluster): Promise<{ readonly command: string; readonly clean: boolean; readonly said: string }> {
  const words = ['lake', 'audit'];
  if ((await cluster.tailrace('lake', 'audit', '--help')).stdout.includes('--deep')) words.push('--deep');
  const { code, stdout, stderr } = await cluster.tailrace(...words);
  const clean = code === 0 && stdout.includes('Clean');
  return { command: words.join(' '), clean, said: `${stdout}${stderr}`.trim() };
}

/** Waits until both sinks hold as many records as Kafka. Gives the milliseconds that it took. */
async function caughtUp({ endpoints }: Cluster, records: number, report: (line: string) => void): Promise<number> {
  const begunMs = performance.now();
  const known = new Map<string, number>();
  const last = { documents: -1, rows: -1, movedMs: begunMs };
  for (;;) {
    const [documents, rows] = await until('an answer of OpenSearch and S3', LOOK_MS, () =>
      Promise.all([countDocuments(endpoints.opensearchUrl, TOPIC), countRows(s3Settings(endpoints), LAKE, known)]),
    );
    if (documents >= records && rows >= records) return performance.now() - begunMs;
    const nowMs = performance.now();
    if (documents !== last.documents || rows !== last.rows) Object.assign(last, { documents, rows, movedMs: nowMs });
    if (nowMs - last.movedMs > STALLED_MS) {
      report(`nothing moves any more: ${records} records written, ${documents} documents, ${rows} rows in the lake`);
      return nowMs - begunMs;
    }
  }
}

interface Outcome {
  readonly counted: number | undefined;
  readonly audit: { readonly command: string; readonly clean: boolean };
  readonly tortureMs: number;
  readonly catchUpMs: number;
  readonly startedMs: number;
}

function tableOf({ seed, records }: TortureOptions, { done }: Chaos, census: Census, outcome: Outcome): [string, string][] {
  const number = (value: number) => value.toLocaleString('en-US');
  const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
  return [
    ['seed', String(seed)],
    ['killed -9', `${GROUPS.map((group) => `${done.kills[group]} x ${group}`).join(', ')}, ${done.brokers} x a broker`],
    ['stopped, replaced, gone on', `${done.zombies} members`],
    ['joined and left', `${done.visitors} members`],
    ['records written', number(records)],
    ['records in Kafka', number(census.records)],
    ['documents in the index', number(census.documents)],
    [
      'rows in the lake',
      `${number(census.rows)} in ${number(census.objects)} objects, ${(census.lakeBytes / census.rows).toFixed(1)} bytes each`,
    ],
    ['counted by DuckDB', outcome.counted === undefined ? 'nothing' : number(outcome.counted)],
    [outcome.audit.command, outcome.audit.clean ? 'clean' : 'NOT CLEAN'],
    [
      'time',
      `${seconds(performance.now() - outcome.startedMs)}: ${seconds(outcome.tortureMs)} torture, ${seconds(outcome.catchUpMs)} until both sinks had all`,
    ],
  ];
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
