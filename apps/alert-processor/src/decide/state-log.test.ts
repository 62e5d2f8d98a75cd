import { type LogRange, partitionKey, type RawRecord, systemClock } from '@tailrace/kafka-kit';
import { expect, test } from 'vitest';
import type { StateRecord } from './alert-state.ts';
import { encodeState, stateKey } from './state-codec.ts';
import { StateLog } from './state-log.ts';

const SILENCE: StateRecord = { kind: 'silence', silence: { id: 's', fromMs: 1, untilMs: 2, comment: '' }, epoch: 0 };

/** A log of two partitions in memory, with faults when the test says. */
class FakeLog {
  readonly logs: { key: Buffer; value: Buffer | null }[][] = [[], []];
  readonly reads: LogRange[] = [];
  faults = 0;
  /** Done behind the look-up of the ends, before anything is written. */
  meanwhile: (() => void) | undefined;
  readonly log = new StateLog({
    topic: 'state',
    publisher: {
      publish: async (records) =>
        records.map(({ partition = 0, key, value }) => {
          // Written, and the answer lost.
          this.logs[partition]?.push({ key: key ?? Buffer.alloc(0), value });
          if (this.faults === 0) return { kind: 'acknowledged' };
          this.faults -= 1;
          return { kind: 'unknown', reason: 'no answer' };
        }),
    },
    admin: {
      logEnds: async (partitions) =>
        new Map(partitions.map(({ topic, partition }) => [partitionKey({ topic, partition }), this.logs[partition]?.length ?? 0])),
    },
    ranges: async () => {
      const ranges = this.logs.map(({ length }, partition) => ({ topic: 'state', partition, from: 0, to: length }));
      this.meanwhile?.();
      return ranges;
    },
    read: (ranges) => this.#read(ranges),
    backoff: { firstMs: 1, factor: 1, maxMs: 1, jitter: 0 },
    sleep: systemClock.sleep,
    onRetry: () => {},
    onUnreadable: () => {},
  });

  async *#read(ranges: readonly LogRange[]): AsyncGenerator<readonly RawRecord[]> {
    for (const range of ranges) {
      this.reads.push(range);
      yield (this.logs[range.partition] ?? []).slice(range.from, range.to).map((record, at) => ({
        ...record,
        topic: 'state',
        partition: range.partition,
        offset: range.from + at,
        timestampMs: 0,
        headers: [],
      }));
    }
  }

  append(partition: number, record: StateRecord): void {
    this.logs[partition]?.push({ key: Buffer.from(stateKey(record)), value: encodeState(record) });
  }
}

const SIGNAL = new AbortController().signal;

test('whoever takes partitions over reads them in one go, and writes whose they are; what was written meanwhile is read, too', async () => {
  const fake = new FakeLog();
  fake.append(0, { kind: 'partition', partition: 0, watermarkMs: 77, epoch: 0, owner: 'before' });
  fake.meanwhile = () => fake.append(0, SILENCE);
  const [zero, one] = await Promise.all([fake.log.takeOver(0), fake.log.takeOver(1)]);
  expect(fake.reads.map(({ partition, from, to }) => [partition, from, to])).toEqual([
    [0, 0, 1],
    [1, 0, 0],
    [0, 1, 3],
  ]);
  expect(zero.records).toMatchObject([{ watermarkMs: 77, epoch: 1 }, { kind: 'silence' }]);
  expect([zero.ownership.epoch, one.ownership.epoch, one.records]).toEqual([1, 0, []]);
});

test('an owner reads nothing to know that it is one, until another record stands in its log', async () => {
  const fake = new FakeLog();
  const { ownership } = await fake.log.takeOver(0);
  await fake.log.write(ownership, [SILENCE], [SILENCE], SIGNAL);
  const before = fake.reads.length;
  expect(await fake.log.isOurs(ownership)).toBe(true);
  expect(fake.reads.length).toBe(before);
  const next = await fake.log.takeOver(0);
  expect(await fake.log.isOurs(ownership)).toBe(false);
  expect(await fake.log.isOurs(next.ownership)).toBe(true);
});

test('a record that was written twice, since its answer was lost, and one of an owner before take nothing away', async () => {
  const fake = new FakeLog();
  const before = await fake.log.takeOver(0);
  const { ownership } = await fake.log.takeOver(0);
  fake.faults = 2;
  await fake.log.write(ownership, [SILENCE], [], SIGNAL);
  expect(fake.logs[0]).toHaveLength(5);
  const { epoch, owner } = before.ownership;
  fake.append(0, { kind: 'partition', partition: 0, watermarkMs: 1, epoch, owner });
  const reads = fake.reads.length;
  expect(await fake.log.isOurs(ownership)).toBe(true);
  expect(await fake.log.isOurs(ownership)).toBe(true);
  expect(fake.reads.length).toBe(reads + 1);
});

test('alert-state that is made anew under a running owner is noticed, and whoever takes over then beats what that one still writes', async () => {
  const fake = new FakeLog();
  for (let at = 0; at < 5; at++) fake.append(0, SILENCE);
  const before = (await fake.log.takeOver(0)).ownership;
  await fake.log.write(before, [SILENCE], [], SIGNAL);
  expect(await fake.log.isOurs(before)).toBe(true);
  fake.logs[0]?.splice(0);
  expect(await fake.log.isOurs(before)).toBe(false);
  await fake.log.write(before, [{ ...SILENCE, epoch: before.epoch }], [], SIGNAL);
  const { ownership } = await fake.log.takeOver(0);
  expect(ownership.epoch).toBeGreaterThan(before.epoch);
  expect(await fake.log.isOurs(ownership)).toBe(true);
});

test('a write is given up with its partition', async () => {
  const fake = new FakeLog();
  const { ownership } = await fake.log.takeOver(0);
  const given = new AbortController();
  given.abort();
  await expect(fake.log.write(ownership, [SILENCE], [], given.signal)).rejects.toThrow('given up');
  expect(fake.logs[0]).toHaveLength(1);
});
