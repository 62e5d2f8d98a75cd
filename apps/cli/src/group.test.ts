import { SERVICE_EVENTS_TOPIC } from '@tailrace/events';
import { deadLetterRecord, type RawRecord } from '@tailrace/kafka-kit';
import { expect, it } from 'vitest';
import { lagCommand } from './group.ts';
import type { LagPorts } from './group-waiting.ts';

const TOPIC = SERVICE_EVENTS_TOPIC;
const CHANNEL = 'service-events.indexer.replay';
const NOW_MS = Date.UTC(2026, 0, 31, 12);
const MINUTE_MS = 60_000;
const row = { topic: TOPIC, partition: 0, logStart: 0, logEnd: 7 };
/** What Kafka answers: for a name that it does not know, partitions without a commit. */
const groupLag: LagPorts['admin']['groupLag'] = async (group, [topic]) => [
  topic === CHANNEL
    ? { ...row, topic, committed: null, logEnd: 0, lag: 0 }
    : group === 'indexer' || group === 'somebody'
      ? { ...row, committed: 5, lag: 2 }
      : { ...row, committed: null, lag: 7 },
];

let code = 0;
let json: unknown;

/** Nothing waits for longer than a second, where nothing else is said. */
function portsWith(ports: Partial<LagPorts> & { readonly lag?: LagPorts['admin']['groupLag'] }): LagPorts {
  return {
    admin: { groupLag: ports.lag ?? groupLag },
    firstTimes: async (positions) => new Map(positions.map(({ topic, partition }) => [`${topic}/${partition}`, NOW_MS - 1000])),
    read: async function* () {},
    members: async () => 1,
    nowMs: () => NOW_MS,
    wait: async () => {
      throw new Error('there is nothing to wait for');
    },
    ...ports,
  };
}

async function shown(group: string | undefined, ports: Parameters<typeof portsWith>[0] = {}): Promise<readonly string[]> {
  let lines: readonly string[] = [];
  code = await lagCommand(portsWith(ports), group, {
    result: (value, given) => {
      json = value;
      lines = given;
    },
  });
  return lines;
}

it('a group that nobody knows is refused with those that there are, not shown as far behind', async () => {
  await expect(shown('a\nb\u001b[2J')).rejects.toThrow('There is no group a\\u{a}b\\u{1b}[2J that reads');
  await expect(shown('indexr')).rejects.toThrow(/no group indexr that reads service-events: name one of .*indexer, archiver/);
});

it('a declared group without a commit is shown as such, a group of somebody else’s with commits as it is', async () => {
  expect(await shown('archiver')).toEqual(['archiver: no commits yet (7 records in the log)']);
  expect((await shown('somebody'))[0]).toBe('somebody: 2 records behind, the oldest for 1 s');
  expect((await shown(undefined)).filter((line) => !line.startsWith(' '))).toEqual([
    'alert-processor: no commits yet (7 records in the log)',
    'indexer: 2 records behind, the oldest for 1 s',
    'archiver: no commits yet (7 records in the log)',
    'alert-processor.decide: no commits yet (7 records in the log)',
  ]);
});

it('the deciding stage is held against what is published to it', async () => {
  const asked: (readonly string[])[] = [];
  const lag: LagPorts['admin']['groupLag'] = async (_, topics) => {
    asked.push(topics);
    return [{ ...row, topic: 'alert-partials', committed: 3, lag: 4 }];
  };
  expect((await shown('alert-processor.decide', { lag }))[0]).toBe('alert-processor.decide: 4 records behind, the oldest for 1 s');
  expect(asked).toEqual([['alert-partials']]);
});

it('a group that stands before what Kafka no longer holds is a finding, with the exact range and what ends it', async () => {
  const rows = [
    { ...row, logStart: 3, committed: 1, lag: 6 },
    { ...row, partition: 1, logStart: 3, committed: 2, lag: 5 },
    { ...row, partition: 2, committed: 9, lag: 0 },
    { ...row, partition: 3, committed: 7, lag: 0 },
    { ...row, partition: 4, logStart: 5, committed: null, lag: 2 },
  ];
  const lines = await shown('indexer', { lag: async () => rows });
  expect(code).toBe(1);
  const restored =
    'while it runs it reads them from the lake and goes on from Kafka by itself; /readyz of its service says how far it is, or what it waits for.';
  const reset = (partition: number, to: string): string =>
    `stop the group, run: npx tailrace group reset --group indexer --topic service-events --partition ${partition} --to ${to}, and start it.`;
  expect(lines.filter((line) => line.startsWith('    '))).toEqual([
    `    expired: Group indexer needs offsets 1 to 2 of service-events, partition 0, which Kafka no longer holds; ${restored}`,
    `    expired: Group indexer needs offset 2 of service-events, partition 1, which Kafka no longer holds; ${restored}`,
    `    truncated: Group indexer stands at offset 9 of service-events, partition 2, but the log ends at 7; its log was cut back, or the topic was deleted and made anew, and /readyz of its service says which: after the first to go on behind the end, ${reset(2, 'latest').replace(/\.$/, '')}; after the second with --to earliest, which reads the new topic from its start.`,
  ]);
});

it('the commit of a group whose position is in the lake is no finding', async () => {
  await shown('archiver', { lag: async () => [{ ...row, logStart: 3, committed: 1, lag: 6 }] });
  expect(code).toBe(0);
});

/** The indexer 5 behind on each of so many partitions; each has waited so long, and settles so many records between two looks. */
function behind(partitions: readonly { readonly waitingMs: number; readonly settles: number }[], dead: readonly RawRecord[] = []) {
  const waits: number[] = [];
  const at = (partition: number): number => 5000 + (partitions[partition]?.settles ?? 0) * waits.length;
  return {
    waits,
    ports: {
      lag: async (_group: string, topics: readonly string[]) =>
        topics.includes(TOPIC)
          ? partitions.map((_, partition) => ({ ...row, partition, committed: at(partition), logEnd: 6000, lag: 6000 - at(partition) }))
          : [{ topic: topics[0] ?? '', partition: 0, committed: null, logStart: 10, logEnd: 5010, lag: 5000 }],
      firstTimes: async (positions: readonly { topic: string; partition: number; first: number }[]) => {
        expect(positions.map(({ first }) => first)).toEqual(partitions.map(() => 5000));
        return new Map(partitions.map(({ waitingMs }, partition) => [`${TOPIC}/${partition}`, NOW_MS - waitingMs]));
      },
      wait: async (ms: number) => {
        waits.push(ms);
      },
      read: async function* (ranges: readonly object[]) {
        expect(ranges).toMatchObject([{ topic: `${TOPIC}.indexer.dlq`, from: 4010, to: 5010 }]);
        yield dead;
      },
    },
  };
}

function deadLetter(offset: number, reason: string): RawRecord {
  const origin = { topic: TOPIC, incarnation: 'abcdefgh', partition: 0, offset, timestampMs: NOW_MS };
  const parts = { key: null, value: Buffer.from('x'), headers: [] };
  const letter = { ...parts, group: 'indexer', reason, detail: '', origin, via: origin, attempts: 1, replays: 0, failedAtMs: NOW_MS };
  const { key, value, headers = [] } = deadLetterRecord(letter, 'dlq');
  return { topic: 'dlq', partition: 0, offset: 0, timestampMs: NOW_MS, key, value, headers };
}

it('a partition whose commit does not move while records wait stands still: a finding, with its dead letters and where its reason is said', async () => {
  const letters = [
    ...Array.from({ length: 120 }, (_, i) => deadLetter(4870 + i, 'not-json')),
    ...['a', 'b', 'c', 'd\u001b[2J'].map((reason, i) => deadLetter(4990 + i, reason)),
    deadLetter(4999, 'refused'),
  ];
  // Twice there, of long before, of a record that is not passed, and of nobody.
  const others = [deadLetter(4999, 'refused'), deadLetter(3999, 'not-json'), deadLetter(5000, 'not-json')];
  const { ports, waits } = behind(
    [
      { waitingMs: 40_000, settles: 0 },
      { waitingMs: 40_000, settles: 100 },
      { waitingMs: 1000, settles: 0 },
    ],
    [...letters, ...others, { ...deadLetter(4998, 'foreign'), headers: [] }],
  );
  expect(await shown('indexer', ports)).toEqual([
    'indexer: 3000 records behind, the oldest for 40 s',
    '  service-events, partition 0: 1000 behind, the oldest for 40 s (committed 5000, log 0 to 6000)',
    '    stands still: nothing was committed for 10 s; of the 1000 offsets before it 125 became dead letters (not-json: 120, a: 1, b: 1, c: 1, d\\u{1b}[2J: 1, and others: 1), which npx tailrace dlq ls --source service-events/0 shows.',
    '  service-events, partition 1: 1000 behind, the oldest for 40 s (committed 5000, log 0 to 6000)',
    '  service-events, partition 2: 1000 behind, the oldest for 1 s (committed 5000, log 0 to 6000)',
    '  Why a partition stands still is in /readyz of its service and in the log: a server that it waits for, or a halt with what ends it. One that stopped for its dead letters goes on when what makes them is put right and the service is started again.',
  ]);
  expect([code, waits]).toEqual([1, [10_000]]);
  expect(json).toMatchObject({ groups: [{ waitingMs: 40_000, members: 1, partitions: [{ oldest: '2026-01-31T11:59:20.000Z' }, {}, {}] }] });
});

it('dead letters of long before are not told as the reason why a partition stands still', async () => {
  const letters = [...Array.from({ length: 120 }, (_, i) => deadLetter(4300 + i, 'not-json')), deadLetter(4950, 'refused')];
  const { ports } = behind([{ waitingMs: 40_000, settles: 0 }], letters);
  expect((await shown('indexer', ports)).slice(2)).toEqual([
    '    stands still: nothing was committed for 10 s. It does not look like a halt for dead letters: earlier, of the 1000 offsets before it 121 became dead letters (not-json: 120, refused: 1), which npx tailrace dlq ls --source service-events/0 shows, but of the last 100 only 1.',
    '  Why a partition stands still is in /readyz of its service and in the log: a server that it waits for, or a halt with what ends it.',
  ]);
  expect(code).toBe(1);
});

it('a partition without a commit that a running group does not settle stands still too, and one of a group that nobody ever ran does not', async () => {
  const ports = {
    lag: async () => [{ ...row, logStart: 3, committed: null, lag: 4 }],
    firstTimes: async (positions: readonly { readonly first: number }[]) => {
      expect(positions).toMatchObject([{ first: 3 }]);
      return new Map([[`${TOPIC}/0`, NOW_MS - MINUTE_MS]]);
    },
    wait: async () => {},
  };
  expect((await shown('indexer', ports)).slice(0, 3)).toEqual([
    'indexer: 4 records behind, the oldest for 60 s',
    '  service-events, partition 0: 4 behind, the oldest for 60 s (committed nothing, log 3 to 7)',
    '    stands still: nothing was committed for 10 s.',
  ]);
  expect(code).toBe(1);
  expect(await shown('indexer', { ...ports, members: async () => 0 })).toEqual(['indexer: no commits yet (4 records in the log)']);
  expect(code).toBe(0);
});

it('where no record can be read, since when one waits is not known, and that is said', async () => {
  expect((await shown('indexer', { firstTimes: async () => new Map() }))[1]).toBe(
    '  service-events, partition 0: 2 behind, for how long is not known (markers of transactions, one that is open, or no answer) (committed 5, log 0 to 7)',
  );
  expect(code).toBe(0);
});

it('a partition of a group that nobody runs stands still for that', async () => {
  const { ports } = behind([{ waitingMs: 3 * MINUTE_MS, settles: 0 }]);
  const lines = await shown('indexer', { ...ports, members: async () => 0 });
  expect(lines.slice(2)).toEqual([
    '    stands still: nothing was committed for 10 s.',
    '  Kafka counts no running member of group indexer: start its service, or see why the one that is there does not answer.',
  ]);
  expect(code).toBe(1);
});

it('a partition that goes on is a finding only when it is later than its group may be', async () => {
  const intime = behind([{ waitingMs: 4 * MINUTE_MS, settles: 1 }]);
  await shown('indexer', intime.ports);
  expect([code, intime.waits.length]).toEqual([0, 1]);
  const late = behind([{ waitingMs: 6 * MINUTE_MS, settles: 1 }]);
  expect((await shown('indexer', late.ports))[2]).toBe(
    '    late: longer than the 5 min that indexer may take; it goes on, and does not keep up.',
  );
  expect(code).toBe(1);
});

it('the archiver’s commit is for looks, and may stand for minutes: it is a finding only when it is late, and nothing is waited for', async () => {
  const waits = (waitingMs: number): Partial<LagPorts> & { lag: LagPorts['admin']['groupLag'] } => ({
    lag: async () => [{ ...row, committed: 5, lag: 2 }],
    firstTimes: async () => new Map([[`${TOPIC}/0`, NOW_MS - waitingMs]]),
  });
  await shown('archiver', waits(20 * MINUTE_MS));
  expect(code).toBe(0);
  expect((await shown('archiver', waits(31 * MINUTE_MS)))[2]).toBe(
    '    late: longer than the 30 min that archiver may take; npx tailrace lake audit shows how far the lake is.',
  );
  expect(code).toBe(1);
});

it('a record without a time that can be, and one that Kafka does not give, are said to wait for nothing', async () => {
  expect((await shown('indexer', { firstTimes: async () => new Map() }))[0]).toBe('indexer: 2 records behind');
  expect((await shown('indexer', { firstTimes: async () => new Map([[`${TOPIC}/0`, -1]]) }))[0]).toBe('indexer: 2 records behind');
  expect(code).toBe(0);
});

it('the reader of a side channel is shown as such once something was brought back, and always when it is asked for', async () => {
  const asked: (readonly string[])[] = [];
  const of =
    (committed: number | null, logEnd: number): LagPorts['admin']['groupLag'] =>
    async (group, topics) => {
      if (group !== 'indexer.replay') return await groupLag(group, topics);
      asked.push(topics);
      return [{ ...row, topic: CHANNEL, committed, logEnd, lag: logEnd - (committed ?? 0) }];
    };
  const heads = async (group: string | undefined, lag: LagPorts['admin']['groupLag']) =>
    (await shown(group, { lag })).filter((line) => line.startsWith('indexer.replay'));
  expect(await heads(undefined, of(null, 0))).toEqual([]);
  expect(await heads(undefined, of(null, 3))).toEqual([
    'indexer.replay (what is brought back into indexer): no commits yet (3 records in the log)',
  ]);
  expect(await heads(undefined, of(3, 3))).toEqual(['indexer.replay (what is brought back into indexer): 0 records behind']);
  expect(await heads('indexer.replay', of(null, 0))).toHaveLength(1);
  expect(await heads('indexer.replay', of(1, 3))).toEqual([
    'indexer.replay (what is brought back into indexer): 2 records behind, the oldest for 1 s',
  ]);
  expect(json).toMatchObject({ groups: [{ group: 'indexer.replay', sideChannelOf: 'indexer', lag: 2 }] });
  expect(new Set(asked.flat())).toEqual(new Set([CHANNEL]));
});
