import { likelyService } from '@tailrace/events';
import { type DeadLetter, isoTime, type RawRecord, readDeadLetter } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import type { DlqFilter, DlqTopic, Place } from './dlq-options.ts';
import { type DlqAdmin, extentsOf, type ReadRanges } from './dlq-read.ts';
import { EXIT, type Output } from './output.ts';

/** Dead letters of one reason and one service. */
interface Heap {
  readonly reason: string;
  /** Null where the value does not say. */
  readonly service: string | null;
  readonly records: number;
  readonly oldest: string;
  readonly newest: string;
  /** The newest: what `dlq show --at` takes. */
  readonly example: Place;
}

/** A heap while it is counted. */
interface Count extends Pick<Heap, 'reason' | 'service'> {
  records: number;
  oldestMs: number;
  newestMs: number;
  example: Place;
}

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
  /** Records that somebody else put there. */
  readonly foreign: number;
  /** The largest first. */
  readonly heaps: readonly Heap[];
  /** Dead letters of further reasons and services, which are not told apart. */
  readonly others: number;
}

/** What lies in the bucket since no topic took it; `unknown` when the bucket could not be asked. */
export type Unsendable = { readonly records: number; readonly where: string } | { readonly unknown: string };

/** Reasons and services are told apart up to so many: a service's name may be made up anew for each event. */
const MAX_HEAPS = 1000;
const MAX_LINES = 40;
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
  const reasons = new Map<string, number>();
  for await (const records of read(extents.map((each) => ({ ...each, topic: topic.topic, from: each.logStart, to: each.logEnd })))) {
    for (const record of records) {
      const letter = readDeadLetter(record);
      if (letter === undefined) foreign += 1;
      else if (isMeant(letter, record, filter)) heaps.add(letter, record);
      else {
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
    foreign,
    heaps: heaps.largestFirst(),
    others: heaps.others,
  };
}

function isMeant(letter: DeadLetter, { timestampMs }: RawRecord, { reason, source, fromMs, toMs }: DlqFilter): boolean {
  if (reason !== undefined && letter.reason !== reason) return false;
  if (fromMs !== undefined && timestampMs < fromMs) return false;
  if (toMs !== undefined && timestampMs >= toMs) return false;
  const { origin } = letter;
  return (
    source === undefined ||
    (source.topic === origin.topic &&
      (source.partition ?? origin.partition) === origin.partition &&
      (source.offset ?? origin.offset) === origin.offset)
  );
}

class Heaps {
  readonly #heaps = new Map<string, Count>();
  #oldestMs = Number.POSITIVE_INFINITY;
  #newestMs = Number.NEGATIVE_INFINITY;
  #records = 0;
  others = 0;

  add({ reason, value }: DeadLetter, { timestampMs, partition, offset }: RawRecord): void {
    this.#records += 1;
    this.#oldestMs = Math.min(this.#oldestMs, timestampMs);
    this.#newestMs = Math.max(this.#newestMs, timestampMs);
    const service = likelyService(value) ?? null;
    const key = JSON.stringify([reason, service]);
    const heap = this.#heaps.get(key);
    if (heap === undefined && this.#heaps.size >= MAX_HEAPS) this.others += 1;
    else if (heap === undefined) {
      this.#heaps.set(key, { reason, service, records: 1, oldestMs: timestampMs, newestMs: timestampMs, example: { partition, offset } });
    } else {
      heap.records += 1;
      // Partitions come one through another.
      heap.oldestMs = Math.min(heap.oldestMs, timestampMs);
      if (timestampMs >= heap.newestMs) Object.assign(heap, { newestMs: timestampMs, example: { partition, offset } });
    }
  }

  totals() {
    const known = this.#records > 0;
    return {
      deadLetters: this.#records,
      oldest: known ? isoTime(this.#oldestMs) : null,
      newest: known ? isoTime(this.#newestMs) : null,
    };
  }

  largestFirst(): Heap[] {
    return [...this.#heaps.values()]
      .sort((a, b) => b.records - a.records)
      .map(({ reason, service, records, oldestMs, newestMs, example }) => ({
        reason,
        service,
        records,
        oldest: isoTime(oldestMs),
        newest: isoTime(newestMs),
        example,
      }));
  }
}

function reportLines(report: DlqReport): string[] {
  const { topic, deadLetters, oldest, newest, expired, leftOut, foreign, heaps, others } = report;
  const lost = expired === 0 ? '' : `; ${counted(expired)} lost already: the topic keeps no more than its retention`;
  const strangers = foreign === 0 ? [] : [`  ${foreign} ${foreign === 1 ? 'record is' : 'records are'} none: somebody else wrote there`];
  // A slip in a filter must not read as if all were well.
  if (deadLetters === 0) return [`${topic}: ${leftOut === 0 ? 'no dead letters' : noneMatches(report)}${lost}`, ...strangers];
  const shown = heaps.slice(0, MAX_LINES);
  const rest = heaps.slice(MAX_LINES).reduce((sum, { records }) => sum + records, 0) + others;
  return [
    `${topic}: ${counted(deadLetters)}, from ${oldest} to ${newest}${lost}`,
    ...columns([
      ['records', 'reason', 'service', 'newest', 'show --at'],
      ...shown.map((heap) => [
        String(heap.records),
        printable(heap.reason),
        heap.service === null ? '(not known)' : printable(heap.service),
        heap.newest,
        `${heap.example.partition}/${heap.example.offset}`,
      ]),
    ]),
    ...(rest === 0 ? [] : [`  and ${counted(rest)} of other reasons and services: narrow it with --reason or --source`]),
    ...strangers,
  ];
}

function noneMatches({ leftOut, leftOutReasons }: DlqReport): string {
  const reasons = Object.entries(leftOutReasons);
  const named = reasons.slice(0, MAX_REASONS).map(([reason, records]) => `${printable(reason)}: ${records}`);
  const more = reasons.length > MAX_REASONS ? ' and others' : '';
  return `none of ${counted(leftOut)} matches (the reasons that there are: ${named.join(', ')}${more})`;
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd());
}

function unsendableLines(unsendable: Unsendable | undefined): string[] {
  if (unsendable === undefined) return [];
  if ('unknown' in unsendable) return [`What no topic took can not be counted: ${unsendable.unknown}`];
  if (unsendable.records === 0) return [];
  return [`${unsendable.where}: ${unsendable.records} dead ${unsendable.records === 1 ? 'record' : 'records'} that no topic took`];
}

function counted(records: number): string {
  return `${records} dead ${records === 1 ? 'letter' : 'letters'}`;
}
