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
  /** Whether `tailrace lake audit --deep` found every record as it was written. */
  readonly clean: boolean;
  readonly catchUpMs: number;
  /** One line for each kind of fault; empty when every record is where it has to be, once. */
  readonly findings: readonly string[];
}

/** Waits until both sinks have all that a feed wrote, or nothing moves any more, and counts then, with the product's own means as well. */
export async function judge(cluster: Cluster, written: number, report: (line: string) => void): Promise<Verdict> {
  const catchUpMs = await caughtUp(cluster, written, report);
  report(`every record is counted now, ${(catchUpMs / 1000).toFixed(1)} s behind the last one written`);
  const census = await takeCensus(sourcesAt(cluster.endpoints), written);
  const query = await cluster.tailrace('lake', 'query', 'SELECT count(*) AS n FROM events', '--json');
  const counted = query.code === 0 ? (JSON.parse(query.stdout) as { rows: { n: number }[] }).rows[0]?.n : undefined;
  const audit = await cluster.tailrace('lake', 'audit', '--deep');
  const clean = audit.code === 0 && audit.stdout.includes('Clean');
  const findings = [
    ...census.findings,
    ...(census.records === written ? [] : [`${written} records were written, and Kafka holds ${census.records}`]),
    ...(counted === census.records ? [] : [`DuckDB counts ${counted ?? `nothing (${query.stderr.trim()})`} rows over the bucket`]),
    ...(clean ? [] : [`tailrace lake audit --deep: ${`${audit.stdout}${audit.stderr}`.trim()}`]),
  ];
  return { census, counted, clean, catchUpMs, findings };
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
