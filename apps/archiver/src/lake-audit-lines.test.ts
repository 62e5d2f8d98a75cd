import { expect, it } from 'vitest';
import type { LakeAudit } from './lake-audit.ts';
import { auditLines } from './lake-audit-lines.ts';
import { CHAIN, NINE } from './testing/sink-world.ts';

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
const COMPARED = { ...CHAIN, logStart: 0, logEnd: 100, inLake: 100, waiting: null, oldestWaitingMs: null };
const looked = { looked: true, missingTopics: [], partitions: [COMPARED], past: [] } as const;
const audit = (more: Partial<LakeAudit> = {}): LakeAudit => ({
  partitions: [PARTITION],
  findings: [],
  verdict: 'clean',
  kafka: looked,
  ...more,
});
const lines = (more?: Partial<LakeAudit>): string[] => auditLines(audit(more), 's3://lake/x');

it('says in full sentences what a lake holds, what is declared missing, and the exact range of each finding', () => {
  const partitions = [
    {
      ...PARTITION,
      beforeArchive: [{ first: 0, next: 20 }],
      voids: [{ first: 30, next: 40 }],
      lost: [{ first: 50, next: 51 }],
      pending: { first: 100, next: 110 },
    },
  ];
  const findings = [{ ...CHAIN, kind: 'gap', first: 60, next: 70, detail: 'no entry covers offsets 60 to 69' }] as const;
  expect(lines({ partitions, findings, verdict: 'findings' })).toEqual([
    '1 partition, 60 rows in 2 objects, 3.0 MiB.',
    'service-events~aB-_9xYz, partition 3: offsets 0 to 19 were gone before the archive began.',
    'service-events~aB-_9xYz, partition 3: 10 offsets never held a readable record.',
    'service-events~aB-_9xYz, partition 3: LOST, as declared: offset 50.',
    'service-events~aB-_9xYz, partition 3: offsets 100 to 109 are claimed, and their object is still to come.',
    "service-events~aB-_9xYz, partition 3: in the lake up to offset 100, Kafka's end is 100.",
    'gap: service-events~aB-_9xYz, partition 3, offsets 60 to 69: no entry covers offsets 60 to 69.',
    '1 finding.',
  ]);
});

it('says how far each partition is, and names those without a chain', () => {
  const partitions = [
    { ...COMPARED, logEnd: 120, waiting: { first: 100, next: 120 }, oldestWaitingMs: NINE },
    { ...COMPARED, partition: 4, logEnd: 5, inLake: null, waiting: { first: 0, next: 5 } },
    { ...COMPARED, partition: 5, logEnd: 0, inLake: null },
  ];
  expect(lines({ kafka: { ...looked, partitions }, verdict: 'not-all-archived' }).slice(1)).toEqual([
    "service-events~aB-_9xYz, partition 3: in the lake up to offset 100, Kafka's end is 120; offsets 100 to 119 not archived yet, the oldest record since 2026-01-02T09:15:00.000Z.",
    "service-events~aB-_9xYz, partition 4: no chain in the lake, Kafka's end is 5; offsets 0 to 4 not archived yet (no record can be read there: markers, aborted transactions, or one that is open).",
    "service-events~aB-_9xYz, partition 5: no chain in the lake, Kafka's end is 0.",
    'No finding, but not all is archived yet: 25 offsets of 2 partitions are in Kafka only.',
  ]);
});

it('says of how many partitions the lake holds some, where it does not hold all that are listed', () => {
  const partitions = [COMPARED, { ...COMPARED, partition: 4, logEnd: 0, inLake: null }];
  expect(lines({ kafka: { ...looked, partitions } })[0]).toBe('1 of 2 partitions, 60 rows in 2 objects, 3.0 MiB.');
  expect(lines()[0]).toBe('1 partition, 60 rows in 2 objects, 3.0 MiB.');
});

it('says when all is well, and only then that it is clean', () => {
  expect(lines().at(-1)).toBe("Clean: every offset is covered exactly once. The lake reaches Kafka's end in every partition.");
  const alone = lines({ kafka: { looked: false, reason: '--no-kafka' }, verdict: 'kafka-not-compared' });
  expect(alone.at(-1)).toBe(
    'The lake has no finding. Kafka was not looked at (--no-kafka): partitions that were never archived, and what is not archived yet, are not seen.',
  );
  expect(alone.join()).not.toContain('lean');
});

it('says when there is nothing at all, which topics Kafka does not have, and which chains are of an earlier topic', () => {
  const kafka = { ...looked, missingTopics: ['service-events'], partitions: [], past: [PARTITION] };
  expect(lines({ partitions: [], kafka, verdict: 'kafka-not-compared' })).toEqual([
    'The lake in s3://lake/x is empty: nothing was archived there yet.',
    'Kafka has no topic service-events.',
    'service-events~aB-_9xYz, partition 3: in the lake up to offset 100; Kafka has no such topic any more, so what came behind is not known.',
    'The lake has no finding. It was not compared with the topics that Kafka does not have.',
  ]);
});
