import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { at, PLAN, ReplayBench } from './testing/replay-bench.ts';
import { ReplayTaker } from './testing/replay-taker.ts';

const WAIT = { timeout: 20_000, interval: 50 };
/** Of partition 0's offsets [10, 95), and what of partition 1 arrived beside them. */
const RECORDS = 85 + 43;

let bench: ReplayBench;
let taker: ReplayTaker | undefined;
beforeAll(async () => {
  bench = await ReplayBench.open();
  await bench.makeSideTopics();
  await bench.fill();
});
afterEach(async () => {
  await taker?.stop();
  taker = undefined;
});
afterAll(() => bench?.close());

async function planned(from = 10, to = 95): Promise<string> {
  return String((await bench.json(...PLAN, '--from', at(0, from), '--to', at(0, to))).id);
}

/** What is gone is said by all who are asked; `cancel` ends it, and the next run goes through. */
async function endsByCancel(id: string, gone: number): Promise<void> {
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 0, out: expect.stringMatching(/NOT APPLIED/) });
  expect(await bench.json('receipt', id)).toMatchObject({ complete: true, agrees: false, gone, sent: { records: gone } });
  expect((await bench.replay('receipt', id)).code).toBe(1);
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 2, told: expect.stringMatching(/there is nothing left to cancel/) });
  taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
  expect(JSON.parse((await bench.replay('run', await planned(), '--json')).out)).toMatchObject({
    agrees: true,
    sent: { records: RECORDS },
  });
}

it('the side channel is made anew when all was sent: nothing blocks for good', async () => {
  const id = await planned();
  expect((await bench.replay('run', id, '--detach')).code).toBe(0);
  await bench.remakeSideTopic();
  expect(await bench.replay('receipt', id)).toMatchObject({
    code: 1,
    out: expect.stringMatching(new RegExp(`some can not come any more: .+replay cancel ${id} ends it`)),
  });
  await endsByCancel(id, RECORDS);
});

it('its records are deleted before they were applied: nothing blocks for good', async () => {
  const id = await planned();
  expect((await bench.replay('run', id, '--detach')).code).toBe(0);
  for (const { partition, logEnd } of await bench.admin.groupLag('nobody', [bench.sideTopic]))
    if (logEnd > 0) await bench.deleteBefore(partition, logEnd, bench.sideTopic);
  expect(await bench.json('receipt', id)).toMatchObject({ complete: false, stuck: true });
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 0, out: expect.stringMatching(/NOT APPLIED/) });
  expect(await bench.json('receipt', id)).toMatchObject({ agrees: false, gone: RECORDS });
  expect((await bench.json('ls')).plans.at(-1)).toMatchObject({ state: 'done' });
});

it('begun, killed, and the side channel made anew: cancel ends it with what had been sent', async () => {
  const id = await planned();
  const before = await bench.sideRecords();
  // Once a second it is written down how far it got, and two seconds of it are sent.
  const run = bench.process('run', id, '--rate', '600', '--detach');
  await expect.poll(async () => (await bench.sideRecords()) - before > 100 || !run.isRunning, WAIT).toBe(true);
  await run.kill();
  await bench.remakeSideTopic();
  expect(await bench.replay('run', id)).toMatchObject({ code: 1, told: expect.stringMatching(/was made anew since plan/) });
  const { code, out } = await bench.replay('cancel', id, '--json');
  expect(code).toBe(0);
  const { sent } = JSON.parse(out);
  expect(sent.records).toBeGreaterThan(0);
  await endsByCancelled(id, sent.records);
});

async function endsByCancelled(id: string, gone: number): Promise<void> {
  expect(await bench.json('receipt', id)).toMatchObject({ complete: true, cancelled: true, agrees: false, gone, sent: { records: gone } });
  taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
  expect(JSON.parse((await bench.replay('run', await planned(), '--json')).out)).toMatchObject({
    agrees: true,
    sent: { records: RECORDS },
  });
}

it('cancelled when all was sent and still stands there: a later run goes on at once, and both are applied', async () => {
  const id = await planned(10, 40);
  expect((await bench.replay('run', id, '--detach')).code).toBe(0);
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 0, out: expect.stringMatching(/no later run waits for it/) });
  const next = await planned(40, 60);
  expect((await bench.replay('run', next, '--detach')).code).toBe(0);
  taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
  for (const each of [id, next]) {
    await expect.poll(async () => (await bench.json('receipt', each)).complete, WAIT).toBe(true);
    expect(await bench.replay('receipt', each)).toMatchObject({ code: 0 });
  }
});
