import { afterAll, expect, it } from 'vitest';
import type { GroupProtocol } from '../broker/membership.ts';
import { createNativeConsumer } from '../broker/native-consumer.ts';
import type { RuntimeEvent } from '../observe/runtime-events.ts';
import { connectPublisher } from '../publish/kafka-publisher.ts';
import type { GapPolicy } from '../recover/gap-policy.ts';
import { deleteRecordsBefore } from '../testing/delete-records.ts';
import { RealKafka } from '../testing/real-kafka.ts';
import { TransactionalProducer } from '../testing/transactions.ts';
import { systemClock } from '../time/clock.ts';
import type { ConsumerRuntime } from './consumer-runtime.ts';
import { type Batch, type Gap, type Lane, type Outcome, STORED } from './contract.ts';
import { createConsumerRuntime } from './runtime.ts';

const real = new RealKafka('gaps');
afterAll(() => real.close());

const RECORD: GapPolicy = { kind: 'record-and-go-on' };
const KIP_848: GroupProtocol = { kind: 'consumer' };

/** Everything a member was handed over and told, in order. */
class Sink {
  readonly name = 'store';
  readonly told: string[] = [];
  readonly stored: { readonly incarnation: string; readonly offset: number }[] = [];
  away = false;

  async write(batch: Batch): Promise<readonly Outcome[]> {
    if (this.away) throw new Error('away');
    const { incarnation } = batch.source;
    for (let i = 0; i < batch.length; i += 1) this.stored.push({ incarnation, offset: batch.offset(i) });
    return Array.from({ length: batch.length }, () => STORED);
  }

  async gap(_: Lane, { kind, from, to }: Gap): Promise<void> {
    this.told.push(`${kind} ${from}-${to} after ${this.stored.at(-1)?.offset ?? 'nothing'}`);
  }

  get offsets(): number[] {
    return this.stored.map(({ offset }) => offset);
  }
}

interface Member {
  readonly runtime: ConsumerRuntime;
  readonly sink: Sink;
  readonly gaps: string[];
}

async function join(topic: string, group: string, gaps: GapPolicy, protocol = KIP_848): Promise<Member> {
  const sink = new Sink();
  const seen: string[] = [];
  const observe = (event: RuntimeEvent): void => {
    if (event.kind === 'gap') seen.push(`${event.gap.kind} ${event.gap.from}-${event.gap.to} ${event.done}`);
  };
  const runtime = createConsumerRuntime(
    {
      group,
      topics: [topic],
      sink,
      batch: { maxRecords: 50, maxBytes: 1_000_000, maxAgeMs: 50 },
      inFlightPerLane: 2,
      buffer: { pauseAtBytes: 4_000_000, resumeAtBytes: 2_000_000 },
      backoff: { firstMs: 20, factor: 2, maxMs: 200, jitter: 0.5 },
      drain: { revokeMs: 3000, stopMs: 10_000 },
      start: 'earliest',
      gaps,
    },
    { broker: createNativeConsumer(real.settings, { group, protocol, maxPollIntervalMs: 60_000 }), clock: systemClock, observe },
  );
  await runtime.start();
  return { runtime, sink, gaps: seen };
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 2500; i += 1) {
    if (await condition()) return;
    await systemClock.sleep(20);
  }
  throw new Error(`${what}: not so after 50 s`);
}

async function publish(topic: string, count: number): Promise<void> {
  const publisher = await connectPublisher(real.settings, { producers: 1, maxInFlightBytes: 64_000_000, log: () => {} });
  const records = Array.from({ length: count }, () => ({ topic, key: null, value: Buffer.from('v'), partition: 0 }));
  const fates = await publisher.publish(records, { deadlineMs: 30_000 });
  expect(new Set(fates.map(({ kind }) => kind))).toEqual(new Set(['acknowledged']));
  await publisher.close(5000);
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** 100 records read and committed by a group that then stopped; 100 more, of which Kafka holds those from 150 on. */
async function lostWhileAway(): Promise<{ readonly topic: string; readonly group: string }> {
  const topic = await real.topic(1);
  const group = real.name('group');
  await publish(topic, 100);
  const { runtime, sink } = await join(topic, group, { kind: 'halt' });
  await until(() => sink.stored.length === 100, 'the first hundred');
  await runtime.stop();
  await publish(topic, 100);
  await deleteRecordsBefore(real.settings, { topic, partition: 0 }, 150);
  return { topic, group };
}

it.concurrent('I9 deleted under a stopped group: halted by its exact range, and a restart finds the same', async () => {
  const { topic, group } = await lostWhileAway();
  for (let times = 0; times < 2; times += 1) {
    const { runtime, sink, gaps } = await join(topic, group, { kind: 'halt' });
    await until(() => runtime.lanes().some(({ phase }) => phase === 'halted'), 'halted');
    expect(runtime.lanes()[0]?.halted).toMatch(/needs offsets 100 to 149 of .*npx tailrace group reset --group/);
    await runtime.stop();
    expect([gaps, sink.told, sink.stored]).toEqual([['expired 100-150 halted'], [], []]);
  }
  const [position] = await (await real.admin()).groupLag(group, [topic]);
  expect(position?.committed).toBe(100);
});

it.concurrent('I9 deleted under a stopped group: skipped or recorded, and read on from what is there', async () => {
  for (const gaps of [{ kind: 'skip' }, RECORD] as const) {
    const { topic, group } = await lostWhileAway();
    const member = await join(topic, group, gaps);
    await until(() => member.sink.stored.length === 50, 'the rest');
    expect(member.sink.told).toEqual(['expired 100-150 after nothing']);
    expect(member.gaps).toEqual([`expired 100-150 ${gaps.kind === 'skip' ? 'skipped' : 'recorded'}`]);
    expect(member.sink.offsets).toEqual(range(150, 200));
    expect(await member.runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true });
  }
});

it.concurrent('I9 deleted under a stopped group, fresh-first: on at what is fresh, also above the log’s start, and that is committed', async () => {
  const { topic, group } = await lostWhileAway();
  const member = await join(topic, group, { kind: 'fresh-first', freshFrom: async () => 170 });
  await until(() => member.sink.stored.length === 30, 'the rest');
  expect([member.sink.told, member.gaps]).toEqual([['expired 100-170 after nothing'], ['expired 100-170 fresh']]);
  expect(member.sink.offsets).toEqual(range(170, 200));
  expect(await member.runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true });
  const [position] = await (await real.admin()).groupLag(group, [topic]);
  expect(position?.committed).toBe(200);
});

it.concurrent('I9 deleted under a running lane: told behind what was handed over, and read on', async () => {
  const topic = await real.topic(1);
  const { runtime, sink, gaps } = await join(topic, real.name('group'), RECORD);
  await publish(topic, 60);
  await until(() => sink.stored.length === 60, 'the first sixty');
  sink.away = true;
  await publish(topic, 1);
  // Paused, so that the client drops what it has fetched.
  await until(() => runtime.lanes()[0]?.paused === true, 'paused by an outage');
  await publish(topic, 139);
  await deleteRecordsBefore(real.settings, { topic, partition: 0 }, 150);
  sink.away = false;
  await until(() => sink.offsets.at(-1) === 199, 'the rest');
  const from = sink.offsets.findLast((offset) => offset < 150) ?? 0;
  expect(sink.told).toEqual([`expired ${from + 1}-150 after ${from}`]);
  expect([gaps, sink.offsets]).toEqual([[`expired ${from + 1}-150 recorded`], [...range(0, from + 1), ...range(150, 200)]]);
  await until(() => runtime.lanes()[0]?.lag === 0, 'no lag');
  expect(await runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true });
});

it.concurrent('I9 all deleted under a lane that stands at the end: found without a new record', async () => {
  const topic = await real.topic(1);
  const { runtime, sink } = await join(topic, real.name('group'), RECORD);
  await publish(topic, 10);
  await until(() => sink.stored.length === 10, 'ten');
  sink.away = true;
  await publish(topic, 1);
  await until(() => runtime.lanes()[0]?.paused === true, 'paused by an outage');
  await publish(topic, 89);
  await deleteRecordsBefore(real.settings, { topic, partition: 0 }, 100);
  sink.away = false;
  await until(() => sink.told.length === 1, 'told');
  const from = (sink.offsets.at(-1) ?? 0) + 1;
  expect(sink.told).toEqual([`expired ${from}-100 after ${from - 1}`]);
  await until(() => runtime.lanes()[0]?.lag === 0, 'no lag');
  expect(await runtime.stop()).toMatchObject({ abandonedRecords: 0, committed: true });
});

it.concurrent.each<GroupProtocol>([KIP_848, { kind: 'classic', sessionTimeoutMs: 6000 }])(
  'I9 a topic deleted and made anew under a running lane ($kind): the old end is told, and the new one is read from its start',
  { timeout: 120_000 },
  async (protocol) => {
    const topic = await real.topic(1);
    const { runtime, sink, gaps } = await join(topic, real.name('group'), RECORD, protocol);
    await publish(topic, 100);
    await until(() => sink.stored.length === 100, 'the first hundred');
    const [old] = sink.stored;
    // The comparison of ids every 10 s proves them.
    await systemClock.sleep(11_000);
    await real.remake(topic, 1);
    await publish(topic, 30);
    await until(() => sink.stored.filter(({ incarnation }) => incarnation !== old?.incarnation).length === 30, 'the new thirty');
    expect(sink.told).toEqual(['recreated 100-100 after 99']);
    expect(sink.offsets).toEqual([...range(0, 100), ...range(0, 30)]);
    expect(gaps).toEqual(['recreated 100-100 recorded']);
    await until(() => runtime.lanes()[0]?.lag === 0, 'no lag');
    expect(await runtime.stop()).toMatchObject({ committed: true, closed: true });
  },
);

it.concurrent('I9 markers and aborted records of transactions are voids: told, counted, and passed', async () => {
  const topic = await real.topic(1);
  const producer = await TransactionalProducer.connect(real.settings);
  for (const how of ['commit', 'abort', 'commit'] as const) {
    await producer.begin();
    await producer.write(topic, 0, ['a', 'b', 'c']);
    await producer.end(how);
  }
  await producer.close();
  const { runtime, sink, gaps } = await join(topic, real.name('group'), { kind: 'halt' });
  await until(() => sink.stored.length === 6, 'six');
  expect([sink.offsets, sink.told, gaps]).toEqual([[0, 1, 2, 8, 9, 10], ['void 3-8 after 2'], ['void 3-8 void']]);
  await runtime.stop();
});
