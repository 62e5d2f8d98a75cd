import { type ChainId, chainText, type KafkaExtents, Ledger, type LogExtent } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { describe, expect, it } from 'vitest';
import { auditLakeAlone, auditLakeAndKafka, type LakeAudit } from './lake-audit.ts';
import { auditLines } from './lake-audit-lines.ts';
import { CHAIN, LAKE, NINE } from './testing/sink-world.ts';

const ALLOWED_MS = 30 * 60_000;
const ANEW = 'anew_123';

/** A ledger whose chains are declared up to these offsets. */
async function ledgerOf(ends: Readonly<Record<number, number>>): Promise<Ledger> {
  const ledger = new Ledger(new MemoryStore(), LAKE);
  for (const [partition, next] of Object.entries(ends))
    await ledger.claim({ ...CHAIN, partition: Number(partition) }, { kind: 'genesis', first: 0, next, attempt: 'g' });
  return ledger;
}

const log = (partition: number, logStart: number, logEnd: number, incarnation: string = CHAIN.incarnation): LogExtent => ({
  topic: CHAIN.topic,
  incarnation,
  partition,
  logStart,
  logEnd,
});

/** Kafka as it answers one look-up after another (the last answer stays), with every record arrived at `arrivedMs`. */
function kafkaOf(
  answers: readonly (readonly LogExtent[])[],
  arrivedMs = NINE,
): Pick<KafkaExtents, 'logs' | 'firstTimes'> & { readonly asked: ChainId[] } {
  const left = [...answers];
  const asked: ChainId[] = [];
  return {
    asked,
    logs: async () => (left.length > 1 ? left.shift() : left[0]) ?? [],
    firstTimes: async (positions) => {
      asked.push(...positions);
      return new Map(positions.map((position) => [chainText(position), arrivedMs]));
    },
  };
}

const run = async (
  ends: Readonly<Record<number, number>>,
  kafka: Pick<KafkaExtents, 'logs' | 'firstTimes'>,
  nowMs = NINE,
): Promise<LakeAudit> =>
  await auditLakeAndKafka(await ledgerOf(ends), kafka, { topics: [CHAIN.topic], allowedDelayMs: ALLOWED_MS, nowMs: () => nowMs });

describe('an audit is never called clean while Kafka holds what the lake does not', () => {
  it('clean only where every partition is archived to its end', async () => {
    const kafka = kafkaOf([[log(0, 0, 10), log(1, 5, 5), log(2, 0, 0)]]);
    expect(await run({ 0: 10, 1: 5 }, kafka)).toMatchObject({ verdict: 'clean', findings: [] });
    expect(kafka.asked).toEqual([]);
  });

  it('a tail, and a partition without a chain', async () => {
    const audit = await run({ 0: 8 }, kafkaOf([[log(0, 0, 10), log(1, 0, 3)]]), NINE + ALLOWED_MS);
    expect(audit).toMatchObject({
      verdict: 'not-all-archived',
      findings: [],
      kafka: {
        partitions: [
          { partition: 0, inLake: 8, waiting: { first: 8, next: 10 }, oldestWaitingMs: NINE },
          { partition: 1, inLake: null, waiting: { first: 0, next: 3 }, oldestWaitingMs: NINE },
        ],
      },
    });
  });

  it('beside an archiver the end that is shown is the one that the lake was held against, or the lake’s own when that is behind it', async () => {
    const answers = [
      [log(0, 0, 10), log(1, 0, 10), log(2, 0, 10)],
      [log(0, 0, 90), log(1, 0, 90), log(2, 0, 90)],
    ];
    expect((await run({ 0: 8, 1: 10, 2: 20 }, kafkaOf(answers))).kafka).toMatchObject({
      partitions: [
        { inLake: 8, logEnd: 10, waiting: { first: 8, next: 10 } },
        { inLake: 10, logEnd: 10, waiting: null },
        { inLake: 20, logEnd: 20, waiting: null },
      ],
    });
  });

  it('what waits longer than an archiver may take is a finding', async () => {
    const audit = await run({ 0: 10 }, kafkaOf([[log(0, 0, 10), log(1, 0, 3)]]), NINE + ALLOWED_MS + 1);
    expect(audit).toMatchObject({ verdict: 'findings', findings: [{ kind: 'late', partition: 1, first: 0, next: 3 }] });
  });

  it('a record of a time that is none is named as a number, and is a finding: nothing throws', async () => {
    for (const timeMs of [9e15, 2 ** 63 - 1, -(2 ** 63), 884_541_340_800_000]) {
      const audit = await run({ 0: 8 }, kafkaOf([[log(0, 0, 10)]], timeMs));
      expect(audit).toMatchObject({ verdict: 'findings', findings: [{ kind: 'late', first: 8, next: 10 }] });
      const lines = auditLines(audit, 's3://lake').join('\n');
      expect(lines.split(`${timeMs} ms since 1970`)).toHaveLength(3);
    }
  });

  it('what expired before it was archived is a finding', async () => {
    const audit = await run({ 0: 10 }, kafkaOf([[log(0, 12, 12)]]));
    expect(audit).toMatchObject({ verdict: 'findings', findings: [{ kind: 'expired', partition: 0, first: 10, next: 12 }] });
  });

  it('a log that was cut is a finding only when a look-up behind the audit says so too', async () => {
    expect(await run({ 0: 10 }, kafkaOf([[log(0, 0, 7)], [log(0, 0, 11)]]))).toMatchObject({ verdict: 'clean' });
    expect(await run({ 0: 10 }, kafkaOf([[log(0, 0, 7)]]))).toMatchObject({ findings: [{ kind: 'truncated', first: 7, next: 10 }] });
  });

  it('the chain of a topic that was made anew does not count for the new one', async () => {
    const audit = await run({ 0: 10 }, kafkaOf([[log(0, 0, 4, ANEW)]]));
    expect(audit).toMatchObject({
      verdict: 'not-all-archived',
      kafka: { partitions: [{ incarnation: ANEW, inLake: null }], past: [{ incarnation: CHAIN.incarnation, next: 10 }] },
    });
  });

  it('without Kafka, and without the topic in it', async () => {
    expect(await auditLakeAlone(await ledgerOf({ 0: 10 }), '--no-kafka')).toMatchObject({
      verdict: 'kafka-not-compared',
      kafka: { looked: false, reason: '--no-kafka' },
    });
    expect(await run({ 0: 10 }, kafkaOf([[]]))).toMatchObject({ verdict: 'kafka-not-compared', kafka: { missingTopics: [CHAIN.topic] } });
  });
});
