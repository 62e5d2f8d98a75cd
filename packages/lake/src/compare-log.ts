import type { AuditReport, Finding, PartitionReport } from './audit.ts';
import type { ChainId, OffsetRange } from './records.ts';

/** A partition's log in Kafka: offsets `[logStart, logEnd)`, where `logEnd` is the high watermark. */
export interface LogExtent extends ChainId {
  readonly logStart: number;
  readonly logEnd: number;
}

/** How far the lake is with one partition of a topic as it is in Kafka now. */
export interface LogComparison extends LogExtent {
  /** The chain's end: everything below is in the lake or declared. `null` where there is no chain. */
  readonly inLake: number | null;
  /** What is in Kafka and not in the lake yet. */
  readonly waiting: OffsetRange | null;
}

export interface LogReport {
  readonly partitions: readonly LogComparison[];
  readonly findings: readonly Finding[];
  /** Chains of topics that Kafka holds no longer under that id: what was not archived of them can not be seen any more. */
  readonly past: readonly PartitionReport[];
}

const placeOf = ({ topic, incarnation, partition }: ChainId): string => `${topic}~${incarnation}/${partition}`;
const lifeOf = ({ topic, incarnation }: ChainId): string => `${topic}~${incarnation}`;

/**
 * Holds the chains of an audit against the logs. `logs` must have been looked up BEFORE the audit was begun: a chain only grows, so one
 * that ends below such a log start will never reach it, however busy the archiver. A chain above such a log end is no fault
 * by itself: see `truncations`.
 */
export function compareWithLogs(report: AuditReport, logs: readonly LogExtent[]): LogReport {
  const chains = new Map(report.partitions.map((chain) => [placeOf(chain), chain]));
  const archived = new Set(report.partitions.map(lifeOf));
  const findings: Finding[] = [];
  const partitions = logs.map((log): LogComparison => {
    const chain = chains.get(placeOf(log));
    const end = chain?.next ?? 0;
    const from = Math.max(end, log.logStart);
    // Where no partition of the topic was archived yet, the archive will begin at the log's start and declare what is below it.
    if (end < log.logStart && archived.has(lifeOf(log))) findings.push(expired(log, chain, end));
    return { ...log, inLake: chain?.next ?? null, waiting: from < log.logEnd ? { first: from, next: log.logEnd } : null };
  });
  const present = new Set(logs.map(lifeOf));
  return { partitions, findings, past: report.partitions.filter((chain) => !present.has(lifeOf(chain))) };
}

function expired({ topic, incarnation, partition, logStart }: LogExtent, chain: PartitionReport | undefined, end: number): Finding {
  const where = chain === undefined ? 'there is no chain' : `the chain ends at ${end}`;
  const detail = `${where}, and Kafka's log begins at ${logStart}: what lies between was deleted before it was archived`;
  return { topic, incarnation, partition, kind: 'expired', first: end, next: logStart, detail };
}

/** The chains that end above their logs. `later` must have been looked up AFTER the audit: whatever was archived by then is below its log's end. */
export function truncations(compared: readonly LogComparison[], later: readonly LogExtent[]): readonly Finding[] {
  const ends = new Map(later.map((log) => [placeOf(log), log.logEnd]));
  return compared.flatMap(({ topic, incarnation, partition, inLake }): Finding[] => {
    const logEnd = ends.get(placeOf({ topic, incarnation, partition }));
    if (inLake === null || logEnd === undefined || inLake <= logEnd) return [];
    const detail = `the lake holds offsets up to ${inLake - 1}, and Kafka's log ends at ${logEnd}: it was cut, and what is written there next would be taken for archived`;
    return [{ topic, incarnation, partition, kind: 'truncated', first: logEnd, next: inLake, detail }];
  });
}
