import { type AuditReport, type ChainId, chainText, type OffsetRange } from '@tailrace/lake';

const MIB = 1024 * 1024;

function range({ first, next }: OffsetRange): string {
  return next - first === 1 ? `offset ${first}` : `offsets ${first} to ${next - 1}`;
}

function count(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { first, next }) => sum + next - first, 0);
}

function at(chain: ChainId): string {
  return chainText(chain);
}

/** The audit as lines for people: what the lake holds, what is declared missing, and what is not as it should be. */
export function auditLines(report: AuditReport, lake: string): string[] {
  const { partitions, findings } = report;
  if (partitions.length === 0 && findings.length === 0) return [`The lake in ${lake} is empty: nothing was archived there yet.`];
  const sum = (of: (each: AuditReport['partitions'][number]) => number): number => partitions.reduce((total, each) => total + of(each), 0);
  const lines = [
    `${partitions.length} ${partitions.length === 1 ? 'partition' : 'partitions'}, ${sum(({ rows }) => rows)} rows in ${sum(({ objects }) => objects)} objects, ${(sum(({ bytes }) => bytes) / MIB).toFixed(1)} MiB.`,
  ];
  for (const each of partitions) {
    if (each.beforeArchive.length > 0)
      lines.push(`${at(each)}: ${each.beforeArchive.map(range).join(', ')} were gone before the archive began.`);
    if (each.voids.length > 0) lines.push(`${at(each)}: ${count(each.voids)} offsets never held a readable record.`);
    for (const lost of each.lost) lines.push(`${at(each)}: LOST, as declared: ${range(lost)}.`);
    if (each.pending !== null) lines.push(`${at(each)}: ${range(each.pending)} are claimed, and their object is still to come.`);
  }
  for (const finding of findings) lines.push(`${finding.kind}: ${at(finding)}, ${range(finding)}: ${finding.detail}.`);
  lines.push(
    findings.length === 0
      ? 'Clean: every offset is covered exactly once.'
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}.`,
  );
  return lines;
}
