import { expect, it } from 'vitest';
import { type GuardPorts, liveGuard } from './live-guard.ts';

const TOPIC = 'service-events';
const START_MS = Date.UTC(2026, 2, 3, 12);
const MINUTE_MS = 60_000;

/** What Kafka says of one partition at one look. */
interface At {
  readonly committed: number | null;
  /** How far its oldest unread record is back; none: all is read. */
  readonly lagMs?: number;
}

/** A cluster in which each group has what was set last, and a clock that moves two seconds a look. */
class World {
  nowMs = START_MS;
  looks = 0;
  members = 1;
  fault: Error | undefined;
  readonly notes: string[] = [];
  readonly #groups: Record<string, readonly At[]> = {};
  #asked: readonly At[] = [];

  readonly ports: GuardPorts = {
    admin: {
      groupLag: async (group) => {
        if (this.fault !== undefined) throw this.fault;
        if (group === 'indexer') this.looks += 1;
        this.#asked = this.#groups[group] ?? [];
        return this.#asked.map(({ committed, lagMs }, partition) => {
          const logEnd = (committed ?? 0) + (lagMs === undefined ? 0 : 5);
          return { topic: TOPIC, partition, committed, logStart: 0, logEnd, lag: logEnd - (committed ?? 0) };
        });
      },
    },
    firstTimes: async (positions) =>
      new Map(positions.map(({ partition }) => [`${TOPIC}/${partition}`, this.nowMs - (this.#asked[partition]?.lagMs ?? 0)])),
    members: async () => this.members,
    nowMs: () => this.nowMs,
    note: (sentence) => this.notes.push(sentence),
  };
  readonly guard = liveGuard(this.ports, [TOPIC]);

  async sees(group: string, ...partitions: readonly At[]): Promise<string | undefined> {
    this.#groups[group] = partitions;
    this.nowMs += 2000;
    return await this.guard.check();
  }
}

it('waits while a live group is more than two seconds behind and falls back, and names it with its lag', async () => {
  const world = new World();
  expect(await world.sees('indexer', { committed: 1, lagMs: 1500 }, { committed: 1, lagMs: 400 })).toBeUndefined();
  // Rising, and not far; far, and for the first time.
  expect(await world.sees('indexer', { committed: 2, lagMs: 1900 }, { committed: 2, lagMs: 400 })).toBeUndefined();
  expect(await world.sees('indexer', { committed: 3, lagMs: 500 }, { committed: 3, lagMs: 2600 })).toBe(
    'Waiting for the live group indexer: it is 2 s behind on service-events, partition 1, and it rises (npx tailrace group lag --group indexer shows more).',
  );
  expect(await world.sees('indexer', { committed: 4, lagMs: 500 }, { committed: 4, lagMs: 5100 })).toContain('it is 5 s behind');
  // Still far, and catching up.
  expect(await world.sees('indexer', { committed: 5, lagMs: 500 }, { committed: 5, lagMs: 4000 })).toBeUndefined();
  expect(await world.sees('indexer', { committed: 6 }, { committed: 6 })).toBeUndefined();
});

it('does not take the lag that it finds for one that rises', async () => {
  const world = new World();
  expect(await world.sees('indexer', { committed: 1, lagMs: 90_000 })).toBeUndefined();
  expect(await world.sees('indexer', { committed: 2, lagMs: 91_000 })).toContain('1 min 31 s behind');
});

it('a group that holds batches is waited for only above its allowed delay, whether its lag rises or not', async () => {
  const world = new World();
  for (let i = 0; i < 10; i++) expect(await world.sees('archiver', { committed: 7, lagMs: 20 * MINUTE_MS + i * 2000 })).toBeUndefined();
  expect(await world.sees('archiver', { committed: 8, lagMs: 31 * MINUTE_MS })).toBe(
    'Waiting for the live group archiver: it is 31 min behind on service-events, partition 0, and may be 30 min (npx tailrace group lag --group archiver shows more).',
  );
  expect(await world.sees('archiver', { committed: 8, lagMs: 30.5 * MINUTE_MS })).toContain('archiver');
  expect(await world.sees('archiver', { committed: 9, lagMs: 29 * MINUTE_MS })).toBeUndefined();
});

it('a group without members or without commits keeps nobody', async () => {
  const world = new World();
  world.members = 0;
  await world.sees('indexer', { committed: 1, lagMs: 3000 });
  expect(await world.sees('indexer', { committed: 1, lagMs: 5000 })).toBeUndefined();
  world.members = 1;
  expect(await world.sees('indexer', { committed: 1, lagMs: 7000 })).toContain('indexer');
  await world.sees('indexer', { committed: null, lagMs: 8000 });
  expect(await world.sees('indexer', { committed: null, lagMs: 9000 })).toBeUndefined();
});

it('a partition that stands still keeps a replay for a minute, and not for ever: a replay may be what ends it', async () => {
  const world = new World();
  let waited = 0;
  for (let lagMs = 1000; lagMs < 5 * MINUTE_MS; lagMs += 2000)
    if ((await world.sees('indexer', { committed: 5, lagMs })) !== undefined) waited += 1;
  expect(waited * 2000).toBeGreaterThan(50_000);
  expect(waited * 2000).toBeLessThanOrEqual(60_000);
  // One beside it that falls back counts all the same, and so does this one once it moves.
  await world.sees('indexer', { committed: 5, lagMs: 6 * MINUTE_MS }, { committed: 1, lagMs: 3000 });
  expect(await world.sees('indexer', { committed: 5, lagMs: 6 * MINUTE_MS }, { committed: 2, lagMs: 4000 })).toContain('partition 1');
});

it('a commit that stood because nothing came is no partition that stands still', async () => {
  const world = new World();
  for (let i = 0; i < 100; i++) await world.sees('indexer', { committed: 5 });
  await world.sees('indexer', { committed: 5, lagMs: 1000 });
  expect(await world.sees('indexer', { committed: 5, lagMs: 3000 })).toContain('indexer');
});

it('looks at most every two seconds', async () => {
  const world = new World();
  await world.sees('indexer', { committed: 1, lagMs: 3000 });
  const sentence = await world.sees('indexer', { committed: 1, lagMs: 5000 });
  for (let i = 0; i < 10; i++) {
    world.nowMs += 199;
    expect(await world.guard.check()).toBe(sentence);
  }
  expect(world.looks).toBe(2);
});

it('a look that fails holds the replay for half a minute, says so, and is tried again', async () => {
  const world = new World();
  await world.sees('indexer', { committed: 1, lagMs: 100 });
  world.fault = new Error('no broker answers');
  const said: (string | undefined)[] = [];
  for (let i = 0; i < 30; i++) said.push(await world.sees('indexer', { committed: 1, lagMs: 100 }));
  expect(said[0]).toBe('The live groups could not be looked at (no broker answers): waiting until they can be, for 30 s at most.');
  expect(said.filter((each) => each !== undefined)).toHaveLength(14);
  expect(world.notes).toEqual([
    'The live groups could not be looked at (no broker answers) for 30 s: going on without regard to them, and looking again.',
  ]);
  world.fault = undefined;
  await world.sees('indexer', { committed: 2, lagMs: 3000 });
  expect(await world.sees('indexer', { committed: 3, lagMs: 5000 })).toContain('Waiting for the live group indexer');
});
