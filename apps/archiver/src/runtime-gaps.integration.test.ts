import { connectAdmin } from '@tailrace/kafka-kit';
import { deleteRecordsBefore } from '@tailrace/kafka-kit/testing';
import { auditLake } from '@tailrace/lake';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(async () => {
  await bench.close();
});

const publish = (count: number): Promise<void> =>
  bench.publish(
    Array.from({ length: count }, (_, i) => ({ partition: i % 2, key: null, value: Buffer.from(`{"service":"s${i}"}`), headers: [] })),
  );
const rows = async (): Promise<number> => (await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0);
const untilArchived = (count: number) => vi.waitFor(async () => expect(await rows()).toBe(count), { timeout: 60_000, interval: 200 });
const deleteBefore = (partition: number, offset: number): Promise<void> =>
  deleteRecordsBefore({ ...bench.config.kafka, clientId: 'archiver-test' }, { topic: bench.topic, partition }, offset);

it('what Kafka deleted while the archiver was stopped is declared lost to the exact offset, and it goes on at once', async () => {
  await publish(100);
  const first = await bench.archiver('a');
  await untilArchived(100);
  await first.stop();
  await publish(100);
  await deleteBefore(0, 70);
  const next = await bench.archiver('a');
  await untilArchived(180);
  expect(next.runtime.lanes().map(({ phase }) => phase)).toEqual(['running', 'running']);
  await publish(20);
  await untilArchived(200);
  await next.stop();
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  expect(partitions).toMatchObject([
    { next: 110, rows: 90, lost: [{ first: 50, next: 70 }] },
    { next: 110, rows: 110, lost: [] },
  ]);
});

it('a topic made anew under a running archiver ends the old chain and begins a new one, without a restart', async () => {
  await publish(100);
  const running = await bench.archiver('a');
  await untilArchived(100);
  const [old] = await bench.chains();
  const admin = await connectAdmin({ ...bench.config.kafka, clientId: 'archiver-test' });
  await admin.deleteTopics([bench.topic]);
  await bench.make(admin);
  await admin.close();
  await publish(40);
  await untilArchived(140);
  const { findings, partitions } = await auditLake(bench.ledger);
  expect(findings).toEqual([]);
  expect(partitions.filter(({ incarnation }) => incarnation === old?.incarnation)).toMatchObject([
    { next: 50, rows: 50, lost: [] },
    { next: 50, rows: 50, lost: [] },
  ]);
  expect(partitions.filter(({ incarnation }) => incarnation !== old?.incarnation)).toMatchObject([
    { next: 20, rows: 20, lost: [] },
    { next: 20, rows: 20, lost: [] },
  ]);
  expect(running.runtime.lanes().map(({ phase }) => phase)).toEqual(['running', 'running']);
  expect(running.events.filter(({ kind }) => kind === 'topic-made-anew')).toHaveLength(2);
}, 120_000);
