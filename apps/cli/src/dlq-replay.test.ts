import { type DeadLetter, decodeSideRecord, type Published } from '@tailrace/kafka-kit';
import { ConfigError } from '@tailrace/service';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type DlqFilter, parseSource } from './dlq-options.ts';
import { type DlqReplayFlags, dlqReplayCommand } from './dlq-replay.ts';
import { BEGIN_MS, Dlq, type Told, told, topic } from './testing/dlq-topic.ts';
import { Channel, INTO } from './testing/side-channel.ts';

const YES: DlqReplayFlags = { yes: true, dryRun: false, json: false };
const ASKS: DlqReplayFlags = { yes: false, dryRun: false, json: false };

function replay(dlq: Dlq, channel: Channel, filter: DlqFilter = {}, flags = YES): Promise<Told> {
  return told((output) => dlqReplayCommand(channel.ports(dlq), topic, filter, flags, output));
}

const value = Buffer.from('{"service":"checkout"}');

it('sends the letters that are meant, as they stood at first, with the rounds that they will have been through', async () => {
  const dlq = new Dlq();
  dlq.add(0, 5, {
    value: Buffer.alloc(0),
    key: Buffer.from('k'),
    headers: [
      ['a', null],
      ['a', Buffer.from([0xff])],
    ],
    replays: 2,
  });
  dlq.add(1, 7, { value, reason: 'not-utf8' });
  const channel = new Channel();
  const { code, lines, value: json } = await replay(dlq, channel, { reason: 'not-json' });
  expect(channel.sent()).toEqual([[0, 5, 'dlq.replays=3']]);
  const [record] = channel.records;
  expect(decodeSideRecord({ key: null, value: null, headers: [], ...record })).toMatchObject({
    origin: { topic: 'service-events', incarnation: 'abcdefgh', partition: 0, offset: 5, timestampMs: BEGIN_MS },
    key: Buffer.from('k'),
    value: Buffer.alloc(0),
    headers: [
      ['a', null],
      ['a', Buffer.from([0xff])],
    ],
  });
  expect(lines).toEqual([
    'service-events.indexer.dlq: 1 of 2 dead letters, into service-events.indexer.replay',
    '  records  reason    service      newest                    show --at',
    '  1        not-json  (not known)  2026-01-31T12:00:00.000Z  0/10',
    expect.stringMatching(
      /^1 matched: 1 sent into service-events\.indexer\.replay, 0 refused after 5 rounds\.\nOnce .* group lag --group indexer\.replay shows 0 behind, all were tried, and .* dlq ls --group indexer --from 2026-01-31T13:00:00\.\d{3}Z shows/,
    ),
  ]);
  expect(json).toMatchObject({ letters: 2, records: 2, matched: 1, sent: 1, refusedRounds: 0, refusedRecords: 0, dryRun: false });
  expect([code, channel.opened, channel.closed]).toEqual([0, 1, 1]);
});

it('of a record with several letters only the latest counts, and the filter is about that one', async () => {
  const dlq = new Dlq();
  dlq.add(0, 5, { value, replays: 0 });
  dlq.add(0, 5, { value, replays: 2, reason: 'other' });
  dlq.add(0, 5, { value, replays: 1 });
  dlq.add(0, 6, { value: Buffer.from('first') });
  dlq.add(0, 6, { value: Buffer.from('after a crash') });
  // Another life of the topic has records of its own.
  const origin = { topic: 'service-events', incarnation: 'ijklmnop', partition: 0, offset: 6, timestampMs: BEGIN_MS };
  dlq.add(0, 6, { value, origin });
  const channel = new Channel();
  const all = await replay(dlq, channel);
  expect(channel.sent()).toEqual([
    [0, 5, 'dlq.replays=3'],
    [0, 6, 'dlq.replays=1'],
    [0, 6, 'dlq.replays=1'],
  ]);
  expect(channel.records[1]?.value).toEqual(Buffer.from('after a crash'));
  expect(all.lines[0]).toBe(
    'service-events.indexer.dlq: 3 of 6 dead letters, the latest of each of 3 records, into service-events.indexer.replay',
  );
  const none = new Channel();
  await replay(dlq, none, { reason: 'not-json', source: parseSource('service-events/0/5') });
  expect(none.sent()).toEqual([]);
});

it('a letter of the side channel’s own reader is one of the group: what died again there is brought back too', async () => {
  const dlq = new Dlq();
  dlq.add(0, 5, { value });
  const via = { topic: INTO, incarnation: 'ijklmnop', partition: 0, offset: 3, timestampMs: BEGIN_MS };
  dlq.add(0, 5, { value, replays: 1, group: 'indexer.replay', via });
  const channel = new Channel();
  const { value: json } = await replay(dlq, channel);
  expect(channel.sent()).toEqual([[0, 5, 'dlq.replays=2']]);
  expect(json).toMatchObject({ letters: 2, foreign: 0 });
});

it('the sixth round is refused, counted and named, and the others go', async () => {
  const dlq = new Dlq();
  for (let i = 0; i < 12; i++) dlq.add(1, i, { value, replays: 5 + i });
  dlq.add(1, 12, { value, replays: 4 });
  const channel = new Channel();
  const { code, lines, value: json } = await replay(dlq, channel);
  expect(channel.sent()).toEqual([[1, 12, 'dlq.replays=5']]);
  expect(lines).toContain(
    '  12 of them refused: brought back 5 times, and dead again (1/0, 1/1, 1/2, 1/3, 1/4, 1/5, 1/6, 1/7, 1/8, 1/9 and 2 more: npx tailrace dlq show --at shows them)',
  );
  expect(lines.at(-1)).toMatch(/^13 matched: 1 sent into .*, 12 refused after 5 rounds\./);
  expect(json).toMatchObject({ matched: 13, sent: 1, refusedRounds: 12 });
  expect(code).toBe(1);
});

it('what is only refused is not asked about', async () => {
  const dlq = new Dlq();
  dlq.add(1, 1, { value, replays: 5 });
  const channel = new Channel();
  const { code, lines } = await replay(dlq, channel, {}, ASKS);
  expect([code, channel.asked, channel.opened, lines.at(-1)]).toEqual([1, [], 0, 'Nothing was sent.']);
});

it('letters that come while it sends are not its own', async () => {
  const dlq = new Dlq();
  dlq.add(0, 1, { value });
  dlq.add(1, 1, { value });
  const channel = new Channel();
  let next = 100;
  channel.onSend = () => {
    dlq.add(0, 1, { value, replays: 1 });
    dlq.add(1, next++, { value });
  };
  await replay(dlq, channel);
  expect(channel.sent()).toEqual([
    [0, 1, 'dlq.replays=1'],
    [1, 1, 'dlq.replays=1'],
  ]);
});

it('shows what it would send and asks; only yes sends', async () => {
  const dlq = new Dlq();
  dlq.add(0, 1, { value });
  const channel = new Channel();
  channel.answer = false;
  expect(await replay(dlq, channel, {}, ASKS)).toMatchObject({ code: 1, lines: ['Nothing was sent.'] });
  expect(channel.asked[0]).toMatch(
    /^service-events\.indexer\.dlq: 1 of 1 dead letter, into [\s\S]*checkout[\s\S]*\nSend them\? \[y\/N\] $/,
  );
  expect(channel.opened).toBe(0);
  channel.answer = true;
  expect((await replay(dlq, channel, {}, ASKS)).lines).toEqual([expect.stringMatching(/^1 matched: 1 sent/)]);
  const dry = await replay(dlq, channel, {}, { ...YES, dryRun: true });
  expect([dry.code, dry.lines.at(-1), channel.records.length]).toEqual([0, 'Nothing was sent, as asked for by --dry-run.', 1]);
});

it('where it can not ask it says so before it reads anything', async () => {
  const channel = new Channel();
  const ports = { ...channel.ports(new Dlq()), confirm: undefined, admin: { groupLag: () => Promise.reject(new Error('read')) } };
  for (const flags of [ASKS, { ...ASKS, json: true }])
    await expect(dlqReplayCommand(ports, topic, {}, flags, { result: () => {} })).rejects.toThrow(/say --yes, or --dry-run/);
});

it('a group without a side channel is wrong use, in one sentence', async () => {
  const call = dlqReplayCommand(new Channel().ports(new Dlq()), { ...topic, group: 'alert-processor' }, {}, YES, { result: () => {} });
  await expect(call).rejects.toThrow(ConfigError);
  await expect(call).rejects.toThrow(
    'Group alert-processor takes no replays, so its dead letters can not be brought back: those of indexer can.',
  );
});

it('a side channel with another number of partitions is refused before anything is sent', async () => {
  const dlq = new Dlq();
  dlq.add(0, 1, { value });
  const channel = new Channel();
  const admin = {
    groupLag: async (_: string, topics: readonly string[]) => (await dlq.admin.groupLag()).slice(topics[0] === INTO ? 1 : 0),
  };
  const call = dlqReplayCommand({ ...channel.ports(dlq), admin }, topic, {}, YES, { result: () => {} });
  await expect(call).rejects.toThrow(`${topic.topic} has 2 partitions, and ${INTO} 1`);
  expect(channel.opened).toBe(0);
});

it('what is no letter of the group, or lies in another partition than its source, is not sent', async () => {
  const dlq = new Dlq();
  const origin = { topic: 'service-events', incarnation: 'abcdefgh', partition: 1, offset: 5, timestampMs: BEGIN_MS };
  dlq.addRaw(0, { key: null, value: null, headers: [] });
  dlq.add(0, 1, { value, group: 'another' });
  dlq.add(0, 2, { value, origin });
  dlq.add(0, 3, { value, origin: { ...origin, partition: 0, topic: 'another' } });
  const channel = new Channel();
  const { code, lines } = await replay(dlq, channel);
  expect(lines).toEqual([
    'service-events.indexer.dlq: no dead letters',
    '  4 records are none: somebody else wrote there',
    'Nothing was sent.',
  ]);
  expect([code, channel.opened]).toEqual([0, 0]);
});

it('a filter that matches nothing is a finding: a slip must not read as if all were sent', async () => {
  const dlq = new Dlq();
  dlq.add(0, 1, { value });
  const { code, lines } = await replay(dlq, new Channel(), { reason: 'not-jsn' });
  expect([code, lines]).toEqual([1, ['service-events.indexer.dlq: none of 1 dead letter matches', 'Nothing was sent.']]);
});

it('what was not acknowledged is sent again until it is, and what Kafka refuses is counted with its reason', async () => {
  const dlq = new Dlq();
  for (let i = 0; i < 4; i++) dlq.add(1, i, { value });
  const channel = new Channel();
  const unknown: Published = { kind: 'unknown', reason: 'no answer' };
  channel.fates.push((_, i) => (i < 1 ? { kind: 'acknowledged' } : unknown));
  channel.fates.push(
    () => unknown,
    () => unknown,
  );
  channel.fates.push((_, i) => (i < 1 ? { kind: 'refused', reason: 'too large' } : { kind: 'withdrawn', reason: 'late' }));
  channel.fates.push(
    () => unknown,
    () => unknown,
    () => ({ kind: 'acknowledged' }),
  );
  const { code, lines, value: json } = await replay(dlq, channel);
  expect(channel.sent().map(([, offset]) => offset)).toEqual([0, 2, 3]);
  expect(lines.at(-1)).toMatch(/^4 matched: 3 sent into .*, 0 refused after 5 rounds, 1 refused by Kafka \(too large\)\./);
  expect(json).toMatchObject({ sent: 3, refusedRecords: 1 });
  expect(code).toBe(1);
});

it('Kafka that acknowledges nothing ends it with how far it got', async () => {
  const dlq = new Dlq();
  for (let i = 0; i < 3; i++) dlq.add(1, i, { value });
  const channel = new Channel();
  channel.fates.push(
    (_, i) => (i < 1 ? { kind: 'acknowledged' } : { kind: 'unknown', reason: 'x' }),
    () => ({ kind: 'unknown', reason: 'no broker' }),
  );
  await expect(replay(dlq, channel)).rejects.toThrow(
    '1 of 3 dead letters were sent; then Kafka acknowledged none for 90 s (no broker): run this again when it answers, a record that is sent twice is written once.',
  );
  expect(channel.closed).toBe(1);
});

it('sends each record once, with one round more than its latest letter, whatever letters there are', async () => {
  const letter = fc.record({
    partition: fc.constantFrom(0, 1),
    offset: fc.integer({ min: 0, max: 5 }),
    replays: fc.integer({ min: 0, max: 7 }),
    reason: fc.constantFrom('a', 'b'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(letter, { maxLength: 40 }), fc.constantFrom(undefined, 'a'), async (letters, reason) => {
      const dlq = new Dlq();
      const latest = new Map<string, Pick<DeadLetter, 'replays' | 'reason'>>();
      for (const { partition, offset, ...rest } of letters) {
        dlq.add(partition, offset, { value, ...rest });
        if (rest.replays >= (latest.get(`${partition}/${offset}`)?.replays ?? 0)) latest.set(`${partition}/${offset}`, rest);
      }
      const channel = new Channel();
      await replay(dlq, channel, reason === undefined ? {} : { reason });
      const expected = [...latest]
        .filter(([, each]) => each.replays < 5 && (reason === undefined || each.reason === reason))
        .map(([place, { replays }]) => `${place} dlq.replays=${replays + 1}`);
      expect(
        channel
          .sent()
          .map(([partition, offset, rounds]) => `${partition}/${offset} ${rounds}`)
          .sort(),
      ).toEqual(expected.sort());
    }),
  );
});
