import { isoTime } from '@tailrace/kafka-kit/time';
import { chainText, type Finding, type OffsetRange, type PartitionReport } from '@tailrace/lake';
import type { ComparedPartition, KafkaSide, LakeAudit } from './lake-audit.ts';

const MIB = 1024 * 1024;

function range({ first, next }: OffsetRange): string {
  return next - first === 1 ? `offset ${first}` : `offsets ${first} to ${next - 1}`;
}

function length(ranges: readonly OffsetRange[]): number {
  return ranges.reduce((sum, { first, next }) => sum + next - first, 0);
}

function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}

/** The audit as lines for people: what the lake holds, how far it is behind Kafka, what is declared missing, and what is not as it should be. */
export function auditLines(audit: LakeAudit, lake: string): string[] {
  const { partitions, findings, kafka } = audit;
  const sum = (of: (each: PartitionReport) => number): number => partitions.reduce((total, each) => total + of(each), 0);
  const held =
    partitions.length === 0
      ? `The lake in ${lake} is empty: nothing was archived there yet.`
      : `${heldPartitions(audit)}, ${sum(({ rows }) => rows)} rows in ${sum(({ objects }) => objects)} objects, ${(sum(({ bytes }) => bytes) / MIB).toFixed(1)} MiB.`;
  return [held, ...partitions.flatMap(declaredLines), ...kafkaLines(kafka), ...findings.map(findingLine), verdictLine(audit)];
}

function findingLine(finding: Finding): string {
  const where = 'topic' in finding ? `${chainText(finding)}, ${range(finding)}: ` : '';
  return `${finding.kind}: ${where}${finding.detail}.`;
}

/** Each chain of the lake is one of those that were compared, or of a topic that Kafka has no longer. */
function heldPartitions({ partitions, kafka }: LakeAudit): string {
  const all = kafka.looked ? kafka.partitions.length + kafka.past.length : partitions.length;
  return all > partitions.length ? `${partitions.length} of ${counted(all, 'partition')}` : counted(partitions.length, 'partition');
}

function declaredLines(each: PartitionReport): string[] {
  const at = chainText(each);
  return [
    ...(each.beforeArchive.length > 0 ? [`${at}: ${each.beforeArchive.map(range).join(', ')} were gone before the archive began.`] : []),
    ...(each.voids.length > 0 ? [`${at}: ${length(each.voids)} offsets never held a readable record.`] : []),
    ...each.lost.map((lost) => `${at}: LOST, as declared: ${range(lost)}.`),
    ...(each.pending === null ? [] : [`${at}: ${range(each.pending)} are claimed, and their object is still to come.`]),
  ];
}

function kafkaLines(kafka: KafkaSide): string[] {
  if (!kafka.looked) return [];
  return [
    ...kafka.missingTopics.map((topic) => `Kafka has no topic ${topic}.`),
    ...kafka.past.map(
      (each) =>
        `${chainText(each)}: in the lake up to offset ${each.next}; Kafka has no such topic any more, so what came behind is not known.`,
    ),
    ...kafka.partitions.map(comparedLine),
  ];
}

function comparedLine(each: ComparedPartition): string {
  const inLake = each.inLake === null ? 'no chain in the lake' : `in the lake up to offset ${each.inLake}`;
  const since =
    each.oldestWaitingMs === null
      ? ' (no record can be read there: markers, aborted transactions, or one that is open)'
      : `, the oldest record since ${isoTime(each.oldestWaitingMs)}`;
  const waiting = each.waiting === null ? '' : `; ${range(each.waiting)} not archived yet${since}`;
  return `${chainText(each)}: ${inLake}, Kafka's end is ${each.logEnd}${waiting}.`;
}

function verdictLine({ verdict, findings, kafka }: LakeAudit): string {
  const lakeAlone = kafka.looked
    ? ''
    : ` Kafka was not looked at (${kafka.reason}): partitions that were never archived, and what is not archived yet, are not seen.`;
  switch (verdict) {
    case 'findings':
      return `${counted(findings.length, 'finding')}.${lakeAlone}`;
    case 'kafka-not-compared':
      return kafka.looked
        ? 'The lake has no finding. It was not compared with the topics that Kafka does not have.'
        : `The lake has no finding.${lakeAlone}`;
    case 'not-all-archived': {
      const waiting = kafka.looked ? kafka.partitions.flatMap((each) => (each.waiting === null ? [] : [each.waiting])) : [];
      return `No finding, but not all is archived yet: ${counted(length(waiting), 'offset')} of ${counted(waiting.length, 'partition')} are in Kafka only.`;
    }
    case 'clean':
      return "Clean: every offset is covered exactly once. The lake reaches Kafka's end in every partition.";
  }
}
