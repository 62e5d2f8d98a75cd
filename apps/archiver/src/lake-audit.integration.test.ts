import { type KafkaExtents, withKafka } from '@tailrace/lake';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { auditLakeAndKafka, type LakeAudit } from './lake-audit.ts';
import { Bench } from './testing/real-servers.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const MINUTE_MS = 60_000;

const ask = <T>(work: (kafka: KafkaExtents) => Promise<T>): Promise<T> =>
  withKafka({ ...bench.config.kafka, clientId: 'audit-test' }, `${bench.id}-audit`, 'wait', work);

async function audit(allowedDelayMs = MINUTE_MS): Promise<LakeAudit> {
  return await ask((kafka) => auditLakeAndKafka(bench.ledger, kafka, { topics: [bench.topic], allowedDelayMs, nowMs: Date.now }));
}

const publish = (partition: number, count: number): Promise<void> =>
  bench.publish(
    Array.from({ length: count }, (_, i) => ({ partition, key: null, value: Buffer.from(`{"service":"s${i}"}`), headers: [] })),
  );

const sides = async (result: LakeAudit) => (result.kafka.looked ? result.kafka.partitions : []);

it('the audit tells a partition without a chain, a tail and the end of the log, as Kafka has them', async () => {
  expect(await audit()).toMatchObject({
    verdict: 'clean',
    kafka: {
      partitions: [
        { inLake: null, logEnd: 0 },
        { inLake: null, logEnd: 0 },
      ],
    },
  });

  const beforeMs = Date.now();
  await publish(0, 5);
  const unarchived = await audit();
  expect(unarchived).toMatchObject({
    verdict: 'not-all-archived',
    findings: [],
    kafka: {
      partitions: [
        { inLake: null, logEnd: 5, waiting: { first: 0, next: 5 } },
        { inLake: null, logEnd: 0, waiting: null },
      ],
    },
  });
  const [first] = await sides(unarchived);
  expect(first?.oldestWaitingMs).toBeGreaterThanOrEqual(beforeMs - 1000);
  expect(first?.oldestWaitingMs).toBeLessThanOrEqual(Date.now());
  expect(await audit(-1)).toMatchObject({ verdict: 'findings', findings: [{ kind: 'late', partition: 0, first: 0, next: 5 }] });

  const archiver = await bench.archiver('a');
  await expect.poll(async () => (await audit()).verdict, { timeout: 30_000, interval: 200 }).toBe('clean');
  await archiver.stop();
  await publish(0, 2);
  await publish(1, 3);
  expect(await audit()).toMatchObject({
    verdict: 'not-all-archived',
    kafka: {
      partitions: [
        { inLake: 5, logEnd: 7, waiting: { first: 5, next: 7 } },
        { inLake: null, logEnd: 3, waiting: { first: 0, next: 3 } },
      ],
    },
  });
}, 90_000);

it('a topic that Kafka does not have is told, and a broker that is away is one sentence', async () => {
  expect(await ask((kafka) => kafka.logs(['no-such-topic']))).toEqual([]);
  const nobody = { ...bench.config.kafka, bootstrapServers: '127.0.0.1:9', clientId: 'audit-test' };
  await expect(withKafka(nobody, 'g', 'wait', (kafka) => kafka.logs([bench.topic]))).rejects.toThrow(
    /^Kafka at 127\.0\.0\.1:9 could not be asked \(.*ECONNREFUSED.*\): wait\.$/,
  );
});
