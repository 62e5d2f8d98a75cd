import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { at, PLAN, ReplayBench } from './testing/replay-bench.ts';
import { ReplayTaker } from './testing/replay-taker.ts';
import type { RunProcess } from './testing/run-process.ts';

/** Of partition 0's offsets [10, 95), and what of partition 1 arrived beside them. */
const RECORDS = 85 + 43;
/** A record has 14 or 15 bytes: about forty a second, a few at a time. */
const SLOWLY = ['--rate', '600'];
/** Processes begin from their sources, beside all other tests. */
const WAIT = { timeout: 40_000, interval: 50 };

let bench: ReplayBench;
beforeAll(async () => {
  bench = await ReplayBench.open();
  await bench.makeSideTopics();
  await bench.fill();
});
afterAll(() => bench?.close());

let before: number;
beforeEach(async () => {
  before = await bench.sideRecords();
});
afterEach(() => bench.endRuns());

const sent = async (): Promise<number> => (await bench.sideRecords()) - before;

/** Waits until a run that still goes on has sent so many records, and otherwise says what it told. */
async function hasSent(run: RunProcess, records: number): Promise<void> {
  await vi.waitFor(async () => {
    const there = await sent();
    if (there < records) throw new Error(`${there} records are sent; it told: ${run.told}`);
  }, WAIT);
  expect(run.isRunning, run.told).toBe(true);
}

async function planned(): Promise<string> {
  return String((await bench.json(...PLAN, '--from', at(0, 10), '--to', at(0, 95))).id);
}

/** Runs what a real consumer of the side channel does beside it. */
async function withTaker(work: (taker: ReplayTaker) => Promise<void>): Promise<void> {
  const taker = await ReplayTaker.start(bench.settings, bench.topic, bench.positionsTopic);
  try {
    await work(taker);
  } finally {
    await taker.stop();
  }
}

it('killed with kill -9 again and again and resumed, the receipt is true and each record is counted once', async () => {
  const id = await planned();
  for (const [kill, upTo] of [1, 30, 70].entries()) {
    const run = bench.process('run', id, ...SLOWLY, '--detach');
    await hasSent(run, upTo);
    await run.kill();
    if (kill > 0) expect(run.told).toContain('goes on behind what stands in the side channel');
  }
  expect(await bench.json('receipt', id)).toMatchObject({ complete: false, sent: false });
  expect((await bench.json('ls')).plans.at(-1)).toMatchObject({ state: 'begun' });
  expect(await bench.replay('run', id, '--detach')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Plan \d+ is sent, and indexer applies it/),
  });
  expect(await bench.json('show', id)).toMatchObject({ state: 'sent' });
  expect((await bench.replay('receipt', id)).code).toBe(1);
  await withTaker(async (taker) => {
    await expect.poll(() => taker.taken.size, WAIT).toBe(RECORDS);
    await expect.poll(async () => (await bench.replay('receipt', id)).code, WAIT).toBe(0);
    const receipt = await bench.json('receipt', id);
    expect(receipt).toMatchObject({ agrees: true, sent: { records: RECORDS }, applied: { stored: RECORDS } });
    expect(receipt.applied.checksum).toBe(receipt.sent.checksum);
  });
});

it('Ctrl-C says how to go on, and with that it does', async () => {
  const id = await planned();
  const run = bench.replay('run', id, ...SLOWLY);
  await expect.poll(sent, WAIT).toBeGreaterThan(5);
  bench.interrupted.abort();
  const { code, told } = await run;
  expect(code).toBe(130);
  expect(told).toMatch(
    new RegExp(`Interrupted: npx tailrace replay run ${id} goes on where it stopped, and npx tailrace replay cancel ${id} ends it\\.\n$`),
  );
  const there = await sent();
  expect(there).toBeLessThan(RECORDS);
  bench.interrupted = new AbortController();
  await withTaker(async () => {
    const { code: done, out } = await bench.replay('run', id, '--json');
    expect(JSON.parse(out)).toMatchObject({ agrees: true, sent: { records: RECORDS }, applied: { stored: RECORDS } });
    expect(done).toBe(0);
  });
  // What stood there was not sent again.
  expect(await sent()).toBe(RECORDS);
});

it('cancelled while it is sent: it stops, what stands on the side channel is applied, and the receipt says so', async () => {
  const id = await planned();
  const run = bench.replay('run', id, ...SLOWLY);
  await expect.poll(sent, WAIT).toBeGreaterThan(5);
  expect(await bench.replay('cancel', id)).toMatchObject({
    code: 0,
    out: expect.stringMatching(new RegExp(`^Plan ${id} is cancelled: nothing more of it is sent\\.\n`)),
  });
  const there = await sent();
  expect(there).toBeLessThan(RECORDS);
  expect(await bench.json('show', id)).toMatchObject({ state: 'cancelled' });
  await withTaker(async () => {
    const { code, out } = await run;
    expect(out).toMatch(/\nThe run was cancelled: what had been sent was applied, and the rest of the plan was not sent\.\n$/);
    expect(code).toBe(1);
  });
  expect(await bench.json('receipt', id)).toMatchObject({
    cancelled: true,
    agrees: true,
    sent: { records: there },
    applied: { stored: there },
  });
  expect(await bench.replay('run', id)).toMatchObject({
    code: 2,
    told: expect.stringMatching(/ was cancelled\. To send the window once more, make a new plan/),
  });
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 2, told: expect.stringMatching(/there is nothing left to cancel/) });
});

it('cancelled behind a sender that was killed: what it had sent is found on the side channel', async () => {
  const id = await planned();
  const run = bench.process('run', id, ...SLOWLY, '--detach');
  await hasSent(run, 21);
  await run.kill();
  const there = await sent();
  expect((await bench.replay('cancel', id)).code).toBe(0);
  await withTaker(async () => {
    await expect.poll(async () => (await bench.json('receipt', id)).complete, WAIT).toBe(true);
  });
  expect(await bench.json('receipt', id)).toMatchObject({
    cancelled: true,
    agrees: true,
    sent: { records: there },
    applied: { stored: there },
  });
});

it('while the consumer is away a run waits under its bound, and a later run waits for the earlier one, by name', async () => {
  const id = await planned();
  const next = await planned();
  const run = bench.replay('run', id, '--max-unread', '20', '--json');
  await expect.poll(sent, WAIT).toBeGreaterThan(10);
  const later = bench.replay('run', next, '--json');
  // Two looks later it still waits.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(await sent()).toBeLessThanOrEqual(20);
  await withTaker(async () => {
    const first = await run;
    expect(JSON.parse(first.out)).toMatchObject({ agrees: true, sent: { records: RECORDS } });
    const second = await later;
    expect(JSON.parse(second.out)).toMatchObject({ agrees: true, sent: { records: RECORDS } });
    expect(second.told).toMatch(
      new RegExp(`^Plan ${id} into indexer, begun [^\n]+, is not over yet, and one replay at a time goes into a consumer: waiting for it `),
    );
    expect(await sent()).toBe(2 * RECORDS);
  });
});
