import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PLAN, ReplayBench } from './testing/replay-bench.ts';
import { ReplayTaker } from './testing/replay-taker.ts';

let bench: ReplayBench;
let taker: ReplayTaker;
beforeAll(async () => {
  bench = await ReplayBench.open();
  await bench.makeSideTopics();
  taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
});
afterAll(async () => {
  await taker?.stop();
  await bench?.close();
});

it('a record that the side channel refuses as too large is named, and with a larger limit the same plan is sent whole', async () => {
  const baseMs = Date.now() - 60_000;
  const limit = async (from: string, to: string): Promise<void> =>
    await bench.admin.apply([{ kind: 'set-config', topic: bench.sideTopic, name: 'max.message.bytes', from, to }]);
  await bench.writeBatch(
    2,
    Array.from({ length: 9 }, (_, i) => baseMs + i),
    (i) => (i === 4 ? randomBytes(300_000) : Buffer.from('{}')),
  );
  await limit('2162688', '100000');
  const window = ['--from', new Date(baseMs).toISOString(), '--to', new Date(baseMs + 1000).toISOString()];
  const id = String((await bench.json(...PLAN, ...window)).id);
  const { code, told } = await bench.replay('run', id);
  expect(code).toBe(1);
  expect(told).toMatch(
    new RegExp(
      `Offset 4 of ${bench.topic}, partition 2, was not taken by the side channel ${bench.sideTopic} .+too large.+: raise max\\.message`,
      'i',
    ),
  );
  await limit('100000', '2162688');
  expect(await bench.json('run', id)).toMatchObject({ agrees: true, sent: { records: 9 }, applied: { stored: 9 } });
  expect(taker.offsets(2)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});
