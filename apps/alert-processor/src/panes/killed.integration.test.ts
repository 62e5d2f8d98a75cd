import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@tailrace/kafka-kit';
import { afterEach, expect, test, vi } from 'vitest';
import type { PanesProcessOptions } from '../testing/panes-process.ts';
import { countsOf, PanesRig } from '../testing/panes-rig.ts';

/** The long form of this test is 50. */
const KILLS = 5;
const PARTITIONS = 3;
const SPANS = { paneMs: 2000, latenessMs: 4000 };
const main = fileURLToPath(new URL('../testing/panes-process.ts', import.meta.url));
let rig: PanesRig | undefined;
const children = new Set<ChildProcess>();

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  await rig?.close();
});

/** Resolves once it reads every partition. */
async function member(made: PanesRig): Promise<ChildProcess> {
  const options: PanesProcessOptions = {
    kafka: made.settings,
    group: made.group,
    topics: [made.events],
    partialsTopic: made.partials,
    tickMs: 50,
    // So short that what lies before it is not read again.
    clockStepMs: 500,
    ...SPANS,
  };
  const child = spawn(process.execPath, ['--conditions=tailrace-src', '--import', 'tsx', main, JSON.stringify(options)], {
    env: { PATH: '/usr/bin:/bin', UV_THREADPOOL_SIZE: '16' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.add(child);
  const reads = new Set<string>();
  const lines = createInterface({ input: child.stdout }).on('line', (line) => reads.add(line));
  while (reads.size < PARTITIONS) await once(lines, 'line');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
  children.delete(child);
}

/** Posts without a pause, some of it late and a little too late, until it is stopped. */
function traffic(made: PanesRig): () => Promise<void> {
  let stopped = false;
  let posted = 0;
  const values = (): string[] =>
    Array.from({ length: 20 }, () => {
      posted += 1;
      const lateMs = posted % 50 === 0 ? 7000 : (posted * 37) % 3000;
      return JSON.stringify({ timestamp: new Date(Date.now() - lateMs).toISOString(), service: `service-${posted % 5}` });
    });
  const posting = Array.from({ length: PARTITIONS }, async (_, partition) => {
    while (!stopped) {
      await made.post(values(), partition);
      await systemClock.sleep(20);
    }
  });
  return async () => {
    stopped = true;
    await Promise.all(posting);
  };
}

test(`killed ${KILLS} times in the middle of panes, every final partial equals a recount, and no commit is lowered`, {
  timeout: 60_000 + KILLS * 30_000,
}, async () => {
  rig = await PanesRig.make(PARTITIONS);
  const made = rig;
  let child = await member(made);
  const stop = traffic(made);
  let committed = [0, 0, 0];
  for (let kills = 0; kills < KILLS; kills += 1) {
    // Somewhere in a pane, and between two ticks.
    await systemClock.sleep(2300 + kills * 731);
    await kill(child);
    const left = (await made.lag()).map((each) => each.committed ?? 0);
    for (const [i, each] of left.entries()) expect(each).toBeGreaterThanOrEqual(committed[i] ?? 0);
    committed = left;
    child = await member(made);
    const since = (await made.lag()).map((each) => each.committed ?? 0);
    for (const [i, each] of since.entries()) expect(each).toBeGreaterThanOrEqual(committed[i] ?? 0);
  }
  await stop();
  await vi.waitFor(async () => expect((await made.lag()).map(({ lag }) => lag)).toEqual([0, 0, 0]), { timeout: 30_000, interval: 200 });
  const { counts, late } = await made.recount(SPANS);
  expect(late).toBeGreaterThan(0);
  expect(countsOf(await made.published())).toEqual(counts);
});
