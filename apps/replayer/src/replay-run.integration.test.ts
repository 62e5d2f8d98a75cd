import { afterAll, beforeAll, expect, it } from 'vitest';
import { at, PLAN, ReplayBench, timeOf } from './testing/replay-bench.ts';
import { ReplayTaker } from './testing/replay-taker.ts';

let bench: ReplayBench;
let taker: ReplayTaker;
beforeAll(async () => {
  bench = await ReplayBench.open();
  await bench.makeSideTopics();
  await bench.fill();
  taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
});
afterAll(async () => {
  await taker?.stop();
  await bench?.close();
});

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** Plans the window of partition 0's offsets `[from, to)`. */
async function planned(from: number, to: number, ...more: readonly string[]): Promise<string> {
  taker.taken.clear();
  return String((await bench.json(...PLAN, '--from', at(0, from), '--to', at(0, to), ...more)).id);
}

it('a window is sent from the lake and from Kafka, joined, each record of it once, and the receipt says so', async () => {
  await bench.deleteBefore(0, 40);
  // [35, 40) only in the lake, [40, 60) in both, [60, 70) in Kafka alone; exactly at --from is in it, exactly at --to is not.
  const id = await planned(35, 70);
  expect(await bench.replay('receipt', id)).toMatchObject({ code: 2, told: expect.stringMatching(/was not run/) });
  const dry = await bench.json('run', id, '--dry-run');
  expect(dry).toMatchObject({ records: 52, fromLake: 27, fromKafka: 25 });
  expect(taker.taken.size).toBe(0);

  const { code, out } = await bench.replay('run', id, '--json');
  const receipt = JSON.parse(out);
  expect(taker.offsets(0)).toEqual(range(35, 70));
  expect(taker.offsets(1)).toEqual(range(18, 35));
  expect(
    [...taker.taken.values()].every(
      ({ times, value, offset, notes }) => times === 1 && value === `{"service":"s${offset}"}` && notes['replay.plan'] === id,
    ),
  ).toBe(true);
  expect(receipt).toMatchObject({
    complete: true,
    agrees: true,
    cancelled: false,
    sent: { records: 52, fromLake: 27, fromKafka: 25 },
    applied: { stored: 52, dead: 0 },
  });
  expect(receipt.applied.checksum).toBe(receipt.sent.checksum);
  expect(code).toBe(0);

  expect(await bench.json('receipt', id)).toEqual(receipt);
  expect((await bench.replay('receipt', id)).out).toMatch(/\nEverything was applied exactly once: the checksums agree\.\n$/);
  expect((await bench.json('ls')).plans.at(-1)).toMatchObject({ state: 'done' });
  expect(await bench.json('show', id)).toMatchObject({ state: 'done' });
  expect(await bench.replay('run', id)).toMatchObject({ code: 2, told: expect.stringMatching(/was run already/) });
  expect(timeOf(0, 35)).toBe(receipt.window.fromMs);
});
