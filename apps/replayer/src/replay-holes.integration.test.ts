import { afterAll, beforeAll, expect, it } from 'vitest';
import { at, BASE_MS, MINUTE_MS, PLAN, ReplayBench, timeOf } from './testing/replay-bench.ts';

let bench: ReplayBench;
beforeAll(async () => {
  bench = await ReplayBench.open();
  await bench.fill();
});
afterAll(() => bench.close());

it('what neither the lake nor Kafka holds is a hole, with its offsets and times; what the ledger declares lost is none', async () => {
  expect(await bench.json(...PLAN, '--from', at(0, 35), '--to', at(0, 70))).toMatchObject({ id: 1 });
  // Partition 0 loses nothing, partition 1 loses [20, 30).
  await bench.deleteBefore(0, 60);
  await bench.deleteBefore(1, 30);
  const hole = { first: 20, next: 30, kind: 'hole', afterMs: timeOf(1, 19), beforeMs: timeOf(1, 30) };
  expect((await bench.replay('window')).code).toBe(1);
  expect(await bench.json('window')).toMatchObject({
    holes: 1,
    sinceMs: timeOf(1, 30),
    oldestMs: BASE_MS,
    partitions: [{ holes: [], sinceMs: BASE_MS }, { holes: [hole] }, { holes: [] }],
  });
  expect((await bench.replay('window')).out).toMatch(
    /\n {2}HOLE: neither the lake nor Kafka holds offsets 20 to 29, which arrived after \S+ \(local [^)]+\) and before \S+ \(local [^)]+\)\n/,
  );

  const args = [...PLAN, '--dry-run', '--from', at(1, 18), '--to', at(1, 32)];
  expect((await bench.replay(...args)).code).toBe(1);
  expect((await bench.json(...args)).partitions[1]).toMatchObject({
    ranges: [
      { first: 15, next: 20 },
      { first: 30, next: 33 },
    ],
    missing: [hole],
  });
  // A window that ends before it, or begins behind it, does not have it.
  expect((await bench.replay(...PLAN, '--dry-run', '--from', at(1, 10), '--to', at(1, 18))).code).toBe(0);
  expect((await bench.replay(...PLAN, '--dry-run', '--from', at(1, 32), '--to', at(1, 40))).code).toBe(0);
  // The plan that was frozen before still names what it was to read, and shows that some of it is nowhere any more.
  expect((await bench.json('show', '1')).partitions[1]).toMatchObject({
    ranges: [{ first: 15, next: 36 }],
    now: { lake: [{ first: 15, next: 20 }], kafka: [{ first: 30, next: 36 }] },
  });

  await bench.ledger.claim(bench.chain(1), { kind: 'lost', first: 20, next: 30, attempt: 'declared' });
  const window = await bench.replay('window');
  expect(window.code).toBe(0);
  expect(window.out).toMatch(/\n {2}LOST, as declared: offsets 20 to 29, /);
  expect(window.out).toMatch(
    /\nReplay is true for [^:]+: every record since \S+ \(local [^)]+\) can be brought back, but for 10 offsets that are declared lost\.\n$/,
  );
  expect(await bench.replay(...args)).toMatchObject({ code: 0, out: expect.stringMatching(/\n {2}LOST, as declared: offsets 20 to 29, /) });
});

it('a clock that went back by two hours is named, and the plan reads on to the end of the log', async () => {
  await bench.write(
    0,
    [-120, -119, -118].map((minutes) => timeOf(0, 99) + minutes * MINUTE_MS),
  );
  const stepped = await bench.json(...PLAN, '--dry-run', '--from', at(0, 78), '--to', at(0, 81));
  expect(stepped.partitions[0]).toMatchObject({ ranges: [{ first: 78, next: 103 }], clockSteps: [{ offset: 102 }] });
  expect((await bench.replay(...PLAN, '--dry-run', '--from', at(0, 78), '--to', at(0, 81))).out).toMatch(
    /CLOCK STEP: by offset 102 the brokers' clock had gone back by at least 15 min/,
  );
  // Hours before it, it is none of the window's.
  expect((await bench.json(...PLAN, '--dry-run', '--from', at(0, 61), '--to', at(0, 63))).partitions[0]).toMatchObject({
    ranges: [{ first: 61, next: 64 }],
    clockSteps: [],
  });
});

it('a topic that was made anew inside the window is refused by name, and either life can be planned alone', async () => {
  await bench.admin.deleteTopics([bench.topic]);
  await bench.makeTopic();
  // Until the broker leads the new partitions it answers with an error, or for the old ones.
  await expect
    .poll(async () => (await bench.admin.groupLag('nobody', [bench.topic]).catch(() => [])).map(({ logEnd }) => logEnd), {
      timeout: 30_000,
    })
    .toEqual([0, 0, 0]);
  await bench.write(0, [timeOf(0, 64)]);
  expect(await bench.replay(...PLAN, '--dry-run', '--from', at(0, 50), '--to', at(0, 70))).toEqual({
    code: 2,
    out: '',
    told: expect.stringMatching(
      new RegExp(
        `^The topic ${bench.topic} was made anew inside the window, and one plan never mixes two lives of a topic: plan them one by one \\(`,
      ),
    ),
  });
  const old = await bench.json(...PLAN, '--dry-run', '--from', at(0, 50), '--to', at(0, 60));
  expect(old.partitions[0]).toMatchObject({ incarnation: bench.incarnation, ranges: [{ first: 50, next: 60 }], now: { kafka: [] } });
  const [present] = (await bench.json(...PLAN, '--dry-run', '--from', at(0, 64), '--to', at(0, 65))).partitions;
  expect(present).toMatchObject({ partition: 0, ranges: [{ first: 0, next: 1 }] });
  expect(present.incarnation).not.toBe(bench.incarnation);
});
