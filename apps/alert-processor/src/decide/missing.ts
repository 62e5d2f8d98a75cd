import type { StreamPartition } from './coverage.ts';
import type { WindowContext } from './windows.ts';

/** Partitions that are so much behind the furthest one are named: so much apart they are when all is well, too. */
const BEHIND_MS = 30_000;

/** More is not read by anybody. */
const MAX_SENTENCES = 10;

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

function partitionsText(topic: string, partitions: readonly number[]): string {
  const last = partitions.at(-1);
  const names = partitions.length === 1 ? `partition ${last}` : `partitions ${partitions.slice(0, -1).join(', ')} and ${last}`;
  return `${names} of ${topic}`;
}

/** What was not seen of [fromMs, toMs) of one partition: each is the end of a sentence. */
function missingOf({ key, rule, coverage }: WindowContext, partition: StreamPartition, fromMs: number, toMs: number): string[] {
  const heard = coverage.heard(partition);
  if (heard === undefined) return ['not heard of: nobody reads it, or no count of it came yet'];
  const span = coverage.spanOf(partition, key);
  if (span === undefined) return [`nothing of it is complete for ${rule.name} yet (warming up)`];
  const missing: string[] = [];
  const greatestMs = coverage.greatestMs() ?? span.untilMs;
  if (span.untilMs < toMs && (heard.unread || greatestMs - span.untilMs > BEHIND_MS)) {
    missing.push(`behind, counted up to ${timeText(span.untilMs)}`);
  }
  if (span.fromMs > fromMs) missing.push(`counted for ${rule.name} from ${timeText(span.fromMs)} on (warming up)`);
  for (const [begin, end] of span.blind) {
    if (begin < toMs && fromMs < end) missing.push(`blind from ${timeText(Math.max(begin, fromMs))} to ${timeText(Math.min(end, toMs))}`);
  }
  return missing;
}

/** One sentence for each thing that was not seen of [fromMs, toMs), with the partitions that it is true of. */
export function missingSentences(context: WindowContext, fromMs: number, toMs: number): string[] {
  const { partitions } = context.coverage;
  if (partitions.length === 0) return ['The partitions of the stream are not known yet.'];
  const byText = new Map<string, Map<string, number[]>>();
  for (const partition of partitions) {
    for (const text of missingOf(context, partition, fromMs, toMs)) {
      const topics = byText.get(text) ?? new Map<string, number[]>();
      topics.set(partition.topic, [...(topics.get(partition.topic) ?? []), partition.partition]);
      byText.set(text, topics);
    }
  }
  const sentences = [...byText].map(([text, topics]) => {
    const names = [...topics].map(([topic, numbers]) => partitionsText(topic, numbers)).join(' and ');
    return `${names.charAt(0).toUpperCase()}${names.slice(1)}: ${text}.`;
  });
  const rest = sentences.length - MAX_SENTENCES;
  return rest <= 0 ? sentences : [...sentences.slice(0, MAX_SENTENCES), `And ${rest} more.`];
}
