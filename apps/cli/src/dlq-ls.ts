import { readDeadLetter } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import { counted, type Heap, Heaps, heapLines, MAX_HEAPS } from './dlq-heaps.ts';
import { type DlqFilter, type DlqTopic, isMeant } from './dlq-options.ts';
import { type DlqAdmin, extentsOf, type ReadRanges } from './dlq-read.ts';
import { EXIT, type Output } from './output.ts';

interface DlqReport extends DlqTopic {
  readonly deadLetters: number;
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Gone by the topic's retention, whatever the filter says: what they were is not known any more. */
  readonly expired: number;
  /** Dead letters that the filter leaves out. */
  readonly leftOut: number;
  /** Their reasons, the most frequent first: what a filter by a reason could have named. */
  readonly leftOutReasons: Readonly<Record<string, number>>;
  /** Dead letters of records that had been brought back before. */
  readonly again: number;
  /** Records that somebody else put there. */
  readonly foreign: number;
  /** The largest first. */
  readonly heaps: readonly Heap[];
  /** Dead letters of further reasons and services, which are not told apart. */
  readonly others: number;
}

/** What lies in the bucket since no topic took it; `unknown` when the bucket could not be asked. */
export type Unsendable = { readonly records: number; readonly where: string } | { readonly unknown: string };

const MAX_REASONS = 10;

/** Shows how many dead letters there are, of what, how far back, and how many are lost already. Exit code 1 when there are any. */
export async function lsCommand(
  admin: DlqAdmin,
  read: ReadRanges,
  topics: readonly DlqTopic[],
  filter: DlqFilter,
  countUnsendable: (() => Promise<Unsendable>) | undefined,
  output: Output,
): Promise<number> {
  const reports: DlqReport[] = [];
  for (const topic of topics) reports.push(await look(admin, read, topic, filter));
  const unsendable = await countUnsendable?.();
  const lines = [...reports.flatMap(reportLines), ...unsendableLines(unsendable)];
  output.result({ topics: reports, ...(unsendable === undefined ? {} : { unsendable }) }, lines);
  const found = reports.some(({ deadLetters, expired }) => deadLetters + expired > 0);
  const apart = unsendable !== undefined && ('unknown' in unsendable || unsendable.records > 0);
  return found || apart ? EXIT.finding : EXIT.good;
}

async function look(admin: DlqAdmin, read: ReadRanges, topic: DlqTopic, filter: DlqFilter): Promise<DlqReport> {
  // A dead letter lies in the partition of its source.
  const extents = (await extentsOf(admin, topic.topic)).filter(({ partition }) => (filter.source?.partition ?? partition) === partition);
  const heaps = new Heaps();
  let foreign = 0;
  let leftOut = 0;
  let again = 0;
  const reasons = new Map<string, number>();
  for await (const records of read(extents.map((each) => ({ ...each, topic: topic.topic, from: each.logStart, to: each.logEnd })))) {
    for (const record of records) {
      const letter = readDeadLetter(record);
      if (letter === undefined) foreign += 1;
      else if (isMeant(letter, record, filter)) {
        heaps.add(letter, record);
        if (letter.replays > 0) again += 1;
      } else {
        leftOut += 1;
        // Whoever may write to the topic may make up reasons.
        if (reasons.has(letter.reason) || reasons.size < MAX_HEAPS) reasons.set(letter.reason, (reasons.get(letter.reason) ?? 0) + 1);
      }
    }
  }
  return {
    ...topic,
    ...heaps.totals(),
    expired: extents.reduce((sum, { logStart }) => sum + logStart, 0),
    leftOut,
    leftOutReasons: Object.fromEntries([...reasons].sort(([, a], [, b]) => b - a)),
    again,
    foreign,
    heaps: heaps.largestFirst(),
    others: heaps.others,
  };
}

function reportLines(report: DlqReport): string[] {
  const { topic, deadLetters, oldest, newest, expired, leftOut, again, foreign, heaps, others } = report;
  const lost = expired === 0 ? '' : `; ${counted(expired)} lost already: the topic keeps no more than its retention`;
  const strangers = foreign === 0 ? [] : [`  ${foreign} ${foreign === 1 ? 'record is' : 'records are'} none: somebody else wrote there`];
  // A slip in a filter must not read as if all were well.
  if (deadLetters === 0) return [`${topic}: ${leftOut === 0 ? 'no dead letters' : noneMatches(report)}${lost}`, ...strangers];
  return [
    `${topic}: ${counted(deadLetters)}, from ${oldest} to ${newest}${lost}`,
    ...heapLines(heaps, others),
    ...(again === 0 ? [] : [`  ${again} of them had been brought back before, and died again`]),
    ...strangers,
  ];
}

function noneMatches({ leftOut, leftOutReasons }: DlqReport): string {
  const reasons = Object.entries(leftOutReasons);
  const named = reasons.slice(0, MAX_REASONS).map(([reason, records]) => `${printable(reason)}: ${records}`);
  const more = reasons.length > MAX_REASONS ? ' and others' : '';
  return `none of ${counted(leftOut)} matches (the reasons that there are: ${named.join(', ')}${more})`;
}

function unsendableLines(unsendable: Unsendable | undefined): string[] {
  if (unsendable === undefined) return [];
  if ('unknown' in unsendable) return [`What no topic took can not be counted: ${unsendable.unknown}`];
  if (unsendable.records === 0) return [];
  return [`${unsendable.where}: ${unsendable.records} dead ${unsendable.records === 1 ? 'record' : 'records'} that no topic took`];
}
