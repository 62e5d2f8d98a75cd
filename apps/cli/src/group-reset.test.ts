import { GroupIsLive, type KeptPosition, type PartitionLag, type Position, partitionKey } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import { type ResetOptions, type ResetPorts, resetCommand } from './group-reset.ts';

const TOPIC = 'service-events';
const NOW_MS = Date.UTC(2026, 0, 31, 12);

/** A cluster of one group, as far as a reset sees it. */
class World {
  rows: PartitionLag[] = [
    { topic: TOPIC, partition: 0, committed: 50, logStart: 20, logEnd: 100, lag: 50 },
    { topic: TOPIC, partition: 1, committed: 10, logStart: 20, logEnd: 80, lag: 70 },
    { topic: TOPIC, partition: 2, committed: 90, logStart: 0, logEnd: 60, lag: 0 },
    { topic: TOPIC, partition: 3, committed: null, logStart: 5, logEnd: 30, lag: 25 },
  ];
  members = 0;
  answer: boolean | undefined;
  asked: string[] = [];
  committed: (readonly Position[])[] = [];
  lines: readonly string[] = [];
  value: object = {};
  refuses = false;
  /** What is kept beside the commits; undefined where the topic of positions is not there. */
  kept: KeptPosition[] | undefined;
  life = 'present0';
  keepFault: Error | undefined;
  /** What Kafka takes of a commit. */
  takes = 4;

  ports(): ResetPorts {
    const { answer } = this;
    return {
      admin: {
        groupLag: async (group, topics) => (group === 'unknown' ? [] : this.rows.filter(({ topic }) => topics.includes(topic))),
        readTopics: async () => (this.kept === undefined ? [] : ([{}] as never)),
        offsetsAt: async () => [
          { topic: TOPIC, partition: 0, offset: 60 },
          { topic: TOPIC, partition: 1, offset: undefined },
          { topic: TOPIC, partition: 2, offset: 0 },
          { topic: TOPIC, partition: 3, offset: 6 },
        ],
      },
      members: async () => this.members,
      commit: async (group, positions) => {
        if (this.refuses) throw new GroupIsLive(group);
        this.committed.push(positions);
        const taken = positions.slice(0, this.takes);
        this.rows = this.rows.map((row) => ({
          ...row,
          committed: taken.find((p) => p.partition === row.partition)?.nextToRead ?? row.committed,
        }));
      },
      kept: async () => new Map(this.kept?.map((each) => [partitionKey(each), each])),
      incarnation: async () => this.life,
      keep: async (_, positions) => {
        if (this.keepFault !== undefined) throw this.keepFault;
        this.kept = [...(this.kept ?? []).filter((each) => !positions.some(({ partition }) => partition === each.partition)), ...positions];
      },
      confirm:
        answer === undefined
          ? undefined
          : async (question) => {
              this.asked.push(question);
              return answer;
            },
      nowMs: () => NOW_MS,
    };
  }

  run(options: Partial<ResetOptions>): Promise<number> {
    const all = { group: 'indexer', to: 'earliest', dryRun: false, yes: false, json: false, ...options };
    return resetCommand(this.ports(), all, {
      result: (value, lines) => {
        this.value = value;
        this.lines = lines;
      },
    });
  }

  get written(): string[] {
    return this.committed.flat().map(({ partition, nextToRead }) => `${partition}:${nextToRead}`);
  }
}

it('shows what is read again, what is passed over and what is gone, asks, and writes', async () => {
  const world = new World();
  world.answer = true;
  expect(await world.run({})).toBe(0);
  expect(world.asked).toEqual([
    [
      'indexer, to earliest: 4 of 4 partitions move; 90 records read again, 10 records that Kafka no longer holds.',
      '  service-events, partition 0: from 50 to 20; 30 records read again',
      '  service-events, partition 1: from 10 to 20; 10 records that Kafka no longer holds',
      '  service-events, partition 2: from 90 to 0; 60 records read again',
      '  service-events, partition 3: from no commit to 5; nothing is read again or passed over',
      'Move the group? [y/N] ',
    ].join('\n'),
  ]);
  expect(world.written).toEqual(['0:20', '1:20', '2:0', '3:5']);
  expect(world.lines).toEqual(['Moved. Start the group, and it goes on there.']);
});

it.each<[Partial<ResetOptions>, readonly string[], string]>([
  [{ to: 'latest' }, ['0:100', '1:80', '2:60', '3:30'], '135 records passed over, 10 records that Kafka no longer holds'],
  [
    { to: '2026-01-31T11:00:00Z' },
    ['0:60', '1:80', '2:0', '3:6'],
    '60 records read again, 71 records passed over, 10 records that Kafka no longer holds',
  ],
  [{ to: 'offset:77', topic: TOPIC, partition: '0' }, ['0:77'], '27 records passed over'],
  [{ to: 'offset:100', partition: '0' }, ['0:100'], '50 records passed over'],
  // Kafka begins at 20: from there on to the log’s start the indexer reads the lake.
  [{ to: 'offset:15', partition: '1' }, ['1:15'], '5 records that Kafka no longer holds'],
  [{ partition: '2' }, ['2:0'], '60 records read again'],
])('%j', async (options, written, meaning) => {
  const world = new World();
  expect(await world.run({ yes: true, ...options })).toBe(0);
  expect(world.written).toEqual(written);
  expect(world.lines[0]).toContain(meaning);
});

it('a dry run writes nothing, says whether the group runs, and needs no terminal', async () => {
  const world = new World();
  world.members = 2;
  expect(await world.run({ dryRun: true, json: true })).toBe(0);
  expect([world.written, world.lines.at(-1)]).toEqual([[], 'Nothing was changed. The group runs (2 members): stop it before a reset.']);
  expect(world.value).toMatchObject({ group: 'indexer', to: 'earliest', dryRun: true, applied: false });
});

it('a no writes nothing, and is not a success', async () => {
  const world = new World();
  world.answer = false;
  expect(await world.run({})).toBe(1);
  expect([world.written, world.lines]).toEqual([[], ['Nothing was changed.']]);
});

it('what stands there already is left', async () => {
  const world = new World();
  expect(await world.run({ to: 'offset:50', partition: '0', yes: true })).toBe(0);
  expect([world.written, world.lines.at(-1)]).toEqual([[], 'Nothing is to be done.']);
});

it('a group that runs is refused, when it is seen before and when only the commit tells', async () => {
  const world = new World();
  world.members = 1;
  await expect(world.run({ yes: true })).rejects.toThrow(/indexer has 1 member that Kafka counts as running: stop it first/);
  world.members = 0;
  world.refuses = true;
  await expect(world.run({ yes: true })).rejects.toThrow(GroupIsLive);
  expect(world.written).toEqual([]);
});

const keptAt = (partition: number, nextToRead: number, incarnation = 'present0'): KeptPosition => ({
  topic: TOPIC,
  partition,
  incarnation,
  nextToRead,
});
const keptIn = (world: World): string[] =>
  (world.kept ?? []).map(({ partition, nextToRead, incarnation }) => `${partition}:${nextToRead} ${incarnation}`).sort();

it('the positions are written with the commits, in the present life of the topic, also where the commit stands there already', async () => {
  const world = new World();
  world.kept = [keptAt(0, 49), keptAt(1, 10, 'earlier0')];
  expect(await world.run({ to: 'offset:50', partition: '0', yes: true })).toBe(0);
  expect([world.written, keptIn(world)]).toEqual([[], ['0:50 present0', '1:10 earlier0']]);
  expect(await world.run({ yes: true })).toBe(0);
  expect(keptIn(world)).toEqual(['0:20 present0', '1:20 present0', '2:0 present0', '3:5 present0']);
  expect(await world.run({ yes: true })).toBe(0);
  expect(world.lines.at(-1)).toBe('Nothing is to be done.');
});

it('positions that could not be written after the commit are written by the same command', async () => {
  const world = new World();
  world.kept = [];
  world.keepFault = new Error('no answer');
  await expect(world.run({ partition: '0', yes: true })).rejects.toThrow(/no answer/);
  expect([world.written, keptIn(world)]).toEqual([['0:20'], []]);
  world.keepFault = undefined;
  expect(await world.run({ partition: '0', yes: true })).toBe(0);
  expect([world.written, keptIn(world)]).toEqual([['0:20'], ['0:20 present0']]);
});

it('a group that only its positions know is moved, and what that means counts from them', async () => {
  const world = new World();
  world.rows = world.rows.map((row) => ({ ...row, committed: null }));
  world.kept = [keptAt(0, 60), keptAt(1, 70, 'earlier0')];
  expect(await world.run({ group: 'others', yes: true })).toBe(0);
  expect(world.lines.slice(1, 3)).toEqual([
    '  service-events, partition 0: from 60 to 20; 40 records read again',
    '  service-events, partition 1: from no commit to 20; nothing is read again or passed over',
  ]);
  expect(keptIn(world)).toContain('1:20 present0');
});

it('a group that keeps no positions gets none', async () => {
  const world = new World();
  world.kept = [];
  expect(await world.run({ group: 'others', yes: true })).toBe(0);
  expect([world.written.length, world.kept]).toEqual([4, []]);
});

it('a commit that was taken for some partitions only is told', async () => {
  const world = new World();
  world.takes = 3;
  await expect(world.run({ yes: true })).rejects.toThrow(/shows another position for service-events, partition 3/);
});

it.each<[Partial<ResetOptions>, RegExp]>([
  [{ group: 'archiver' }, /position of archiver is its chain in the lake/],
  [{ yes: false }, /without a terminal it can not: say --yes, or --dry-run/],
  [{ yes: false, json: true }, /with --json it can not/],
  [{ group: 'unknown', yes: false }, /no group unknown that reads service-events: name one of alert-processor, indexer, archiver/],
  [{ group: 'unknown' }, /no group unknown that reads service-events: name one of alert-processor, indexer, archiver/],
  [{ topic: 'nowhere' }, /There is no topic nowhere/],
  [{ topic: '__consumer_offsets' }, /Group indexer does not read __consumer_offsets: it is one of Kafka’s own topics/],
  [{ topic: '__transaction_state' }, /Group indexer does not read __transaction_state/],
  [{ to: 'offset:5' }, /name --topic and --partition/],
  [{ to: 'offset:5', partition: '0', group: 'mine' }, /holds offsets from 20 on, and 100 is the next/],
  [{ to: 'offset:101', partition: '0' }, /holds offsets from 20 on, and 100 is the next/],
  [{ partition: '9' }, /has partitions 0 to 3/],
  [{ partition: 'x' }, /has partitions 0 to 3/],
  [{ to: 'yesterday' }, /none of earliest/],
])('%j is wrong use, and nothing is changed', async (options, why) => {
  const world = new World();
  await expect(world.run({ yes: true, ...options })).rejects.toMatchObject({ name: 'ConfigError', message: expect.stringMatching(why) });
  expect(world.written).toEqual([]);
});
