import { expect, test } from 'vitest';
import { decodeEvent } from './decode-event.ts';

type HeaderList = readonly (readonly [string, Buffer | null])[];
const at = (timestampMs: number, value: string | Buffer | null, headers: HeaderList = []) =>
  decodeEvent(
    { timestampMs: () => timestampMs, value: () => (typeof value === 'string' ? Buffer.from(value) : value), headers: () => headers },
    0,
  );
const of = (value: string | Buffer | null, headers: HeaderList = []) => at(Date.UTC(2026, 0), value, headers);
const header = (name: string, value: string): HeaderList => [[name, Buffer.from(value)]];

test('a JSON object is an event, whatever is in it', () => {
  expect(of('{"service":"a","x":[1]}')).toEqual({ service: 'a', x: [1] });
  expect(of('{}', header('event.version', '1.9'))).toEqual({});
});

test.each([
  ['no JSON', 'not-an-object'],
  ['', 'not-an-object'],
  ['[{}]', 'not-an-object'],
  ['null', 'not-an-object'],
  ['5', 'not-an-object'],
  ['"text"', 'not-an-object'],
])('%j is skipped as %s, and never throws', (value, reason) => expect(of(value)).toBe(reason));

test('a record without a value, of another type or of a later version is skipped by name', () => {
  expect(of(null)).toBe('empty');
  expect(of('{}', header('event.type', 'invoice'))).toBe('unknown-type');
  expect(of('{}', header('event.version', '2.0'))).toBe('newer-major');
});

test('bytes that are no UTF-8 do not end the process', () => {
  expect(of(Buffer.from([0x7b, 0xff, 0x7d]))).toBe('not-an-object');
  expect(of(Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]))).toEqual({ a: '\ufffd' });
});

test('a record with a time of any 64 bits closed every pane of its partition: what is no time of a calendar is skipped', () => {
  for (const ms of [2 ** 63, -(2 ** 63), 253_402_300_800_000]) expect(at(ms, '{}')).toBe('no-broker-time');
  expect(at(-1, '{}')).toEqual({});
});
