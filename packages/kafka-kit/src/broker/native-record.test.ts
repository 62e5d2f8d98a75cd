import { expect, it } from 'vitest';
import { type NativeMessage, toRecords } from './native-record.ts';

type NativeHeaders = NativeMessage['headers'];

it('a record is what the message was', () => {
  const [full, bare, texts] = toRecords([
    { ...message(7, [{ a: Buffer.from('1') }]), timestamp: 5, key: Buffer.from('k'), value: Buffer.from('v') },
    message(8, undefined),
    { ...message(9, [{ a: 'ü' }]), key: 'ü' },
  ]);
  expect(full).toEqual({
    topic: 't',
    partition: 3,
    offset: 7,
    timestampMs: 5,
    key: Buffer.from('k'),
    value: Buffer.from('v'),
    headers: [['a', Buffer.from('1')]],
    headerBytes: 2,
  });
  expect(bare).toMatchObject({ offset: 8, timestampMs: -1, key: null, value: null, headers: [], headerBytes: 0 });
  expect(texts).toMatchObject({ key: Buffer.from('ü'), headers: [['a', Buffer.from('ü')]], headerBytes: 3 });
});

it('neighbours share their headers where these are the same, and only there', () => {
  const different: readonly NativeHeaders[] = [
    [{ a: Buffer.from('1') }],
    [{ a: Buffer.from('2') }],
    [{ a: Buffer.from('22') }],
    [{ b: Buffer.from('22') }],
    [{ b: Buffer.from('22') }, { b: Buffer.from('22') }],
    [{ b: Buffer.from('22') }, { b: Buffer.from('') }],
    [{ b: Buffer.from('22') }],
    [],
    undefined,
    [{ length: Buffer.from('1') }],
    [withPrototype(Buffer.from('1'))],
    [withPrototype(Buffer.from('2'))],
    [{ 0: Buffer.from('1') }],
    [{ ['__proto__']: Buffer.from('3') }],
  ];
  const twice = different.flatMap((headers) => [headers, copyOf(headers)]);
  const together = toRecords(twice.map((headers, i) => message(i, headers)));
  const apart = twice.flatMap((headers, i) => toRecords([message(i, headers)]));
  expect(together).toEqual(apart);
  expect(together[1]?.headers).toBe(together[0]?.headers);
});

function message(offset: number, headers: NativeHeaders): NativeMessage {
  return { topic: 't', partition: 3, offset, value: null, headers };
}

/** As the client makes it of a header that is called `__proto__`. */
function withPrototype(bytes: Buffer): Record<string, Buffer> {
  return Object.create(bytes) as Record<string, Buffer>;
}

function copyOf(headers: NativeHeaders): NativeHeaders {
  return headers?.map((header) =>
    Object.keys(header).length === 0
      ? withPrototype(Buffer.from(Object.getPrototypeOf(header) as Buffer))
      : Object.fromEntries(Object.entries(header).map(([name, bytes]) => [name, Buffer.from(bytes as Buffer)])),
  );
}
