import type { Receipt } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { outcomeWords, receiptLines } from './receipt-lines.ts';

const sums = { records: 10, bytes: 50, checksum: '00000000000000ff', fromLake: 10, fromKafka: 0 };
const applied = { stored: 10, skipped: {}, dead: 0, retried: 0, checksum: '00000000000000ff' };
const place = { topic: 'events', incarnation: 'lifeOne1', partition: 0, sideTopic: 'side', sideIncarnation: 'sideLife', sideNext: 10 };
const receipt: Receipt = {
  run: 1,
  plan: 7,
  into: 'indexer',
  window: { fromMs: 1, toMs: 2, by: 'broker', skewMs: 0 },
  startedAtMs: 1,
  sentAtMs: 2,
  madeAtMs: 3,
  cancelled: false,
  sent: sums,
  applied,
  gone: 0,
  holes: 0,
  agrees: true,
  partitions: [{ ...place, ...sums, lost: 0, beforeArchive: 0, voids: 0, missing: [], applied, gone: 0, agrees: true }],
};

it('a receipt with a hole names its offsets, and its last line says that the window is not whole', () => {
  const missing = [
    { first: 20, next: 30, kind: 'hole' },
    { first: 40, next: 41, kind: 'lost' },
  ] as const;
  const lines = receiptLines({ ...receipt, holes: 10, partitions: receipt.partitions.map((each) => ({ ...each, missing })) });
  expect(lines).toContain('  HOLE: neither the lake nor Kafka holds offsets 20 to 29');
  expect(lines).toContain('  LOST, as declared: offset 40');
  expect(lines.at(-1)).toBe(
    'Everything that was sent was applied exactly once: the checksums agree. But the window is NOT whole: 10 offsets of it were gone when the plan was made, and nobody had declared them lost.',
  );
});

it('one without says that everything was applied', () => {
  expect(receiptLines(receipt).at(-1)).toBe('Everything was applied exactly once: the checksums agree.');
});

it('one of which nothing was stored says so, and asks for the restart that is forgotten most easily', () => {
  const skipped = { ...applied, stored: 0, skipped: { old: 10 } };
  expect(receiptLines({ ...receipt, applied: skipped }).at(-1)).toBe(
    'Everything was applied exactly once: the checksums agree. But NOTHING was stored: indexer skipped all 10 records (old). If its fault is mended, was it started again since? To send the window once more, make a new plan.',
  );
  expect(receiptLines({ ...receipt, applied: { ...applied, stored: 9, skipped: { old: 1 } } }).at(-1)).toContain(
    '1 record was skipped and not stored (old)',
  );
  expect(outcomeWords({ ...receipt, applied: skipped, cancelled: true })).toBe('0 stored, 10 skipped (old), CANCELLED');
});

it('canaries that were skipped are told in their line, and spoil no verdict', () => {
  const lines = receiptLines({ ...receipt, applied: { ...applied, stored: 8, skipped: { canary: 2 } } });
  expect(lines.find((line) => line.startsWith('Applied:'))).toContain('8 stored, 2 skipped (canary)');
  expect(lines.at(-1)).toBe('Everything was applied exactly once: the checksums agree.');
  expect(receiptLines({ ...receipt, applied: { ...applied, stored: 7, skipped: { canary: 2, old: 1 } } }).at(-1)).toContain(
    ' But 1 record was skipped and not stored (old).',
  );
});
