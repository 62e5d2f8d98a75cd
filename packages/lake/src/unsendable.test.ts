import { expect, it } from 'vitest';
import { MemoryStore } from './testing/memory-store.ts';
import { keepUnsendable, unsendablePrefix } from './unsendable.ts';

const origin = { topic: 'events', incarnation: 'abcdefgh', partition: 3, offset: 77, timestampMs: 5 };
const letter = {
  group: 'indexer',
  reason: 'not-json',
  detail: 'at 7',
  origin,
  via: origin,
  attempts: 2,
  replays: 0,
  failedAtMs: 0,
  key: Buffer.from([0xff]),
  value: Buffer.from('{"a":\n"ü"'),
  headers: [
    ['h', null],
    ['h', Buffer.alloc(0)],
  ] as const,
};

it('holds the whole record in words that people read, once, however often it is stored', async () => {
  const store = new MemoryStore();
  await keepUnsendable(store, 'lake', letter, 'too large');
  await keepUnsendable(store, 'lake', { ...letter, failedAtMs: 9, attempts: 1 }, 'too large');
  const listed = [];
  for await (const { key } of store.list(unsendablePrefix('lake'))) listed.push(key);
  expect(listed).toEqual(['lake/_unsendable/indexer/events~abcdefgh/3/00000000000000000077.json']);
  expect(JSON.parse(String(await store.get(listed[0] ?? '')))).toEqual({
    format: 'tailrace-unsendable-1',
    group: 'indexer',
    reason: 'not-json',
    detail: 'at 7',
    why: 'too large',
    source: origin,
    via: origin,
    attempts: 2,
    replays: 0,
    failed_at: '1970-01-01T00:00:00.000Z',
    key: { base64: '/w==' },
    value: { text: '{"a":\n"ü"' },
    headers: [
      ['h', null],
      ['h', { text: '' }],
    ],
  });
});

it('a lake at the root of its bucket has it at the root', () => {
  expect(unsendablePrefix('')).toBe('_unsendable/');
});
