import { ManualClock } from '@tailrace/kafka-kit/testing';
import { type ChainId, chainText, type OldestLook } from '@tailrace/lake';
import { expect, it } from 'vitest';
import { ReplayWindowWatch } from './replay-window.ts';
import { CHAIN } from './testing/sink-world.ts';

const MINUTE_MS = 60_000;
const chain = (partition: number): ChainId => ({ ...CHAIN, partition });

class World {
  readonly clock = new ManualClock();
  readonly warned: string[] = [];
  readonly asked: [string, number][] = [];
  looks = 0;
  owned = [{ ...chain(0), chainEnd: 50 }];
  logStart = 40;
  fault: Error | undefined;
  oldest: OldestLook = { kind: 'found', offset: 7, timestampMs: 1000 };
  readonly watch = new ReplayWindowWatch({
    archived: () => this.owned,
    withKafka: async (work) => {
      this.looks += 1;
      if (this.fault !== undefined) throw this.fault;
      return await work({
        // Partitions of others, and of another life of the topic, are there too.
        logs: async () =>
          [chain(0), chain(1), { ...chain(0), incarnation: 'another1' }].map((each) => ({ ...each, logStart: this.logStart, logEnd: 90 })),
        firstTimes: async (positions) => new Map(positions.map((each) => [chainText(each), 5000 + each.first])),
      });
    },
    oldestInLake: async (of, from) => {
      this.asked.push([chainText(of), from]);
      return this.oldest;
    },
    clock: this.clock,
    warn: (sentence) => this.warned.push(sentence),
  });

  run(): () => Promise<void> {
    const stop = new AbortController();
    const ended = this.watch.run(stop.signal);
    return async () => {
      stop.abort();
      await ended;
    };
  }
}

it('tells since when the partitions of this process can be replayed from Kafka and from the lake', async () => {
  const world = new World();
  await world.watch.look();
  expect(world.watch.starts()).toMatchObject([{ ...chain(0), kafkaMs: 5040, lakeMs: 1000, holeOffsets: 0 }]);
  expect(world.watch.starts()).toHaveLength(1);
  // What went to another process is told by that one.
  world.owned = [];
  expect(world.watch.starts()).toEqual([]);
});

it('tells what lies between the lake’s end and Kafka’s start', async () => {
  const world = new World();
  world.logStart = 62;
  await world.watch.look();
  expect(world.watch.starts()).toMatchObject([{ holeOffsets: 12 }]);
});

it('a source without a record has no start, and an empty log is not read', async () => {
  const world = new World();
  world.logStart = 90;
  world.owned = [{ ...chain(0), chainEnd: 90 }];
  world.oldest = { kind: 'none' };
  await world.watch.look();
  expect(world.watch.starts()).toMatchObject([{ kafkaMs: undefined, lakeMs: undefined, holeOffsets: 0 }]);
});

it('the look for the first object goes on where the last one ended', async () => {
  const world = new World();
  world.oldest = { kind: 'further', from: 300 };
  await world.watch.look();
  expect(world.watch.starts()).toMatchObject([{ lakeMs: undefined }]);
  world.oldest = { kind: 'found', offset: 320, timestampMs: 9 };
  await world.watch.look();
  await world.watch.look();
  expect(world.watch.starts()).toMatchObject([{ lakeMs: 9 }]);
  expect(world.asked.map(([, from]) => from)).toEqual([0, 300, 320]);
});

it('looks every five minutes, and soon after a partition has come', async () => {
  const world = new World();
  world.owned = [];
  const stop = world.run();
  await world.clock.advance(MINUTE_MS);
  expect(world.looks).toBe(0);
  world.owned = [{ ...chain(0), chainEnd: 50 }];
  await world.clock.advance(2000);
  expect(world.looks).toBe(1);
  await world.clock.advance(4 * MINUTE_MS);
  expect(world.looks).toBe(1);
  await world.clock.advance(MINUTE_MS);
  expect(world.looks).toBe(2);
  world.owned = [...world.owned, { ...chain(1), chainEnd: 50 }];
  await world.clock.advance(2000);
  expect(world.watch.starts()).toHaveLength(2);
  await stop();
});

it('a look that fails is told once and tried again, and what is too old is not told', async () => {
  const world = new World();
  const stop = world.run();
  await world.clock.advance(2000);
  world.fault = new Error('no broker answers');
  await world.clock.advance(10 * MINUTE_MS);
  expect(world.watch.starts()).toHaveLength(1);
  await world.clock.advance(6 * MINUTE_MS);
  expect(world.watch.starts()).toEqual([]);
  expect(world.warned).toEqual(['How far back a replay reaches could not be looked up, and is looked up again: no broker answers']);
  expect(world.looks).toBeGreaterThan(10);
  world.fault = undefined;
  await world.clock.advance(2 * MINUTE_MS);
  expect(world.watch.starts()).toHaveLength(1);
  await stop();
});
