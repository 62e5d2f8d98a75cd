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

/** What names the plan on Kafka. */
async function markOf(id: string): Promise<string> {
  const { attempt } = JSON.parse((await bench.store.get(`${bench.topic}/_replay/plans/${id.padStart(10, '0')}.json`))?.toString() ?? '');
  return `${id}-${attempt.slice(0, 8)}`;
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
  const mark = await markOf(id);
  expect(
    [...taker.taken.values()].every(
      ({ times, value, offset, notes }) => times === 1 && value === `{"service":"s${offset}"}` && notes['replay.plan'] === mark,
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

it('a window that is in Kafka alone, and one that is in the lake alone, with a partition that has nothing of it', async () => {
  const kafka = await bench.json('run', await planned(70, 90));
  expect(kafka).toMatchObject({ agrees: true, sent: { records: 30, fromLake: 0, fromKafka: 30 } });
  expect([taker.offsets(0), taker.offsets(1)]).toEqual([range(70, 90), range(35, 45)]);
  // Kafka has [40, …) of partition 0; nothing of partition 1 arrived between its offsets 3 and 4.
  const lake = await bench.json('run', await planned(7, 8));
  expect(lake).toMatchObject({ agrees: true, sent: { records: 1, fromLake: 1, fromKafka: 0 } });
  expect([...taker.taken.keys()]).toEqual(['0/7']);
});

it('--source reads from one of them alone, and stops with the exact offsets that it does not have', async () => {
  expect(await bench.json('run', await planned(45, 55), '--source', 'kafka')).toMatchObject({
    agrees: true,
    sent: { fromLake: 0, records: 15 },
  });
  expect(await bench.json('run', await planned(5, 8), '--source', 'lake')).toMatchObject({
    agrees: true,
    sent: { records: 4, fromKafka: 0 },
  });
  await bench.deleteBefore(0, 40);
  const id = await planned(30, 50);
  const { code, told } = await bench.replay('run', id, '--source', 'kafka');
  expect(code).toBe(1);
  expect(told).toMatch(/(^|\n)Offsets 30 to 39 of replayer-test-\w+, partition 0, are not to be had: Kafka no longer has them\.\n$/);
  // The other source has them: the same run goes on.
  expect(await bench.json('run', id)).toMatchObject({ agrees: true, sent: { records: 30 } });
  expect(taker.offsets(0)).toEqual(range(30, 50));
});

it('a hole of the lake is named with its offsets, and declared losses are passed and counted', async () => {
  const id = await planned(38, 66);
  // Partition 1: archived [0, 20) and [30, 35), and Kafka begins at 30: nobody has [20, 30).
  await bench.archive(1, 30, 35);
  await bench.deleteBefore(1, 30);
  const { code, told } = await bench.replay('run', id);
  expect(code).toBe(1);
  expect(told).toMatch(/Offsets 20 to 29 of replayer-test-\w+, partition 1, are not to be had: the lake has no entry for them\.\n$/);
  await bench.ledger.claim(bench.chain(1), { kind: 'lost', first: 20, next: 30, attempt: 'declared' });
  const receipt = await bench.json('run', id);
  expect(receipt).toMatchObject({ agrees: true, sent: { records: 28 + 4 } });
  expect(receipt.partitions).toMatchObject([{ lost: 0 }, { lost: 10 }]);
  expect(taker.offsets(1)).toEqual([19, 30, 31, 32]);
});

it('a window inside one batch takes the records of the window, and conditions choose among them', async () => {
  const baseMs = Date.now() - 60_000;
  const services = ['a', 'b', 'a', 'b', 'a', 'b'];
  await bench.writeBatch(
    2,
    services.map((_, i) => baseMs + i * 1000),
    (i) => Buffer.from(JSON.stringify({ service: services[i], timestamp: new Date(baseMs - 1_800_000 + i * 1000).toISOString() })),
  );
  const plan = async (...more: readonly string[]): Promise<string> => {
    taker.taken.clear();
    return String((await bench.json(...PLAN, ...more)).id);
  };
  const time = (ms: number): string => new Date(ms).toISOString();
  expect(await bench.json('run', await plan('--from', time(baseMs + 1000), '--to', time(baseMs + 4000)))).toMatchObject({
    agrees: true,
    sent: { records: 3 },
  });
  expect(taker.offsets(2)).toEqual([1, 2, 3]);

  const chosen = await plan(
    '--from',
    time(baseMs),
    '--to',
    time(baseMs + 6000),
    '--where',
    'service = a',
    '--where',
    `timestamp > ${time(baseMs - 1_800_000)}`,
  );
  expect(await bench.json('show', chosen)).toMatchObject({ where: ['service = a', expect.stringContaining('timestamp > ')] });
  expect(await bench.json('run', chosen)).toMatchObject({ agrees: true, sent: { records: 2 } });
  expect(taker.offsets(2)).toEqual([2, 4]);

  // By the event's own time, half an hour before its arrival; --keep goes along with each record.
  const early = await plan(
    '--by',
    'event',
    '--from',
    time(baseMs - 1_800_000 + 2000),
    '--to',
    time(baseMs - 1_800_000 + 4000),
    '--keep',
    '30',
  );
  expect(await bench.json('run', early)).toMatchObject({ agrees: true, keepDays: 30, sent: { records: 2 } });
  const mark = await markOf(early);
  expect([...taker.taken.values()].map(({ offset, notes }) => ({ offset, notes }))).toEqual(
    [2, 3].map((offset) => ({ offset, notes: { 'replay.plan': mark, 'replay.keep_days': '30' } })),
  );
});

it('what the consumer skips is in the receipt by its reason, and is no fault of the replay', async () => {
  taker.outcome = (_partition, offset) => (offset % 2 === 0 ? { kind: 'skipped', reason: 'beyond-retention' } : { kind: 'stored' });
  const { code, out } = await bench.replay('run', await planned(70, 90));
  expect(out).toMatch(/\nApplied: 15 stored, 15 skipped \(beyond-retention\), checksum /);
  expect(code).toBe(0);
});

it('a plan, a run and a channel that are not there are said in one sentence', async () => {
  for (const command of ['run', 'receipt', 'cancel'])
    expect(await bench.replay(command, '777')).toMatchObject({ code: 2, told: expect.stringMatching(/^There is no plan 777: [^\n]+\n$/) });
  const id = await planned(70, 71);
  expect(await bench.replay('cancel', id)).toMatchObject({ code: 2, told: expect.stringMatching(/^Plan \d+ was not run: [^\n]+\n$/) });
  expect(await bench.replay('run', id, '--rate', 'fast')).toMatchObject({ code: 2, told: expect.stringContaining('Give a size') });
});
