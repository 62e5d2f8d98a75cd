import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster } from '../cluster/cluster.ts';
import { kafkaSettings } from '../pipeline/endpoints.ts';
import { RESULTS_FOLDER } from '../report.ts';
import { Chaos } from './chaos.ts';
import { Feed } from './feed.ts';
import { GROUPS, makePlan } from './plan.ts';
import { judge, type Verdict } from './verdict.ts';

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
  const verdict = await judge(cluster, records, report);
  chaos.end();
  const findings = [
    ...[...feed.faults].map(([fault, count]) => `${count} records were not acknowledged: ${fault}`),
    ...verdict.findings,
    ...chaos.deaths,
  ];
  return { table: tableOf(options, chaos, verdict, { tortureMs, startedMs }), findings };
}

function tableOf(
  { seed, records }: TortureOptions,
  { done }: Chaos,
  { census, counted, clean, catchUpMs }: Verdict,
  { tortureMs, startedMs }: { readonly tortureMs: number; readonly startedMs: number },
): [string, string][] {
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
    ['counted by DuckDB', counted === undefined ? 'nothing' : number(counted)],
    ['lake audit --deep', clean ? 'clean' : 'NOT CLEAN'],
    ['time', `${seconds(performance.now() - startedMs)}: ${seconds(tortureMs)} torture, ${seconds(catchUpMs)} until both sinks had all`],
  ];
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
