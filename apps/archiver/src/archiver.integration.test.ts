import { auditLake, type ObjectStore } from '@tailrace/lake';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Bench } from './testing/real-servers.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await Bench.open();
});
afterEach(async () => {
  await bench.close();
});

const values: readonly (Buffer | null)[] = [
  Buffer.from('{"timestamp":"2026-01-31T23:59:59.123Z","service":"a","latency_ms":1.5}'),
  Buffer.from('{"service":"b","latency_ms":87.0}'),
  Buffer.from('{"service":"c"'),
  Buffer.from([0xff, 0x00, 0x0a, 0x09, 0x2d]),
  Buffer.from('two\nlines\twith tabs\r\n'),
  null,
];

/** `count` records over both partitions, with everything that a record can carry. */
const records = (count: number, mark: string) =>
  Array.from({ length: count }, (_, i) => ({
    partition: i % 2,
    key: i % 3 === 0 ? null : Buffer.from([i % 256, 0, 9, 10]),
    value: i % 5 === 0 ? Buffer.from(JSON.stringify({ service: mark, bytes: i })) : (values[i % values.length] ?? null),
    headers:
      i % 4 === 0
        ? []
        : ([
            ['event.type', Buffer.from('service-event')],
            ['x', Buffer.from([0, 255, i % 256])],
            ['x', Buffer.from('again')],
          ] as const),
  }));

async function lakeIsTheLog(perPartition: number): Promise<void> {
  for (const chain of await bench.chains()) {
    const kafka = await bench.inKafka(chain, 0, perPartition);
    expect(kafka).toHaveLength(perPartition);
    expect(await bench.inLake(chain)).toEqual(kafka);
  }
  expect((await auditLake(bench.ledger)).findings).toEqual([]);
}

const archivedRows = async (): Promise<number> => (await auditLake(bench.ledger)).partitions.reduce((sum, { rows }) => sum + rows, 0);
const untilArchived = (rows: number) => vi.waitFor(async () => expect(await archivedRows()).toBe(rows), { timeout: 40_000, interval: 200 });

describe('the archiver on real servers', () => {
  it('brings every record into the lake, byte for byte, and a restart goes on where the chain ends', async () => {
    await bench.publish(records(600, 'first'));
    const first = await bench.archiver('a');
    await untilArchived(600);
    expect(await first.stop()).toMatchObject({ abandonedRecords: 0, settledRecords: 600, committed: true });
    await bench.publish(records(400, 'second'));
    const second = await bench.archiver('a');
    await untilArchived(1000);
    await second.stop();
    expect(second.events.filter(({ kind }) => kind === 'object-stored')).toHaveLength(2);
    await lakeIsTheLog(500);
  });

  it('does not need its commits: a group that lost them goes on at the chain’s end', async () => {
    await bench.publish(records(100, 'first'));
    await (await bench.archiver('a')).stop();
    await bench.archiver('a');
    await untilArchived(100);
    await bench.publish(records(100, 'second'));
    await bench.archiver('another-group');
    await untilArchived(200);
    await lakeIsTheLog(100);
  });

  it('makes the object of a claim whose archiver died before it wrote it', async () => {
    await bench.publish(records(300, 'first'));
    /** The store as a process sees it that dies right after its claim: no object is ever put. */
    const dying: ObjectStore = new Proxy(bench.store, {
      get(store, name) {
        if (name === 'putIfAbsent')
          return async (key: string, body: Buffer) => {
            if (key.endsWith('.parquet')) throw new Error('killed here');
            return await store.putIfAbsent(key, body);
          };
        const value: unknown = Reflect.get(store, name);
        return typeof value === 'function' ? value.bind(store) : value;
      },
    });
    const dead = await bench.archiver('a', dying);
    await vi.waitFor(
      async () => expect((await auditLake(bench.ledger)).partitions.filter(({ pending }) => pending !== null)).toHaveLength(2),
      { timeout: 40_000 },
    );
    await bench.publish(records(100, 'later'));
    const next = await bench.archiver('b');
    await untilArchived(400);
    await dead.stop();
    const repairs = next.events.flatMap((event) => (event.kind === 'claim-checked' ? [event.repair.kind] : []));
    expect(repairs).toEqual(['made', 'made']);
    await lakeIsTheLog(200);
  });

  it('goes on behind the transactions of a foreign producer: committed records are rows, and the rest is declared void', async () => {
    await bench.transactions(async (producer, topic) => {
      const transaction = async (mark: string, how: 'commit' | 'abort') => {
        await producer.begin();
        for (const partition of [0, 1]) await producer.write(topic, partition, [`${mark} 0`, `${mark} 1`, `${mark} 2`]);
        await producer.end(how);
      };
      await bench.publish(records(20, 'before'));
      const first = await bench.archiver('a');
      await transaction('kept', 'commit');
      await transaction('aborted', 'abort');
      await bench.publish(records(20, 'between'));
      await untilArchived(46);
      await first.stop();
      await transaction('kept too', 'commit');
      await bench.publish(records(20, 'behind'));
      await bench.archiver('a');
      await untilArchived(72);
    });
    const { findings, partitions } = await auditLake(bench.ledger);
    expect(findings).toEqual([]);
    // Each marker is an offset, and so is each record that was aborted.
    expect(partitions.map(({ next, voids }) => ({ next, voids }))).toEqual(
      [0, 1].map(() => ({
        next: 42,
        voids: [
          { first: 13, next: 18 },
          { first: 31, next: 32 },
        ],
      })),
    );
    for (const chain of await bench.chains()) {
      const values = (await bench.inLake(chain)).map(({ value }) => value?.toString());
      expect(values.filter((value) => value?.startsWith('kept'))).toEqual([
        'kept 0',
        'kept 1',
        'kept 2',
        'kept too 0',
        'kept too 1',
        'kept too 2',
      ]);
      expect(values.some((value) => value?.startsWith('aborted'))).toBe(false);
    }
  });

  it('covers everything once although two archivers own the same partitions and race for each claim', async () => {
    const archivers = await Promise.all([bench.archiver('a'), bench.archiver('b'), bench.archiver('c')]);
    for (let round = 0; round < 5; round++) {
      await bench.publish(records(200, `round ${round}`));
      await untilArchived(200 * (round + 1));
    }
    for (const archiver of archivers) expect(await archiver.stop()).toMatchObject({ settledRecords: 1000, abandonedRecords: 0 });
    const met = archivers.flatMap(({ events }) => events).filter(({ kind }) => kind === 'claim-met');
    // Else they never raced, and the test shows nothing.
    expect(met.length).toBeGreaterThan(0);
    await lakeIsTheLog(500);
  });
});
