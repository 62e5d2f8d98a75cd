import { metricFaults } from '@tailrace/kafka-kit/testing';
import type { Repair } from '@tailrace/lake';
import { createLogger, createMetrics } from '@tailrace/service';
import { expect, it } from 'vitest';
import type { ArchiveEvent } from './archive-events.ts';
import { archiveLog } from './archive-log.ts';
import { ARCHIVER_METRICS } from './archive-metric-table.ts';
import { archiveMetrics } from './archive-metrics.ts';
import type { LaneArchiveView } from './lane-archive-view.ts';
import { Losses } from './losses.ts';
import { CHAIN } from './testing/sink-world.ts';

const VIEW: LaneArchiveView = {
  ...CHAIN,
  chainEnd: 10,
  spooledRows: 5,
  spoolBytes: 500,
  waitingObjects: 1,
  waitingMs: 0,
  attempt: undefined,
  problem: undefined,
  failedStep: undefined,
};

function logged(...events: ArchiveEvent[]): { readonly level: string; readonly msg: string }[] {
  const lines: string[] = [];
  const log = archiveLog(createLogger({ name: 'test', level: 'trace', to: { write: (line) => lines.push(line) } }));
  for (const event of events) log(event);
  return lines.map((line) => JSON.parse(line) as { level: string; msg: string });
}
const checked = (repair: Repair): ArchiveEvent => ({ kind: 'claim-checked', chain: CHAIN, first: 0, next: 10, repair });
const failed = (attempts: number): ArchiveEvent => ({
  kind: 'step-failed',
  chain: CHAIN,
  step: 'write to the store',
  attempts,
  cause: new Error('away'),
});

it('calls a loss a loss, as an error, and tells what passes by itself ever more rarely', () => {
  for (const repair of [{ kind: 'lost' }, { kind: 'changed' }, { kind: 'rest', from: 4 }] as const)
    expect(logged(checked(repair))).toMatchObject([{ level: 'error', msg: expect.stringContaining('RECORDS ARE LOST') }]);
  for (const event of [
    { kind: 'loss-declared', chain: CHAIN, first: 3, next: 9 },
    { kind: 'topic-made-anew', chain: CHAIN, end: 8, cutRows: 4 },
  ] as const)
    expect(logged(event)).toMatchObject([{ level: 'error', msg: expect.stringContaining('RECORDS ARE LOST') }]);
  expect(logged(checked({ kind: 'made' }))).toMatchObject([{ level: 'warn' }]);
  expect(logged(checked({ kind: 'stands' }))).toEqual([]);
  const how = { parts: 3, untyped: [7], cause: new Error('Out of Memory Error: no room\n\nPossible solutions: many') };
  const [inParts] = logged({ kind: 'built-in-parts', chain: CHAIN, first: 0, next: 10, how });
  expect(inParts).toMatchObject({
    level: 'warn',
    msg: expect.stringMatching(/1 of them .* \(the first is 7\): Out of Memory Error: no room$/),
  });
  expect(logged(...Array.from({ length: 16 }, (_, i) => failed(i + 1)))).toHaveLength(5);
});

it('tells a disk without room once per change, for all partitions together, and counts it', async () => {
  const chains = [0, 1, 2].map((partition) => ({ ...CHAIN, partition }));
  const short = chains.map((chain): ArchiveEvent => ({ kind: 'disk-short', chain, sentence: 'the disk of /data has 1 MiB free' }));
  const enough = chains.map((chain): ArchiveEvent => ({ kind: 'disk-enough', chain }));
  const lines = logged(...short, ...enough, ...short.slice(1));
  expect(lines).toMatchObject([
    { level: 'warn', msg: expect.stringContaining('the disk of /data has 1 MiB free') },
    { level: 'info', msg: expect.stringContaining('room again') },
    { level: 'warn' },
  ]);
  const registry = createMetrics();
  const observe = archiveMetrics(
    registry,
    () => [],
    () => [],
  );
  for (const event of short) observe(event);
  expect(await registry.metrics()).toContain('failed_steps_total{step="find room on the disk"} 3');
});

it('says of rows that are given up that Kafka may not have them any more', () => {
  expect(logged({ kind: 'abandoned', chain: CHAIN, rows: 7, cause: new Error('taken away') })).toMatchObject([
    { msg: expect.stringMatching(/^7 open rows of .* are given up, and read from Kafka again where it still has them: taken away$/) },
  ]);
});

it('counts what happens, and shows each partition as it is when the figures are read', async () => {
  const registry = createMetrics();
  let views = [VIEW];
  const observe = archiveMetrics(
    registry,
    () => views,
    () => [],
  );
  observe({ kind: 'object-stored', chain: CHAIN, key: 'k', first: 0, next: 10, rows: 10, sizeBytes: 700, rawBytes: 3000, tookMs: 40 });
  observe(checked({ kind: 'rest', from: 4 }));
  observe(checked({ kind: 'stands' }));
  observe(failed(1));
  observe({ kind: 'loss-declared', chain: CHAIN, first: 10, next: 13 });
  observe(checked({ kind: 'lost' }));
  observe({ kind: 'topic-made-anew', chain: CHAIN, end: 20, cutRows: 6 });
  const text = await registry.metrics();
  for (const line of [
    'tailrace_archiver_lost_records_total 17',
    'tailrace_archiver_topics_made_anew_total 1',
    'tailrace_archiver_cut_rows_total 6',
    'tailrace_archiver_rows_total 10',
    'tailrace_archiver_object_bytes_total 700',
    'tailrace_archiver_repairs_total{kind="rest"} 1',
    'tailrace_archiver_claims_with_losses_total 2',
    'tailrace_archiver_failed_steps_total{step="write to the store"} 1',
    'tailrace_archiver_chain_end_offset{topic="service-events",partition="3"} 10',
    'tailrace_archiver_spool_rows{topic="service-events",partition="3"} 5',
  ])
    expect(text).toContain(`${line}\n`);
  views = [];
  expect(await registry.metrics()).not.toContain('tailrace_archiver_chain_end_offset{');
});

it('feeds every row of the table, and only with the labels and values that the row names', async () => {
  const registry = createMetrics();
  const observe = archiveMetrics(
    registry,
    () => [VIEW],
    () => [{ ...CHAIN, kafkaMs: 2_500, lakeMs: 1_000, holeOffsets: 3 }],
  );
  const how = { parts: 3, untyped: [7], cause: new Error('odd') };
  const events: readonly ArchiveEvent[] = [
    { kind: 'object-stored', chain: CHAIN, key: 'k', first: 0, next: 10, rows: 10, sizeBytes: 700, rawBytes: 3000, tookMs: 40 },
    { kind: 'object-closed', chain: CHAIN, cause: 'idle', rows: 10 },
    { kind: 'claim-met', chain: CHAIN, first: 0, next: 10 },
    { kind: 'void-declared', chain: CHAIN, first: 10, next: 12 },
    { kind: 'built-in-parts', chain: CHAIN, first: 0, next: 10, how },
    checked({ kind: 'made' }),
    checked({ kind: 'rest', from: 4 }),
    { kind: 'topic-made-anew', chain: CHAIN, end: 10, cutRows: 2 },
    failed(1),
  ];
  for (const event of events) observe(event);
  expect(await metricFaults(registry, ARCHIVER_METRICS)).toEqual([]);
});

it('says in readiness what was lost, for as long as the process lives', () => {
  const losses = new Losses();
  losses.observe(checked({ kind: 'made' }));
  losses.observe(failed(1));
  expect(losses.check().state).toBe('ok');
  losses.observe(checked({ kind: 'rest', from: 4 }));
  expect(losses.check()).toMatchObject({
    state: 'degraded',
    sentence: expect.stringContaining('offsets 0 to 3 were claimed and never written'),
  });
  losses.observe({ kind: 'topic-made-anew', chain: CHAIN, end: 8, cutRows: 4 });
  losses.observe({ kind: 'loss-declared', chain: CHAIN, first: 10, next: 13 });
  expect(losses.check().sentence).toContain('offsets 10 to 12 were gone from Kafka before they were archived');
  expect(losses.check().sentence).toContain('after 2 other losses');
});
