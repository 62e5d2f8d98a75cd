import { commitGroupOffsets, GroupIsLive } from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { auditLake } from '@tailrace/lake';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

const TIMEOUT_MS = 20_000;

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(async () => {
  await bench.close();
});

const publish = (count: number): Promise<void> =>
  bench.publish(Array.from({ length: count }, (_, i) => ({ partition: i % 2, key: null, value: Buffer.from(`{"service":"s${i}"}`) })));
const untilArchived = (rows: number) =>
  vi.waitFor(async () => expect((await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0)).toBe(rows), {
    timeout: 60_000,
    interval: 200,
  });
const settings = () => ({ ...bench.config.kafka, clientId: 'archiver-test' });

/** No offset is twice, and none is missing: `rows` in both partitions together, and nothing declared. */
async function isClean(next: number): Promise<void> {
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  expect(partitions).toMatchObject([
    { next, rows: next, lost: [], voids: [] },
    { next, rows: next, lost: [], voids: [] },
  ]);
  for (const chain of await bench.chains()) expect(await bench.inLake(chain)).toHaveLength(next);
}

it('a reset of the stopped group to the earliest, the latest and any other offset changes nothing; a running one is refused', async () => {
  const group = `${bench.id}-a`;
  const reset = (nextToRead: number): Promise<void> =>
    commitGroupOffsets(
      settings(),
      group,
      [0, 1].map((partition) => ({ topic: bench.topic, partition, nextToRead })),
      TIMEOUT_MS,
    );
  const random = Math.floor(Math.random() * 100);
  let each = 50;
  await publish(100);
  for (const to of [0, 'end', random] as const) {
    const archiver = await bench.archiver('a');
    await untilArchived(each * 2);
    await expect(reset(1)).rejects.toThrow(GroupIsLive);
    await archiver.stop();
    // What is written while nobody reads: a reset to the end would pass over it.
    await publish(100);
    each += 50;
    await reset(to === 'end' ? each : to);
  }
  await bench.archiver('a');
  await untilArchived(each * 2);
  await isClean(each);
});

it('an archiver that was stopped while another one archived, and Kafka then deleted all of it, goes on behind it without a loss', async () => {
  await publish(100);
  const first = await bench.archiver('a');
  await untilArchived(100);
  await first.stop();
  const second = await bench.archiver('b');
  await publish(100);
  await untilArchived(200);
  for (const partition of [0, 1]) await deleteRecordsBefore(settings(), { topic: bench.topic, partition }, 90);
  await bench.archiver('a');
  await publish(100);
  await untilArchived(300);
  await second.stop();
  await isClean(150);
});
