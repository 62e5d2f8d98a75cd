import type { AuditReport } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { auditLines } from './lake-audit.ts';
import { CHAIN } from './testing/sink-world.ts';

const PARTITION = {
  ...CHAIN,
  first: 0,
  next: 100,
  objects: 2,
  rows: 60,
  bytes: 3 * 2 ** 20,
  beforeArchive: [],
  voids: [],
  lost: [],
  pending: null,
};

it('says in full sentences what a lake holds, what is declared missing, and the exact range of each finding', () => {
  const report: AuditReport = {
    partitions: [
      {
        ...PARTITION,
        beforeArchive: [{ first: 0, next: 20 }],
        voids: [{ first: 30, next: 40 }],
        lost: [{ first: 50, next: 51 }],
        pending: { first: 100, next: 110 },
      },
    ],
    findings: [{ ...CHAIN, kind: 'gap', first: 60, next: 70, detail: 'no entry covers offsets 60 to 69' }],
  };
  expect(auditLines(report, 's3://lake/x')).toEqual([
    '1 partition, 60 rows in 2 objects, 3.0 MiB.',
    'service-events~aB-_9xYz, partition 3: offsets 0 to 19 were gone before the archive began.',
    'service-events~aB-_9xYz, partition 3: 10 offsets never held a readable record.',
    'service-events~aB-_9xYz, partition 3: LOST, as declared: offset 50.',
    'service-events~aB-_9xYz, partition 3: offsets 100 to 109 are claimed, and their object is still to come.',
    'gap: service-events~aB-_9xYz, partition 3, offsets 60 to 69: no entry covers offsets 60 to 69.',
    '1 finding.',
  ]);
});

it('says when all is well, and when there is nothing at all', () => {
  expect(auditLines({ partitions: [PARTITION], findings: [] }, 's3://lake/x').at(-1)).toBe('Clean: every offset is covered exactly once.');
  expect(auditLines({ partitions: [], findings: [] }, 's3://lake/x')).toEqual([
    'The lake in s3://lake/x is empty: nothing was archived there yet.',
  ]);
});
