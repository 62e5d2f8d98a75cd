import { randomInt } from 'node:crypto';
import { auditLake, Database, decodeObject, S3Store } from '@tailrace/lake';
import { FaultyProxy, inFolder, type ProxyFault } from '@tailrace/lake/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

let bench: Bench;
let proxy: FaultyProxy;
let store: S3Store;
beforeEach(async () => {
  bench = await Bench.open();
  proxy = await FaultyProxy.open(bench.config.s3.endpoint ?? '');
  store = new S3Store({ ...bench.config.s3, endpoint: proxy.url });
});
afterEach(async () => {
  store.close();
  await bench.close();
  await proxy.close();
});

const BATCHES = 12;
const IN_A_BATCH = 100;
const FAULTS: readonly ProxyFault[] = [
  { kind: 'refused' },
  { kind: 'dropped' },
  { kind: 'lost' },
  { kind: 'lost' },
  { kind: 'slow', delayMs: 300 },
];

/** A small generator of whole numbers in [0, below). */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

it('has every record once, byte for byte, although every third request to the store fails, is slow or loses its answer', async () => {
  const seed = randomInt(2 ** 31);
  const pick = numbers(seed);
  const archivers = await Promise.all(['a', 'b'].map((group) => bench.archiver(group, store)));
  proxy.fault = () => (pick(3) === 0 ? (FAULTS[pick(FAULTS.length)] ?? { kind: 'none' }) : { kind: 'none' });
  const rows = async (): Promise<number> => (await auditLake(bench.ledger)).partitions.reduce((sum, each) => sum + each.rows, 0);
  for (let batch = 0; batch < BATCHES; batch++) {
    await bench.publish(
      Array.from({ length: IN_A_BATCH }, (_, i) => ({
        partition: i % 2,
        key: Buffer.from([batch, i]),
        value: i % 7 === 0 ? Buffer.from([255, batch, i]) : Buffer.from(`{"service":"s${i}","latency_ms":${batch}.5}`),
        headers: [],
      })),
    );
    // Each in objects of its own: many requests.
    const least = batch * IN_A_BATCH;
    await vi.waitFor(async () => expect(await rows()).toBeGreaterThan(least), { timeout: 60_000, interval: 100 });
  }
  const records = BATCHES * IN_A_BATCH;
  await vi.waitFor(async () => expect(await rows(), `seed ${seed}`).toBe(records), { timeout: 120_000, interval: 500 });
  proxy.fault = () => ({ kind: 'none' });
  for (const archiver of archivers) await archiver.stop();
  for (const kind of ['refused', 'dropped', 'lost', 'slow'] as const) expect(proxy.made.get(kind), kind).toBeGreaterThan(0);
  const failed = archivers.flatMap(({ events }) => events.filter((event) => event.kind === 'step-failed'));
  expect(failed.length).toBeGreaterThan(0);
  for (const chain of await bench.chains())
    expect(await bench.inLake(chain), `seed ${seed}`).toEqual(await bench.inKafka(chain, 0, records / 2));
  const database = await Database.open();
  await inFolder(async (folder) => {
    expect((await auditLake(bench.ledger, { lookInto: decodeObject(database, folder) })).findings, `seed ${seed}`).toEqual([]);
  });
  database.close();
}, 240_000);
