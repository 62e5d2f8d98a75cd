import fc from 'fast-check';
import { expect, it } from 'vitest';
import { headerNames, recordParts } from '../testing/odd-records.ts';
import { deadLetterRecord, MAX_DETAIL_BYTES, readDeadLetter } from './dead-letter.ts';
import { decodeSideRecord, encodeSideRecord, type RecordParts } from './side-record.ts';

const origin = { topic: 'events', incarnation: 'abc-_123', partition: 3, offset: 2 ** 52, timestampMs: 1_769_860_800_123 };

/** What the real client does to a record on its way, as the integration test beside this one sees it. */
function throughTheClient({ key, value, headers }: RecordParts): RecordParts {
  return {
    key: key?.length === 0 ? null : key,
    value: value?.length === 0 ? null : value,
    headers: headers.map(([name, bytes]) => [Buffer.from(name.split('\0')[0] ?? '').toString('utf8'), bytes ?? Buffer.alloc(0)]),
  };
}

it('key, value, headers and coordinates come back byte for byte, whatever they are', () => {
  const seed = Date.now() % 2 ** 31;
  console.log(`side-record seed ${seed}`);
  fc.assert(
    fc.property(recordParts, (original) => {
      const decoded = decodeSideRecord(throughTheClient(encodeSideRecord({ origin, notes: [], ...original })));
      expect(decoded).toEqual({ origin, notes: [], ...original });
      const letter = { group: 'g', reason: 'r', detail: '', origin, via: origin, attempts: 1, replays: 0, failedAtMs: 0, ...original };
      const sent = deadLetterRecord(letter, 'dlq');
      expect(readDeadLetter(throughTheClient({ ...sent, headers: sent.headers ?? [] }))).toEqual(letter);
      // A dead letter that is brought back and dies again is one of the original, not of the dead letter.
      expect(sent).toMatchObject({ topic: 'dlq', partition: origin.partition });
    }),
    { seed, numRuns: 2000 },
  );
});

it('what is no work of ours is told from what is', () => {
  const { headers } = encodeSideRecord({ origin, notes: [], key: null, value: null, headers: [['a', null]] });
  const parts = (changed: RecordParts['headers']): RecordParts => ({ key: null, value: null, headers: changed });
  expect(decodeSideRecord(parts(headers))).toMatchObject({ origin, headers: [['a', null]] });
  expect(decodeSideRecord(parts([]))).toBeUndefined();
  for (const name of ['topic', 'incarnation', 'partition', 'offset', 'timestamp'])
    expect(decodeSideRecord(parts(headers.filter(([each]) => each !== `origin.${name}`)))).toBeUndefined();
  for (const [name, value] of [
    ['origin.offset', '-1'],
    ['origin.offset', '1e3'],
    ['origin.offset', '9007199254740993'],
    ['origin.partition', ''],
    ['origin.headers', 'nonsense'],
    ['origin.headers', Buffer.from('[[0,1,2]]').toString('base64')],
    ['origin.headers', Buffer.from('{}').toString('base64')],
  ] as const)
    expect(decodeSideRecord(parts([[name, Buffer.from(value)], ...headers.filter(([each]) => each !== name)])), name).toBeUndefined();
  expect(readDeadLetter(parts(headers))).toBeUndefined();
});

it('a record comes back with any 64 bits as its time', () => {
  for (const timestampMs of [9e15, Number(2n ** 63n - 1n), Number(-(2n ** 63n)), -1, 0]) {
    const odd = { ...origin, timestampMs };
    const letter = { group: 'g', reason: 'r', detail: '', origin: odd, via: odd, attempts: 1, replays: 0, failedAtMs: 0, headers: [] };
    const { headers = [], key, value } = deadLetterRecord({ ...letter, key: null, value: null }, 'dlq');
    expect(readDeadLetter({ key, value, headers })).toMatchObject(letter);
  }
});

it('a detail of any length is cut to 1 KiB between two characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 1500 }), (detail) => {
      const letter = { group: 'g', reason: 'r', detail, origin, via: origin, attempts: 1, replays: 0, failedAtMs: 0 };
      const { headers = [] } = deadLetterRecord({ ...letter, key: null, value: null, headers: [] }, 'dlq');
      const bytes = headers.find(([name]) => name === 'dlq.detail')?.[1] ?? Buffer.alloc(0);
      expect(bytes.length).toBeLessThanOrEqual(MAX_DETAIL_BYTES);
      expect(detail.startsWith(bytes.toString('utf8'))).toBe(true);
      expect(bytes.length).toBeGreaterThan(Math.min(Buffer.byteLength(detail), MAX_DETAIL_BYTES) - 4);
    }),
    { numRuns: 300 },
  );
});

it('odd header names are among those that are tried', () => {
  const tried = new Set(fc.sample(headerNames, { seed: 1, numRuns: 500 }));
  for (const name of ['', '__proto__', 'origin.topic', 'dlq.reason', 'cut\0here', '0']) expect(tried).toContain(name);
});
