import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type KeptPosition, positionRecord, readPositionRecord } from './position-record.ts';

const PLACE = { topic: 'positions', partition: 0 };
const position: KeptPosition = { topic: 'events', partition: 3, incarnation: 'aB_-0123', nextToRead: 42 };

it('a position is read as it was written, by its own group alone', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1 }),
      fc.nat(),
      fc.maxSafeNat(),
      fc.boolean(),
      (group, topic, partition, nextToRead, first) => {
        const kept = { topic, partition, incarnation: 'aaaaaaaa', nextToRead, ...(first ? { first } : {}) } as KeptPosition;
        const record = positionRecord(PLACE, group, kept);
        expect(readPositionRecord(record, group)).toEqual({ kind: 'position', position: kept });
        expect(readPositionRecord(record, `${group}x`)).toEqual({ kind: 'other' });
      },
    ),
  );
});

it('the bytes stay as they were released', () => {
  const { key, value } = positionRecord(PLACE, 'indexer', { ...position, first: true });
  expect([String(key), String(value)]).toEqual(['["position","indexer","events",3]', '{"incarnation":"aB_-0123","next":42,"first":true}']);
});

const KEY = '["position","readers","events",3]';
const VALUE = '{"incarnation":"aB_-0123","next":42}';
const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));

it.each<[string | null, string | null, string]>([
  [KEY, VALUE, 'position'],
  [KEY, '{"incarnation":"aB_-0123","next":42,"applied":{}}', 'position'],
  [KEY, null, 'dropped'],
  ['["sent","plan-1",3]', 'anything', 'other'],
  ['["position","others","events",3]', 'anything', 'other'],
  [null, VALUE, 'unreadable'],
  ['events/3', VALUE, 'unreadable'],
  ['{}', VALUE, 'unreadable'],
  ['["position","readers","events",-1]', VALUE, 'unreadable'],
  ['["position","readers","events",1.5]', VALUE, 'unreadable'],
  ['["position","readers","events",3,4]', VALUE, 'unreadable'],
  ['["position",7,"events",3]', VALUE, 'unreadable'],
  ['["position","readers","",3]', VALUE, 'unreadable'],
  [KEY, '', 'unreadable'],
  [KEY, 'null', 'unreadable'],
  [KEY, '{"next":42}', 'unreadable'],
  [KEY, '{"incarnation":"short","next":42}', 'unreadable'],
  [KEY, '{"incarnation":"aB_-0123","next":"42"}', 'unreadable'],
  [KEY, '{"incarnation":"aB_-0123","next":-1}', 'unreadable'],
  [KEY, '{"incarnation":"aB_-0123","next":9007199254740992}', 'unreadable'],
  [KEY, '{"incarnation":"aB_-0123","next":42,"first":"yes"}', 'unreadable'],
])('key %s with value %s is %s', (key, value, kind) => {
  expect(readPositionRecord({ key: bytes(key), value: bytes(value) }, 'readers').kind).toBe(kind);
});
