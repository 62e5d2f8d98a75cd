import type { ChannelPosition, OutgoingRecord } from '@tailrace/kafka-kit';
import { lifeKey, planMark, type Receipt, type SentReport, type SideExtents, type StoredPlan, sideKey } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { receiptLines } from './receipt-lines.ts';
import { settleRun } from './settle-run.ts';

const plan: StoredPlan = {
  id: 7,
  attempt: '0a1b2c3d-0000',
  madeAtMs: 1,
  stream: 's',
  into: 'indexer',
  window: { fromMs: 1, toMs: 2, by: 'broker', skewMs: 0 },
  partitions: [],
};
const CHECKSUM = '00000000000000ff';
const report: SentReport = {
  plan: 7,
  endedAtMs: 3,
  cancelled: false,
  partitions: [
    {
      topic: 'events',
      incarnation: 'lifeOne1',
      partition: 0,
      sideTopic: 'side',
      sideIncarnation: 'sideLife',
      sideNext: 10,
      records: 10,
      bytes: 50,
      checksum: CHECKSUM,
      fromLake: 10,
      fromKafka: 0,
      lost: 0,
      beforeArchive: 0,
      voids: 0,
    },
  ],
};
const TOMBSTONE: OutgoingRecord = { topic: 'positions', partition: 0, key: Buffer.from('k'), value: null };

/** A run of which everything was sent, ten records, and six were applied, as the consumer says of the life that they were sent into. */
async function settled(isCancelled: boolean, now: SideExtents) {
  let receipt: Receipt | undefined;
  const published: OutgoingRecord[] = [];
  const counts = { through: 5, stored: 6, skipped: {}, dead: 0, retried: 0, checksum: '0000000000000001' };
  const position: ChannelPosition = {
    topic: 'side',
    partition: 0,
    incarnation: 'sideLife',
    nextToRead: 6,
    plans: { [planMark(plan)]: counts },
  };
  const kind = await settleRun(
    { id: 1, order: { attempt: 'a', plan: 7, madeAtMs: 2 }, isSent: true, isCancelled, hasReceipt: false },
    plan,
    {
      runs: {
        receipt: async () => receipt,
        sent: async () => report,
        putReceipt: async (_, made) => {
          receipt ??= made;
          return receipt;
        },
      },
      state: {
        channels: new Map([[lifeKey('side', 'sideLife', 0), position]]),
        tombstones: (mark) => (mark === '7-0a1b2c3d' ? [TOMBSTONE] : []),
      },
      extents: async () => now,
      publish: async (records) => {
        published.push(...records);
      },
      nowMs: () => 9,
    },
  );
  return { kind, receipt, published };
}

const madeAnew: SideExtents = new Map([[sideKey('side', 0), { incarnation: 'lifeTwo2', logStart: 0 }]]);
const emptied: SideExtents = new Map([[sideKey('side', 0), { incarnation: 'sideLife', logStart: 10 }]]);
const stands: SideExtents = new Map([[sideKey('side', 0), { incarnation: 'sideLife', logStart: 7 }]]);

it.each([
  ['made anew', madeAnew],
  ['emptied', emptied],
])('a cancelled run whose side channel was %s has a receipt that says how many are gone, and its words are taken away', async (_, now) => {
  const { kind, receipt, published } = await settled(true, now);
  expect(kind.kind).toBe('over');
  expect(receipt).toMatchObject({ agrees: false, gone: 4, applied: { stored: 6 } });
  expect(published).toEqual([TOMBSTONE]);
  const lines = receipt === undefined ? [] : receiptLines(receipt);
  expect(lines).toContainEqual(expect.stringMatching(/applied 6 stored; 4 NOT APPLIED$/));
  expect(lines.at(-1)).toMatch(/^4 records of what was sent were not seen to be applied, and can not come any more: /);
});

it.each([
  ['made anew', madeAnew],
  ['emptied', emptied],
])('one that nobody has cancelled is told to be stuck: %s', async (_, now) => {
  const { kind, receipt } = await settled(false, now);
  expect(kind).toMatchObject({ kind: 'applying', left: 4, isStuck: true });
  expect(receipt).toBeUndefined();
});

it.each([true, false])('while what is unapplied still stands there it is waited for, cancelled or not: %s', async (isCancelled) => {
  const { kind, published } = await settled(isCancelled, stands);
  expect(kind).toMatchObject({ kind: 'applying', left: 4, isStuck: false });
  expect(published).toEqual([]);
});
