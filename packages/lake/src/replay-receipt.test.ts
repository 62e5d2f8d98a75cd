import type { AppliedCounts, ChannelPosition } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import type { StoredPlan } from './replay-plans.ts';
import {
  type ChannelPositions,
  canNotCome,
  disagreeing,
  isGood,
  lifeKey,
  makeReceipt,
  notApplied,
  type Receipt,
  type SentPartition,
  type SentReport,
  type SideExtents,
  sideKey,
} from './replay-receipt.ts';
import { CHAIN } from './testing/index.ts';

const plan: StoredPlan = {
  id: 7,
  attempt: 'a',
  madeAtMs: 1,
  stream: 's',
  into: 'indexer',
  window: { fromMs: 1, toMs: 2, by: 'broker', skewMs: 0 },
  where: ['service = a'],
  partitions: [],
};
const sent = (partition: number, more: Partial<SentPartition> = {}): SentPartition => ({
  ...CHAIN,
  partition,
  sideTopic: 'side',
  sideIncarnation: 'sideLife',
  sideNext: 100,
  records: 10,
  bytes: 50,
  checksum: 'ffffffffffffffff',
  fromLake: 6,
  fromKafka: 4,
  lost: 0,
  beforeArchive: 0,
  voids: 0,
  ...more,
});
const counts = (more: Partial<AppliedCounts> = {}): AppliedCounts => ({
  through: 40,
  stored: 8,
  skipped: { old: 2 },
  dead: 0,
  retried: 1,
  checksum: 'ffffffffffffffff',
  ...more,
});
const at = (partition: number, more: Partial<ChannelPosition> = {}): [string, ChannelPosition] => [
  lifeKey('side', more.incarnation ?? 'sideLife', partition),
  { topic: 'side', partition, incarnation: 'sideLife', nextToRead: 100, plans: { '7-a': counts() }, ...more },
];
const report = (partitions: readonly SentPartition[], cancelled = false): SentReport => ({ plan: 7, endedAtMs: 3, cancelled, partitions });
const make = (of: SentReport, channels: ChannelPositions, now?: SideExtents, planned = plan) =>
  makeReceipt(planned, { id: 2, madeAtMs: 2 }, of, channels, 9, now);

it('adds up what was sent and what became of it', () => {
  const receipt = make(
    report([sent(0), sent(1, { checksum: '0000000000000002' }), sent(2, { records: 0, bytes: 0, checksum: '0000000000000000' })]),
    new Map([at(0), at(1, { plans: { '7-a': counts({ skipped: { old: 1, odd: 1 }, checksum: '0000000000000002' }) } })]),
  );
  expect(receipt).toMatchObject({
    run: 2,
    plan: 7,
    where: ['service = a'],
    startedAtMs: 2,
    sentAtMs: 3,
    madeAtMs: 9,
    // Modulo 2^64.
    sent: { records: 20, bytes: 100, checksum: '0000000000000001', fromLake: 18, fromKafka: 12 },
    applied: { stored: 16, skipped: { old: 3, odd: 1 }, dead: 0, retried: 2, checksum: '0000000000000001' },
    agrees: true,
  });
  expect(receipt === undefined ? undefined : isGood(receipt)).toBe(true);
});

it.each<[string, ChannelPositions, number]>([
  ['the consumer has said nothing', new Map(), 10],
  ['it stands below what was sent', new Map([at(0, { nextToRead: 99, plans: { '7-a': counts({ stored: 5 }) } })]), 3],
  ['it speaks of another life of the side channel', new Map([at(0, { incarnation: 'otherOne' })]), 10],
])('there is none while something is not applied: %s', (_, channels, left) => {
  expect(make(report([sent(0)]), channels)).toBeUndefined();
  expect(notApplied([sent(0)], channels, '7-a')).toBe(left);
});

it.each<[string, Partial<AppliedCounts>]>([
  ['a record less', { stored: 7 }],
  ['another record', { checksum: 'fffffffffffffffe' }],
])('says where the two differ: %s', (_, more) => {
  const receipt = make(report([sent(0), sent(1)]), new Map([at(0), at(1, { plans: { '7-a': counts(more) } })]));
  if (receipt === undefined) throw new Error('it is complete');
  expect([receipt.agrees, isGood(receipt), disagreeing(receipt)]).toEqual([false, false, [expect.stringContaining('partition 1')]]);
});

it('is not good when the consumer skipped every record: its fault is still there', () => {
  const skips = (skipped: number) =>
    make(report([sent(0)]), new Map([at(0, { plans: { '7-a': counts({ stored: 10 - skipped, skipped: { old: skipped } }) } })]));
  for (const [skipped, good] of [
    [10, false],
    [9, true],
  ] as const) {
    const receipt = skips(skipped);
    expect(receipt === undefined ? undefined : [receipt.agrees, isGood(receipt)]).toEqual([true, good]);
  }
});

it('is not good with a dead letter, nor when the run was cancelled', () => {
  const dead = make(report([sent(0)]), new Map([at(0, { plans: { '7-a': counts({ stored: 7, dead: 1 }) } })]));
  const cancelled = make(report([sent(0)], true), new Map([at(0)]));
  for (const receipt of [dead, cancelled])
    expect(receipt === undefined ? undefined : [receipt.agrees, isGood(receipt)]).toEqual([true, false]);
});

const extent = (partition: number, logStart: number, incarnation = 'sideLife') =>
  [sideKey('side', partition), { incarnation, logStart }] as const;

it.each<[string, SideExtents]>([
  ['the side channel was made anew', new Map([extent(0, 0, 'lifeTwo2'), extent(1, 0, 'lifeTwo2')])],
  ['it begins where what was sent ends', new Map([extent(0, 100), extent(1, 0)])],
  ['it begins above', new Map([extent(0, 300), extent(1, 0)])],
])('says what was applied, and how many are gone, when the rest can not come any more: %s', (_, now) => {
  const words = new Map([
    at(0, { nextToRead: 60, plans: { '7-a': counts({ stored: 5, skipped: { old: 1 }, checksum: '0000000000000001' }) } }),
    at(1),
  ]);
  expect(canNotCome(report([sent(0), sent(1)]), words, now)).toBe(true);
  const receipt = make(report([sent(0), sent(1)]), words, now);
  expect(receipt).toMatchObject({
    agrees: false,
    gone: 4,
    applied: { stored: 13, skipped: { old: 3 } },
    partitions: [
      { gone: 4, agrees: false },
      { gone: 0, agrees: true },
    ],
  });
  expect(receipt === undefined ? undefined : isGood(receipt)).toBe(false);
});

it('what the consumer has said of an earlier life of a side channel still counts', () => {
  const both = new Map([at(0), at(0, { incarnation: 'lifeTwo2', nextToRead: 0, plans: {} })]);
  expect(make(report([sent(0)]), both)).toMatchObject({ agrees: true, gone: 0 });
});

it.each<[string, SideExtents]>([
  ['what is unapplied still stands there', new Map([extent(0, 99)])],
  ['the topic is missing, or not known yet', new Map()],
])('there is none while something may still be applied: %s', (_, now) => {
  const words = new Map([at(0, { nextToRead: 60 })]);
  expect(canNotCome(report([sent(0)]), words, now)).toBe(false);
  expect(make(report([sent(0)]), words, now)).toBeUndefined();
});

it('names what the plan had lost before it was made, and is not good with a hole', () => {
  const lost = { first: 4, next: 6, kind: 'lost', afterMs: null, beforeMs: null } as const;
  const hole = { first: 20, next: 30, kind: 'hole', afterMs: 1, beforeMs: null } as const;
  const planned = (partition: number, missing: readonly (typeof lost | typeof hole)[]) => ({
    ...CHAIN,
    partition,
    ranges: [],
    records: 0,
    lakeBytes: 0,
    missing,
    clockSteps: [],
  });
  const receiptWith = (missing: readonly (typeof lost | typeof hole)[]) =>
    make(report([sent(0), sent(1)]), new Map([at(0), at(1)]), undefined, {
      ...plan,
      partitions: [planned(0, [lost]), planned(1, missing)],
    });
  const bad = receiptWith([hole]);
  expect(bad).toMatchObject({
    agrees: true,
    holes: 10,
    partitions: [{ missing: [{ first: 4, next: 6, kind: 'lost' }] }, { missing: [{ first: 20, next: 30, kind: 'hole' }] }],
  });
  const good = receiptWith([]);
  expect([bad, good].map((receipt) => receipt !== undefined && isGood(receipt))).toEqual([false, true]);
});

it('a window of nothing but canaries is good although nothing of it was stored: every consumer skips them', () => {
  const of = (skipped: Readonly<Record<string, number>>) =>
    make(report([sent(0)]), new Map([at(0, { plans: { '7-a': counts({ stored: 0, skipped }) } })]));
  expect(isGood(of({ canary: 10 }) as Receipt)).toBe(true);
  expect(isGood(of({ canary: 9, old: 1 }) as Receipt)).toBe(false);
});
