import { isCalendarTime, isoTime } from '@tailrace/kafka-kit/time';
import {
  type AuditReport,
  auditLake,
  chainText,
  compareWithLogs,
  type Finding,
  type KafkaExtents,
  type LakeAuditOptions,
  type Ledger,
  type LogComparison,
  type PartitionReport,
  truncations,
} from '@tailrace/lake';

/** A partition's lake against its log. `oldestWaitingMs`: the broker time of the first record that is not archived; null where none waits or none came. */
export interface ComparedPartition extends LogComparison {
  readonly oldestWaitingMs: number | null;
}

export type KafkaSide =
  | { readonly looked: false; readonly reason: string }
  | {
      readonly looked: true;
      /** Topics of the stream that Kafka does not have. */
      readonly missingTopics: readonly string[];
      readonly partitions: readonly ComparedPartition[];
      readonly past: readonly PartitionReport[];
    };

/** `clean` is said only where Kafka holds nothing that the lake does not. */
export type Verdict = 'clean' | 'not-all-archived' | 'kafka-not-compared' | 'findings';

export interface LakeAudit extends AuditReport {
  readonly verdict: Verdict;
  readonly kafka: KafkaSide;
}

export interface AuditOptions {
  /** The topics that are archived into this lake. */
  readonly topics: readonly string[];
  /** A record that waits longer than this is a finding. */
  readonly allowedDelayMs: number;
  readonly nowMs: () => number;
  /** How the lake itself is looked at. */
  readonly lake?: LakeAuditOptions;
}

/** Audits the lake by itself. `reason` says why Kafka is not looked at. */
export async function auditLakeAlone(ledger: Ledger, reason: string, options: LakeAuditOptions = {}): Promise<LakeAudit> {
  const report = await auditLake(ledger, options);
  return { ...report, verdict: report.findings.length > 0 ? 'findings' : 'kafka-not-compared', kafka: { looked: false, reason } };
}

/** Audits the lake, and holds every partition of the topics against its chain. It may run beside an archiver. */
export async function auditLakeAndKafka(
  ledger: Ledger,
  kafka: Pick<KafkaExtents, 'logs' | 'firstTimes'>,
  options: AuditOptions,
): Promise<LakeAudit> {
  const before = await kafka.logs(options.topics);
  const report = await auditLake(ledger, options.lake);
  const { partitions, past, findings } = compareWithLogs(report, before);
  const above = partitions.some(({ inLake, logEnd }) => inLake !== null && inLake > logEnd);
  // An archiver works meanwhile: what was archived since Kafka was asked is no end below the chain's.
  const after = above ? await kafka.logs(options.topics) : [];
  const cut = truncations(partitions, after);
  const times = await kafka.firstTimes(
    partitions.flatMap((each) => (each.waiting === null ? [] : [{ ...each, first: each.waiting.first }])),
  );
  const compared = partitions.map((each): ComparedPartition => {
    const now = after.find((log) => chainText(log) === chainText(each))?.logEnd ?? Number.POSITIVE_INFINITY;
    // The end that the lake was held against, though Kafka's has moved on: a later one would stand beside no word of what waits below it.
    const logEnd = Math.min(now, Math.max(each.logEnd, each.inLake ?? 0));
    return { ...each, logEnd, oldestWaitingMs: times.get(chainText(each)) ?? null };
  });
  const nowMs = options.nowMs();
  const all = [...report.findings, ...findings, ...cut, ...compared.flatMap((each) => late(each, nowMs, options.allowedDelayMs))];
  const missingTopics = options.topics.filter((topic) => !before.some((log) => log.topic === topic));
  return {
    partitions: report.partitions,
    findings: all,
    verdict: verdictOf(all, missingTopics, compared),
    kafka: { looked: true, missingTopics, partitions: compared, past },
  };
}

function late(compared: ComparedPartition, nowMs: number, allowedDelayMs: number): Finding[] {
  const { topic, incarnation, partition, waiting, oldestWaitingMs } = compared;
  if (waiting === null || oldestWaitingMs === null) return [];
  const inTime = nowMs - oldestWaitingMs <= allowedDelayMs;
  // How long it has waited is not known then, and no archiver will ever take it.
  if (isCalendarTime(oldestWaitingMs) && inTime) return [];
  const detail = !isCalendarTime(oldestWaitingMs)
    ? `not archived, and the broker time of the first record there is ${isoTime(oldestWaitingMs)}, which no archiver takes: its sentence in /readyz says what to do`
    : `not archived, and waiting since ${isoTime(oldestWaitingMs)}, longer than the ${allowedDelayMs / 60_000} min that an archiver may take: see whether it runs`;
  return [{ topic, incarnation, partition, kind: 'late', ...waiting, detail }];
}

function verdictOf(findings: readonly Finding[], missingTopics: readonly string[], compared: readonly ComparedPartition[]): Verdict {
  if (findings.length > 0) return 'findings';
  if (missingTopics.length > 0) return 'kafka-not-compared';
  return compared.every(({ waiting }) => waiting === null) ? 'clean' : 'not-all-archived';
}
