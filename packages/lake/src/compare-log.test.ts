import { describe, expect, it } from 'vitest';
import type { AuditReport, PartitionReport } from './audit.ts';
import { compareWithLogs, type LogExtent, truncations } from './compare-log.ts';
import { CHAIN } from './testing/index.ts';

const chain = (partition: number, next: number, more: Partial<PartitionReport> = {}): PartitionReport => ({
  ...CHAIN,
  partition,
  first: 0,
  next,
  objects: 1,
  rows: next,
  bytes: 1,
  beforeArchive: [],
  voids: [],
  lost: [],
  pending: null,
  ...more,
});
const log = (partition: number, logStart: number, logEnd: number, incarnation = CHAIN.incarnation): LogExtent => ({
  topic: CHAIN.topic,
  incarnation,
  partition,
  logStart,
  logEnd,
});
const lake = (...partitions: readonly PartitionReport[]): AuditReport => ({ partitions, findings: [] });

describe('what is in Kafka and not in the lake is seen', () => {
  it('a partition without a chain, a tail, and one that is archived to its end', () => {
    const { partitions, findings } = compareWithLogs(lake(chain(0, 10), chain(1, 7)), [
      log(0, 0, 10),
      log(1, 0, 9),
      log(2, 0, 5),
      log(3, 0, 0),
    ]);
    expect(findings).toEqual([]);
    expect(partitions).toMatchObject([
      { partition: 0, inLake: 10, waiting: null },
      { partition: 1, inLake: 7, waiting: { first: 7, next: 9 } },
      { partition: 2, inLake: null, waiting: { first: 0, next: 5 } },
      { partition: 3, inLake: null, waiting: null },
    ]);
  });

  it('a claim whose object is to come counts as not archived', () => {
    const pending = chain(0, 4, { pending: { first: 4, next: 9 } });
    expect(compareWithLogs(lake(pending), [log(0, 0, 9)]).partitions).toMatchObject([{ inLake: 4, waiting: { first: 4, next: 9 } }]);
  });

  it('a chain that went on while the audit ran is no finding', () => {
    const { partitions, findings } = compareWithLogs(lake(chain(0, 20)), [log(0, 0, 15)]);
    expect([partitions[0]?.waiting, findings]).toEqual([null, []]);
    expect(truncations(partitions, [log(0, 0, 20)])).toEqual([]);
  });
});

describe('what was deleted from Kafka before it was archived is a finding', () => {
  it('behind a chain that ends below the log start, also when nothing is left', () => {
    const { partitions, findings } = compareWithLogs(lake(chain(0, 10), chain(1, 10)), [log(0, 15, 20), log(1, 15, 15)]);
    expect(findings).toMatchObject([
      { kind: 'expired', partition: 0, first: 10, next: 15, detail: expect.stringContaining('the chain ends at 10') },
      { kind: 'expired', partition: 1, first: 10, next: 15 },
    ]);
    expect(partitions).toMatchObject([{ waiting: { first: 15, next: 20 } }, { waiting: null }]);
  });

  it('in a partition that was never archived while others were', () => {
    expect(compareWithLogs(lake(chain(0, 10)), [log(0, 0, 10), log(1, 3, 8)]).findings).toMatchObject([
      { kind: 'expired', partition: 1, first: 0, next: 3, detail: expect.stringContaining('there is no chain') },
    ]);
  });

  it('but not where the archive has not begun: its genesis entry will declare it', () => {
    expect(compareWithLogs(lake(), [log(0, 3, 8)])).toMatchObject({
      findings: [],
      partitions: [{ inLake: null, waiting: { first: 3, next: 8 } }],
    });
    expect(compareWithLogs(lake(chain(0, 9)), [log(0, 3, 8, 'anew_123')]).findings).toEqual([]);
  });
});

it('a log that ends below its chain is a finding', () => {
  const { partitions, findings } = compareWithLogs(lake(chain(0, 20)), [log(0, 0, 15)]);
  expect(findings).toEqual([]);
  expect(truncations(partitions, [log(0, 0, 16)])).toMatchObject([{ kind: 'truncated', partition: 0, first: 16, next: 20 }]);
});

it('a topic made anew is compared under its own id, and the chains of the earlier one are told apart', () => {
  const { partitions, past, findings } = compareWithLogs(lake(chain(0, 100), chain(0, 2, { incarnation: 'anew_123' })), [
    log(0, 0, 5, 'anew_123'),
  ]);
  expect(partitions).toMatchObject([{ incarnation: 'anew_123', inLake: 2, waiting: { first: 2, next: 5 } }]);
  expect(past).toMatchObject([{ incarnation: CHAIN.incarnation, next: 100 }]);
  expect(findings).toEqual([]);
});
