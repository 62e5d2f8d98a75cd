import type { Cluster } from '../cluster/cluster.ts';
import { until } from '../machine/until.ts';
import { LAKE, s3Settings, TOPIC } from '../pipeline/endpoints.ts';
import { countDocuments } from '../proof/index-documents.ts';
import { countRows } from '../proof/lake-rows.ts';
import { type Census, sourcesAt, takeCensus } from './census.ts';

/** Without one more record in a sink for so long it will not catch up any more. */
const STALLED_MS = 120_000;
const LOOK_MS = 60_000;

/** What a feed's records have become. */
export interface Verdict {
  readonly census: Census;
  /** What DuckDB counts over the bucket; undefined where it did not answer. */
  readonly counted: number | undefined;
  readonly audit: Audit;
  readonly catchUpMs: number;
  /** One line for each kind of fault; empty when every record is where it has to be, once. */
  readonly findings: readonly string[];
}

interface Audit {
  readonly command: string;
  readonly clean: boolean;
  readonly said: string;
}

/** Waits until both sinks have all that a feed wrote, or nothing moves any more, and counts then, with the product's own means as well. */
export async function judge(cluster: Cluster, written: number, report: (line: string) => void): Promise<Verdict> {
  const catchUpMs = await caughtUp(cluster, written, report);
  report(`every record is counted now, ${(catchUpMs / 1000).toFixed(1)} s behind the last one written`);
  const census = await takeCensus(sourcesAt(cluster.endpoints), written);
  const query = await cluster.tailrace('lake', 'query', 'SELECT count(*) AS n FROM events', '--json');
  const counted = query.code === 0 ? (JSON.parse(query.stdout) as { rows: { n: number }[] }).rows[0]?.n : undefined;
  const audit = await auditOf(cluster);
  const findings = [
    ...census.findings,
    ...(census.records === written ? [] : [`${written} records were written, and Kafka holds ${census.records}`]),
    ...(counted === census.records ? [] : [`DuckDB counts ${counted ?? `nothing (${query.stderr.trim()})`} rows over the bucket`]),
    ...(audit.clean ? [] : [`tailrace ${audit.command}: ${audit.said}`]),
  ];
  return { census, counted, audit, catchUpMs, findings };
}

/** The deepest audit that this release has. */
async function auditOf(cluster: Cluster): Promise<Audit> {
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
