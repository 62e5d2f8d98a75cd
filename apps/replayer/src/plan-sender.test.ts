import { randomInt } from 'node:crypto';
import { decodeSideRecord, type HistoryRecord } from '@tailrace/kafka-kit';
import { checksumText, DigestSum, replayDigest } from '@tailrace/kafka-kit/digest';
import { type ChainId, type OffsetRange, planMark, type ReplayPart, type SentReport, type StoredPlan, sideKey } from '@tailrace/lake';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Cancelled } from './governor.ts';
import { FROM_THE_BEGINNING, PartitionSender } from './partition-sender.ts';
import { closeSending, PlanSender, type PlanSenderPorts } from './plan-sender.ts';
import { Killed, MemoryChannel } from './testing/memory-channel.ts';

const PARTITIONS = 3;
const never = new AbortController().signal;
const payloadOf = (partition: number, offset: number): Buffer | null =>
  offset % 7 === 3 ? null : Buffer.from(offset % 5 === 1 ? '' : `${partition}/${offset}`);

/** A plan over some ranges of three partitions, in which every third offset is no record of the window, and every eleventh is a void. */
function planOf(ranges: readonly (readonly OffsetRange[])[]): StoredPlan {
  return {
    id: 7,
    attempt: 'a',
    madeAtMs: 1,
    stream: 's',
    into: 'indexer',
    window: { fromMs: 0, toMs: 1, by: 'broker', skewMs: 0 },
    partitions: ranges.map((each, partition) => ({
      topic: 'events',
      incarnation: 'lifeOne1',
      partition,
      ranges: each,
      records: 0,
      lakeBytes: 0,
      missing: [],
      clockSteps: [],
    })),
  };
}

const isWanted = ({ offset }: HistoryRecord): boolean => offset % 3 !== 0;

function wantedIn(ranges: readonly OffsetRange[]): number[] {
  return ranges
    .flatMap(({ first, next }) => Array.from({ length: next - first }, (_, i) => first + i))
    .filter((offset) => offset % 3 !== 0 && offset % 11 !== 0);
}

async function* read({ partition }: ChainId, { first, next }: OffsetRange, step: () => Promise<void>): AsyncGenerator<ReplayPart> {
  for (let offset = first; offset < next; offset++) {
    await step();
    if (offset % 11 === 0) yield { kind: 'void', from: offset, to: offset + 1 };
    else {
      const record = { offset, timestampMs: offset, key: Buffer.from('k'), value: payloadOf(partition, offset), headers: [] };
      yield { kind: 'records', source: offset % 2 === 0 ? 'lake' : 'kafka', records: [record] };
    }
  }
}

interface Faults {
  /** Awaited at every call of this process. */
  readonly step: () => Promise<void>;
  readonly cut: (records: number) => number;
  readonly coin: () => boolean;
}

/** What one process works with. */
function portsOf(plan: StoredPlan, channel: MemoryChannel, { step, cut, coin }: Faults, admit: () => Promise<void>): PlanSenderPorts {
  const known = new Map(channel.sent);
  return {
    channel: channel.seenBy(step, cut),
    sent: (topic, partition) => known.get(`${planMark(plan)} ${sideKey(topic, partition)}`),
    positionsTopic: 'positions',
    backoff: { firstMs: 0, maxMs: 0, factor: 1, jitter: 0 },
    read: (chain, range) =>
      read(chain, range, async () => {
        await step();
        if (coin() && coin() && coin()) throw new Error('a fault of the moment');
      }),
    isWanted,
    admit,
    chunk: { records: 4, bytes: 100 },
    onPublished: () => {},
    note: () => {},
    nowMs: () => 1,
  };
}

/** What one process does, from its start to its end. */
async function send(plan: StoredPlan, channel: MemoryChannel, faults: Faults, admit = async () => {}): Promise<SentReport> {
  let sender: PlanSender | undefined;
  const ports = portsOf(plan, channel, faults, async () => {
    await admit();
    if (faults.coin()) await sender?.save();
  });
  sender = await PlanSender.open(plan, ports, never);
  return await sender.run();
}

/** That the report is true, and that a consumer who counts each origin offset once counts just what was sent. */
function check(plan: StoredPlan, channel: MemoryChannel, report: SentReport): void {
  for (const [partition, { ranges }] of plan.partitions.entries()) {
    const wanted = wantedIn(ranges);
    const sum = new DigestSum();
    for (const offset of wanted) sum.add(replayDigest(offset, Buffer.from('k'), payloadOf(partition, offset)));
    const key = sideKey('events.side', partition);
    const counted = channel.counted(planMark(plan), key);
    expect(counted.offsets).toEqual(wanted);
    expect(counted.checksum).toBe(checksumText(sum.value));
    expect(report.partitions[partition]).toMatchObject({ records: wanted.length, checksum: counted.checksum, bytes: counted.bytes });
    expect(report.partitions[partition]?.sideNext).toBeLessThanOrEqual(channel.logs.get(key)?.length ?? 0);
    // What says how far it got says the same.
    expect(channel.sent.get(`${planMark(plan)} ${key}`)).toMatchObject({ records: wanted.length, checksum: counted.checksum });
  }
}

const range = fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 25 }));
const plans = fc.array(fc.array(range, { maxLength: 3 }), { minLength: PARTITIONS, maxLength: PARTITIONS }).map((partitions) => {
  const apart = (lengths: readonly (readonly [number, number])[]): OffsetRange[] => {
    let at = 0;
    return lengths.map(([gap, length]) => {
      const first = at + gap + 1;
      at = first + length;
      return { first, next: at };
    });
  };
  return planOf(partitions.map(apart));
});

it('killed at any point, as often as one likes, and run again: nothing is left out, and nothing is counted twice', {
  timeout: 60_000,
}, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`plan-sender seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(plans, fc.array(fc.nat(120), { maxLength: 6 }), fc.infiniteStream(fc.nat(1000)), async (plan, kills, numbers) => {
      const next = (): number => numbers.next().value ?? 0;
      const channel = new MemoryChannel('events.side', PARTITIONS);
      const cut = (records: number): number => next() % (records + 1);
      const coin = (): boolean => next() % 3 === 0;
      for (const kill of kills) {
        let left = kill;
        const step = async (): Promise<void> => {
          if (left <= 0) throw new Killed();
          left -= 1;
        };
        await send(plan, channel, { step, cut, coin }).catch((fault: unknown) => {
          if (!(fault instanceof Killed)) throw fault;
        });
      }
      check(plan, channel, await send(plan, channel, { step: async () => {}, cut, coin }));
    }),
    { seed, numRuns: 400 },
  );
});

it('two who send the same plan at once do no harm', { timeout: 60_000 }, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`two senders seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(plans, fc.infiniteStream(fc.nat(1000)), async (plan, numbers) => {
      const next = (): number => numbers.next().value ?? 0;
      const channel = new MemoryChannel('events.side', PARTITIONS);
      const step = async (): Promise<void> => {
        for (let turns = next() % 4; turns > 0; turns--) await Promise.resolve();
      };
      const faults: Faults = { step, cut: () => 0, coin: () => next() % 3 === 0 };
      const reports = await Promise.all([send(plan, channel, faults), send(plan, channel, faults)]);
      for (const report of reports) check(plan, channel, report);
    }),
    { seed, numRuns: 200 },
  );
});

it('goes on with no plan of another lake that has the same number', async () => {
  const plan = planOf([[{ first: 1, next: 60 }], [{ first: 4, next: 40 }], []]);
  const channel = new MemoryChannel('events.side', PARTITIONS);
  const foreign = { ...planOf([[{ first: 1, next: 90 }], [{ first: 1, next: 90 }], []]), attempt: 'b' };
  check(foreign, channel, await send(foreign, channel, calm));
  check(plan, channel, await send(plan, channel, calm));
  check(foreign, channel, await send(foreign, channel, calm));
});

const calm: Faults = { step: async () => {}, cut: () => 0, coin: () => false };

it('cancelled: the report says what was sent until then', async () => {
  const plan = planOf([[{ first: 1, next: 60 }], [{ first: 4, next: 40 }], []]);
  const channel = new MemoryChannel('events.side', PARTITIONS);
  let left = 5;
  const report = await send(plan, channel, calm, async () => {
    left -= 1;
    if (left < 0) throw new Cancelled();
  });
  expect(report).toMatchObject({ cancelled: true, plan: 7 });
  expect(report.partitions.reduce((sum, { records }) => sum + records, 0)).toBeGreaterThan(0);
  isWhatStands(report, channel);
});

it('cancelled behind a sender that was killed: what stands in the side channel is what was sent', { timeout: 60_000 }, async () => {
  const seed = randomInt(2 ** 31);
  console.log(`closed seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(plans, fc.nat(200), fc.infiniteStream(fc.nat(1000)), async (plan, kill, numbers) => {
      const next = (): number => numbers.next().value ?? 0;
      const channel = new MemoryChannel('events.side', PARTITIONS);
      let left = kill;
      const step = async (): Promise<void> => {
        left -= 1;
        if (left < 0) throw new Killed();
      };
      await send(plan, channel, { step, cut: (records) => next() % (records + 1), coin: () => next() % 3 === 0 }).catch(() => {});
      const before = [...channel.logs.values()].map(({ length }) => length);
      const report = await closeSending(
        plan,
        portsOf(plan, channel, calm, async () => {}),
      );
      expect([...channel.logs.values()].map(({ length }) => length)).toEqual(before);
      expect(report.cancelled).toBe(true);
      isWhatStands(report, channel);
    }),
    { seed, numRuns: 500 },
  );
});

it('a record that may be refused as too large is the last of its call, so that none stands in front of it', async () => {
  const calls: number[][] = [];
  const large = Buffer.alloc(64 * 1024, 'x');
  const records = Array.from({ length: 9 }, (_, offset) => {
    return { offset, timestampMs: 0, key: null, value: offset % 4 === 1 ? large : Buffer.from('small'), headers: [] };
  });
  const [planned] = planOf([[{ first: 0, next: 9 }]]).partitions;
  if (planned === undefined) throw new Error('there is one');
  const sender = new PartitionSender(
    planned,
    FROM_THE_BEGINNING,
    { topic: 'events.side', notes: [] },
    {
      read: async function* () {
        yield { kind: 'records', source: 'lake', records } as const;
      },
      isWanted: () => true,
      admit: async () => {},
      publish: async (sent) => {
        calls.push(sent.map((record) => decodeSideRecord({ ...record, headers: record.headers ?? [] })?.origin.offset ?? -1));
      },
      chunk: { records: 1000, bytes: 1024 * 1024 },
    },
  );
  await sender.run();
  expect(calls).toEqual([
    [0, 1],
    [2, 3, 4, 5],
    [6, 7, 8],
  ]);
});

it('begun, killed, and the side channel made anew: it is sent no further, and what was sent is what was written down last', async () => {
  const plan = planOf([[{ first: 1, next: 60 }], [{ first: 4, next: 40 }], []]);
  const channel = new MemoryChannel('events.side', PARTITIONS);
  let left = 60;
  let tosses = 0;
  const step = async (): Promise<void> => {
    left -= 1;
    if (left < 0) throw new Killed();
  };
  await expect(send(plan, channel, { ...calm, step, coin: () => tosses++ % 2 === 0 })).rejects.toThrow(Killed);
  channel.makeAnew();
  await expect(send(plan, channel, calm)).rejects.toThrow(/was made anew since plan 7 was begun.+replay cancel 7/);
  const report = await closeSending(
    plan,
    portsOf(plan, channel, calm, async () => {}),
  );
  expect(report.partitions.reduce((sum, { records }) => sum + records, 0)).toBeGreaterThan(0);
  for (const [partition, said] of report.partitions.entries()) {
    const written = channel.sent.get(`${planMark(plan)} ${sideKey('events.side', partition)}`);
    expect(said).toMatchObject({
      sideIncarnation: 'sideLife',
      sideNext: written?.sideNext,
      records: written?.records,
      checksum: written?.checksum,
    });
  }
});

function isWhatStands(report: SentReport, channel: MemoryChannel): void {
  for (const [partition, { records, bytes, checksum }] of report.partitions.entries())
    expect(channel.counted('7-a', sideKey('events.side', partition))).toMatchObject({ records, bytes, checksum });
}
