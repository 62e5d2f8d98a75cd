import { describe, expect, test } from 'vitest';
import { Fates } from '../traffic/fates.ts';
import { contradictions, doubled, type Sources } from './compare.ts';

const value = (n: number): Buffer => Buffer.from(JSON.stringify({ attributes: { n } }));
const place = (offset: number): string => `incarnat-0-${offset}`;

/** A log of these numbers in order, and two sinks that hold exactly that. */
function sourcesOf(...numbers: number[]): Sources {
  return {
    log: { values: new Map(numbers.map((n, offset) => [place(offset), value(n)])), incarnation: 'incarnat', ends: [numbers.length] },
    documents: numbers.map((number, offset) => ({ place: place(offset), number })),
    rows: numbers.map((n, offset) => ({ place: place(offset), value: value(n) })),
  };
}

/** Two accepted events, one that was not kept, one accepted after an answer was lost, and one of which nothing is known. */
function fates(): Fates {
  const told = new Fates();
  told.tell([1, 2], 'accepted');
  told.tell([3], 'not kept');
  told.tell([4], 'lost');
  told.tell([4], 'accepted');
  told.tell([5], 'unknown');
  return told;
}

describe('the comparison', () => {
  test('finds nothing where nothing is wrong, whichever way the open fates went', () => {
    expect(contradictions(sourcesOf(1, 2, 4), fates())).toEqual([]);
    expect(contradictions(sourcesOf(1, 2, 4, 4, 5), fates())).toEqual([]);
    expect(doubled(sourcesOf(1, 2, 4, 4, 5))).toBe(1);
    expect(fates().counts()).toEqual({ posted: 5, accepted: 3, notKept: 1, unknown: 1, maybeTwice: 1 });
  });

  const whole = sourcesOf(1, 2, 4);
  const [document, ...documents] = whole.documents;
  const [row, ...rows] = whole.rows;
  if (document === undefined || row === undefined) throw new Error('there are three of each');
  const stray = place(99);

  test.for<[what: string, sources: Sources]>([
    ['1 accepted events without a record: 2', sourcesOf(1, 4)],
    ['1 events that were answered with "not kept" and have a record: 3', sourcesOf(1, 2, 3, 4)],
    ['1 events with more records than posts that may have been kept: 1', sourcesOf(1, 1, 2, 4)],
    ['1 records that nobody posted: 9', sourcesOf(1, 2, 4, 9)],
    [`1 records missing in the index: ${document.place}`, { ...whole, documents }],
    [`1 records missing in the lake: ${row.place}`, { ...whole, rows }],
    [`1 records twice in the index: ${document.place}`, { ...whole, documents: [document, document, ...documents] }],
    [`1 records twice in the lake: ${row.place}`, { ...whole, rows: [row, row, ...rows] }],
    [`1 documents of no record: ${stray}`, { ...whole, documents: [...whole.documents, { place: stray, number: 1 }] }],
    [`1 rows of no record: ${stray}`, { ...whole, rows: [...whole.rows, { place: stray, value: value(1) }] }],
    [
      `1 documents with another number than their record: ${document.place}`,
      { ...whole, documents: [{ ...document, number: 2 }, ...documents] },
    ],
    [`1 rows with other bytes than their record: ${row.place}`, { ...whole, rows: [{ ...row, value: Buffer.from('{ }') }, ...rows] }],
  ])('finds %s', ([what, sources]) => {
    expect(contradictions(sources, fates())).toEqual([what]);
  });
});
