import { randomInt } from 'node:crypto';
import { auditLake, StoreError } from '@tailrace/lake';
import { MemoryStore } from '@tailrace/lake/testing';
import { expect, it } from 'vitest';
import { batchOf, CHAIN, laneOf, logRecords, NINE, SinkWorld } from './testing/sink-world.ts';

const LOG_END = 120;
const RUNS = 6;
/** Every fourth record arrives in the next hour or back in the first: objects stay small. */
const timeOf = (offset: number): number => NINE + Math.floor(offset / 25) * 3_600_000;

function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** An archiver that reads the log from where its sink says, until it is revoked, aborted or at the log's end. */
async function live(world: SinkWorld, pick: (below: number) => number): Promise<void> {
  const lane = new AbortController();
  const assigned = await assignUntilReached(world);
  const writes: Promise<unknown>[] = [];
  const lives = 3 + pick(12);
  let at = assigned;
  for (let i = 0; i < lives && at < LOG_END; i++) {
    const next = Math.min(LOG_END, at + 1 + pick(12));
    // Rejected or not is all the same here: what counts is what stands in the lake at the end.
    writes.push(world.sink.write(batchOf(logRecords(at, next, timeOf)), lane.signal).catch(() => undefined));
    at = next;
    if (pick(3) === 0) await new Promise((resolve) => setTimeout(resolve, pick(20)));
  }
  const ending = pick(3);
  if (ending === 0) await world.sink.flush('revoke', [CHAIN]);
  else if (ending === 1) await world.sink.flush('stop', [CHAIN]);
  else lane.abort();
  await Promise.all(writes);
}

async function assignUntilReached(world: SinkWorld): Promise<number> {
  for (;;) {
    try {
      return (await world.sink.assign(laneOf({ logEnd: LOG_END }))).startAt;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }
}

it(`has every record exactly once, whatever fails and whoever takes over (${RUNS} random runs)`, async () => {
  for (let run = 0; run < RUNS; run++) {
    const seed = randomInt(2 ** 31);
    const pick = numbers(seed);
    let calm = false;
    const fail = async (): Promise<void> => {
      if (calm) return;
      if (pick(4) === 0) await new Promise((resolve) => setTimeout(resolve, pick(10)));
      if (pick(10) === 0) throw new StoreError('memory is away');
    };
    const store = new MemoryStore(fail, fail);
    const options = { store, timeOf, idleMs: 5, rotation: { maxRows: 20 } };
    // Two at once: the owner, and one that does not know that it no longer is.
    const worlds = await Promise.all([SinkWorld.open(options), SinkWorld.open(options)]);
    await Promise.all(
      worlds.map(async (world) => {
        for (let life = 0; life < 4; life++) await live(world, pick);
      }),
    );
    calm = true;
    const last = await SinkWorld.open(options);
    const startAt = await assignUntilReached(last);
    if (startAt < LOG_END) await last.sink.write(batchOf(logRecords(startAt, LOG_END, timeOf)), new AbortController().signal);
    const objects = await last.archived();
    expect(objects.flat(), `seed ${seed}`).toEqual(logRecords(0, LOG_END, timeOf));
    const { findings, partitions } = await auditLake(last.ledger);
    expect(findings, `seed ${seed}`).toEqual([]);
    expect(partitions, `seed ${seed}`).toMatchObject([{ ...CHAIN, next: LOG_END, rows: LOG_END, lost: [] }]);
    for (const world of [...worlds, last]) await world.close();
  }
}, 60_000);
