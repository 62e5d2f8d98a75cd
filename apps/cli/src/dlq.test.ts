import { isoTime } from '@tailrace/kafka-kit';
import { printable } from '@tailrace/service';
import { expect, it } from 'vitest';
import { lsCommand, type Unsendable } from './dlq-ls.ts';
import { type DlqFilter, parseSource, parseTime } from './dlq-options.ts';
import { showCommand, type Wanted } from './dlq-show.ts';
import { BEGIN_MS, Dlq, told, topic } from './testing/dlq-topic.ts';

const ls = (dlq: Dlq, filter: DlqFilter = {}, unsendable?: Unsendable) =>
  told((output) => lsCommand(dlq.admin, dlq.read, [topic], filter, unsendable && (async () => unsendable), output));
const show = (dlq: Dlq, wanted: Wanted) => told((output) => showCommand(dlq.admin, dlq.read, topic, wanted, output));

function sample(): Dlq {
  const dlq = new Dlq();
  for (let i = 0; i < 3; i += 1) dlq.add(0, i, { value: Buffer.from('{"service":"checkout","x":') });
  dlq.add(1, 7, { value: Buffer.from([0xff]), reason: 'not-utf8' });
  dlq.add(1, 7, { value: Buffer.from('{"service":"checkout"}'), reason: 'invalid-field', key: Buffer.alloc(0), headers: [['a', null]] });
  return dlq;
}

it('ls shows how many, of what, how far back and how many are lost', async () => {
  const { code, lines, value } = await ls(sample(), {}, { records: 2, where: 's3://lake/lake/_unsendable/' });
  expect(lines).toEqual([
    'service-events.indexer.dlq: 5 dead letters, from 2026-01-31T12:00:00.000Z to 2026-01-31T12:00:04.000Z; 10 dead letters lost already: the topic keeps no more than its retention',
    '  records  reason         service      newest                    show --at',
    '  3        not-json       checkout     2026-01-31T12:00:02.000Z  0/12',
    '  1        not-utf8       (not known)  2026-01-31T12:00:03.000Z  1/0',
    '  1        invalid-field  checkout     2026-01-31T12:00:04.000Z  1/1',
    's3://lake/lake/_unsendable/: 2 dead records that no topic took',
  ]);
  expect(value).toMatchObject({
    topics: [{ deadLetters: 5, expired: 10, heaps: [{ reason: 'not-json', service: 'checkout', records: 3 }, {}, {}] }],
  });
  expect(code).toBe(1);
});

it.each<[string, DlqFilter, number, number]>([
  ['a reason', { reason: 'not-json' }, 3, 10],
  ['a topic', { source: parseSource('service-events') }, 5, 10],
  ['a partition', { source: parseSource('service-events/1') }, 2, 0],
  ['a record', { source: parseSource('service-events/0/2') }, 1, 10],
  ['a time from', { fromMs: parseTime('2026-01-31T13:00:03+01:00') }, 2, 10],
  ['a time to', { toMs: parseTime('2026-01-31T12:00:01.000Z') }, 1, 10],
  ['all at once', { reason: 'not-utf8', source: parseSource('service-events/1/7'), fromMs: BEGIN_MS, toMs: BEGIN_MS + 9000 }, 1, 0],
])('ls narrows by %s', async (_, filter, deadLetters, expired) => {
  expect((await ls(sample(), filter)).value).toMatchObject({ topics: [{ deadLetters, expired }] });
});

it('ls says of a filter that leaves out everything how much there is: a slip must not read as if all were well', async () => {
  const { lines } = await ls(sample(), { reason: 'nonsense' });
  expect(lines[0]).toMatch(/: none of \d+ dead letters matches \(the reasons that there are: (not-json|not-utf8): \d, [a-z0-9-]+: \d.*\)/);
});

it('ls ends with 0 only where there is nothing, in the topic and in the bucket', async () => {
  const empty = {
    ...new Dlq(),
    admin: { groupLag: async () => [{ topic: '', partition: 0, committed: null, logStart: 0, logEnd: 0, lag: 0 }] },
  };
  const codes = [undefined, { records: 0, where: 'b' }, { records: 1, where: 'b' }, { unknown: 'away' }].map(
    async (unsendable) => (await ls(empty as never, {}, unsendable)).code,
  );
  expect(await Promise.all(codes)).toEqual([0, 0, 1, 1]);
  expect((await ls(empty as never)).lines).toEqual(['service-events.indexer.dlq: no dead letters']);
});

it('ls stays short and bounded however many services there are, and tells no one’s escapes to the terminal', async () => {
  const dlq = new Dlq();
  for (let i = 0; i < 1100; i += 1) dlq.add(1, i, { value: Buffer.from(`{"service":"s${i}"`) });
  dlq.add(0, 1, { value: Buffer.from('{"service":"evil\\b"'), reason: 'x\u001b[31m' });
  dlq.addRaw(0, { key: null, value: null, headers: [] });
  const { lines, value } = await ls(dlq);
  expect(lines.length).toBeLessThan(50);
  expect(lines.join('\n')).toContain('and 1061 dead letters of other reasons and services: narrow it');
  expect(lines.join('\n')).toContain('1 record is none: somebody else wrote there');
  expect(value).toMatchObject({ topics: [{ deadLetters: 1101, foreign: 1 }] });
  expect((await ls(dlq, { source: parseSource('service-events/0') })).lines.join('\n')).toMatch(/x\\u\{1b\}\[31m {2}evil\\u\{8\}/);
});

it('show prints all that is known of a dead letter, and its bytes', async () => {
  const { lines, value, code } = await show(sample(), { at: { partition: 1, offset: 1 } });
  expect(lines).toEqual([
    'dead letter 1/1 of service-events.indexer.dlq, written 2026-01-31T12:00:04.000Z',
    '  reason    invalid-field',
    '  detail    d',
    '  source    service-events/1/7 (2026-01-31T12:00:00.000Z, topic id abcdefgh)',
    '  group     indexer',
    '  attempts  1, brought back 0 times',
    '  failed    2026-01-31T12:00:00.000Z',
    '  headers   a: (null)',
    '  key       ',
    '  value     22 bytes:',
    '{"service":"checkout"}',
  ]);
  expect(value).toMatchObject({ key: { text: '' }, value: { text: '{"service":"checkout"}' }, headers: [['a', null]], others: [] });
  expect(code).toBe(0);
});

const ODD_TIMES = [9e15, Number(2n ** 63n - 1n), Number(-(2n ** 63n)), 253_402_300_800_000, -1, 0];

it.each(ODD_TIMES)(
  'a dead letter of a record with the time %d, in a topic that took the same, is listed and shown',
  async (timestampMs) => {
    const dlq = new Dlq();
    const origin = { topic: 'service-events', incarnation: 'abcdefgh', partition: 1, offset: 7, timestampMs };
    dlq.add(1, 7, { value: null, origin, via: origin, reason: 'bad-time' }, timestampMs);
    dlq.add(1, 8, { value: null, reason: 'bad-time' });
    const listed = await ls(dlq);
    expect(listed.value).toMatchObject({ topics: [{ deadLetters: 2, foreign: 0, heaps: [{ reason: 'bad-time', records: 2 }] }] });
    const { value, lines } = await show(dlq, { at: { partition: 1, offset: 0 } });
    expect(value).toMatchObject({ origin: { timestampMs } });
    const text = timestampMs === -1 ? 'without a time' : isoTime(timestampMs);
    expect(lines.join('\n')).toContain(`service-events/1/7 (${text}, topic id abcdefgh)`);
  },
);

it('show by the source finds the newest of its dead letters, and names the others', async () => {
  const { lines } = await show(sample(), { source: { topic: 'service-events', partition: 1, offset: 7 } });
  expect(lines[0]).toContain('dead letter 1/1 of');
  expect(lines.at(-1)).toBe('  also      1/0: dead letters of the same record');
});

it('bytes that are no text for a terminal are shown in base64', async () => {
  const dlq = sample();
  dlq.add(0, 3, { value: Buffer.from('\u001b[31mred'), key: Buffer.from('two\nlines') });
  expect((await show(dlq, { at: { partition: 1, offset: 0 } })).lines.slice(-2)).toEqual(['  value     1 bytes, in base64:', '/w==']);
  expect((await show(dlq, { at: { partition: 0, offset: 13 } })).lines.slice(-3)).toEqual([
    `  key       (base64) ${Buffer.from('two\nlines').toString('base64')}`,
    '  value     8 bytes, in base64:',
    Buffer.from('\u001b[31mred').toString('base64'),
  ]);
});

it('no character that turns the direction, hides or moves the cursor gets to a terminal, and all others do', () => {
  expect(printable('a\u202eb')).toBe('a\\u{202e}b');
  const named = [0x00, 0x1b, 0x7f, 0x9b, 0xad, 0x61c, 0x180e, 0x200b, 0x200f, 0x2028, 0x2029, 0x2060, 0x2066, 0xfeff, 0xfff9, 0xe0041];
  const all = Array.from({ length: 0x110000 }, (_, code) => code);
  const turning = all.filter((code) => /\p{Bidi_Control}/u.test(String.fromCodePoint(code)));
  expect(turning).toHaveLength(12);
  for (const code of [...named, ...turning]) expect(printable(String.fromCodePoint(code))).toBe(`\\u{${code.toString(16)}}`);
  const seen = 'aé ü漢字 ‒“”… 🎉 مرحبا שלום';
  expect(printable(seen)).toBe(seen);
});

it.each<[string, Wanted, RegExp]>([
  ['before the log', { at: { partition: 0, offset: 9 } }, /0\/9 of .* is lost: .* begins at offset 10/],
  ['behind the log', { at: { partition: 0, offset: 13 } }, /no dead letter 0\/13 .* ends before offset 13/],
  ['of no partition', { at: { partition: 5, offset: 0 } }, /no partition 5/],
  [
    'of a record that is not dead',
    { source: { topic: 'service-events', partition: 0, offset: 99 } },
    /holds no dead letter of service-events\/0\/99; 10 older/,
  ],
])('show of a dead letter %s says what is the matter', async (_, wanted, sentence) => {
  await expect(show(sample(), wanted)).rejects.toThrow(sentence);
});
