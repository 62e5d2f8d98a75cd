import { bothTimes, chainText, type PartitionWindow, type ReplayWindow, span } from '@tailrace/lake';
import { counted, missingLine, total } from './offsets.ts';

/** From when on what can be replayed, as lines for people; the last one says how long that is true for. */
export function windowLines(window: ReplayWindow, nowMs: number): string[] {
  return [...window.partitions.flatMap(partitionLines), verdict(window, nowMs)];
}

function partitionLines(each: PartitionWindow): string[] {
  return [
    chainText(each),
    `  Kafka: ${kafkaWords(each)}`,
    `  lake:  ${lakeWords(each)}`,
    ...[...each.holes, ...each.gone].map((missing) => `  ${missingLine(missing)}`),
  ];
}

function kafkaWords({ kafka }: PartitionWindow): string {
  if (kafka === null) return 'no longer has this life of the topic';
  if (kafka.oldest === null) return kafka.logStart === kafka.logEnd ? `empty at offset ${kafka.logEnd}` : 'no record that can be read';
  return `from offset ${kafka.oldest.offset}, ${bothTimes(kafka.oldest.timestampMs)}, to offset ${kafka.logEnd - 1}`;
}

function lakeWords({ lake }: PartitionWindow): string {
  if (lake === null) return 'nothing was archived';
  if (lake.oldest === null || lake.newestMs === null) return `no record up to offset ${lake.end - 1}`;
  return `from offset ${lake.oldest.offset}, ${bothTimes(lake.oldest.timestampMs)}, to offset ${lake.end - 1}, ${bothTimes(lake.newestMs)}`;
}

/** The answer to: how long is replay actually true for? */
function verdict({ partitions, sinceMs, oldestMs }: ReplayWindow, nowMs: number): string {
  const holes = partitions.flatMap((each) => each.holes);
  const inHoles = `${counted(total(holes), 'offset')} in ${counted(holes.length, 'hole')}`;
  if (sinceMs === null || oldestMs === null)
    return holes.length > 0
      ? `Nothing can be replayed: ${inHoles} are gone, and no record is left.`
      : 'Nothing can be replayed: there is no record yet.';
  const lost = partitions.flatMap((each) => each.gone).filter(({ kind }) => kind === 'lost');
  const but = lost.length === 0 ? '' : `, but for ${counted(total(lost), 'offset')} that are declared lost`;
  const since = `Replay is true for ${span(nowMs - sinceMs)}: every record since ${bothTimes(sinceMs)} can be brought back${but}`;
  if (holes.length === 0) return `${since}.`;
  return `${since}; before that, ${inHoles} are gone for good, though the oldest record that is left is of ${bothTimes(oldestMs)}.`;
}
