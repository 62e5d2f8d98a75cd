import type { Fates } from '../traffic/fates.ts';
import { Findings } from './findings.ts';
import type { IndexedDocument } from './index-documents.ts';
import type { LogContent } from './kafka-log.ts';
import type { LakeRow } from './lake-rows.ts';
import { numberIn, type Place } from './records.ts';

/** Everything that each of the three says that it holds. */
export interface Sources {
  readonly log: LogContent;
  readonly documents: readonly IndexedDocument[];
  readonly rows: readonly LakeRow[];
}

/**
 * What the three sources and the answers contradict each other in; empty when nothing was lost, doubled, changed or invented:
 * each record of the log is once in the index and once in the lake with the log's bytes, nothing else is there, an accepted number has
 * its record, and a number has at most one record for each post that was accepted or that nobody knows about.
 */
export function contradictions({ log, documents, rows }: Sources, fates: Fates): string[] {
  const findings = new Findings();
  const numbers = new Map<Place, number>();
  for (const [place, value] of log.values) numbers.set(place, numberIn(value));

  const indexed = new Set<Place>();
  for (const { place, number } of documents) {
    if (indexed.has(place)) findings.add('records twice in the index', place);
    indexed.add(place);
    if (!numbers.has(place)) findings.add('documents of no record', place);
    else if (numbers.get(place) !== number) findings.add('documents with another number than their record', place);
  }
  const archived = new Set<Place>();
  for (const { place, value } of rows) {
    if (archived.has(place)) findings.add('records twice in the lake', place);
    archived.add(place);
    const original = log.values.get(place);
    if (original === undefined) findings.add('rows of no record', place);
    else if (!original.equals(value)) findings.add('rows with other bytes than their record', place);
  }
  for (const place of log.values.keys()) {
    if (!indexed.has(place)) findings.add('records missing in the index', place);
    if (!archived.has(place)) findings.add('records missing in the lake', place);
  }

  const recordsOf = new Map<number, number>();
  for (const number of numbers.values()) recordsOf.set(number, (recordsOf.get(number) ?? 0) + 1);
  const posted = new Set(fates.numbers);
  for (const number of posted) {
    const { least, most } = fates.allowed(number);
    const found = recordsOf.get(number) ?? 0;
    if (found < least) findings.add('accepted events without a record', number);
    if (found > 0 && most === 0) findings.add('events that were answered with "not kept" and have a record', number);
    else if (found > most) findings.add('events with more records than posts that may have been kept', number);
  }
  for (const number of recordsOf.keys()) if (!posted.has(number)) findings.add('records that nobody posted', number);
  return findings.lines;
}

/** How many events have more than one record. */
export function doubled({ log }: Sources): number {
  const seen = new Set<number>();
  let twice = 0;
  for (const value of log.values.values()) {
    const number = numberIn(value);
    if (seen.has(number)) twice++;
    seen.add(number);
  }
  return twice;
}
