import { serviceEventFields } from '@tailrace/events';
import fc from 'fast-check';

/** An event with every field, in a form that the rebuild prints. */
export const BASE_EVENT = {
  timestamp: '2026-01-31T23:59:59.123Z',
  customer_id: 'cust_0001',
  service: 'checkout "é" \u{1f600}\n\u0001',
  user_id: 'u_1',
  endpoint: '/a/b?c=d',
  region: 'eu-west-1',
  host: 'h1',
  latency_ms: 12.75,
  status_code: 503,
  bytes: 9007199254740991,
  level: 'error',
  message: 'tab\there, slash / and \\',
  trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
  span_id: '00f067aa0ba902b7',
  attributes: { nested: { deep: [1, 2.5, null, 'x'] }, plain: true },
} as const;

const event = (more: string): string => `{"timestamp":"2026-01-31T23:59:59.123Z","service":"a"${more}}`;

/** Values that parsers trip over, and how each must stand in its row. */
export const oddValues: readonly { readonly name: string; readonly value: Buffer | string | null; readonly state: string }[] = [
  { name: 'tombstone', value: null, state: 'null' },
  { name: 'empty', value: '', state: 'kept' },
  { name: 'hyphen', value: '-', state: 'kept' },
  { name: 'plain event', value: event(''), state: 'rebuilt' },
  { name: 'invalid utf-8', value: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x7d]), state: 'kept' },
  { name: 'overlong utf-8', value: Buffer.from([0x22, 0xc0, 0xaf, 0x22]), state: 'kept' },
  { name: 'nul bytes', value: Buffer.from([0, 0, 0]), state: 'kept' },
  { name: 'event, then nul', value: Buffer.concat([Buffer.from(event('')), Buffer.from([0])]), state: 'kept' },
  { name: 'byte order mark', value: `\ufeff${event('')}`, state: 'kept' },
  { name: 'truncated', value: event('').slice(0, -3), state: 'kept' },
  { name: 'empty object', value: '{}', state: 'kept' },
  { name: 'trailing comma', value: '{"service":"a",}', state: 'kept' },
  { name: 'two objects', value: '{"service":"a"}{"service":"b"}', state: 'kept' },
  { name: 'array', value: '[{"service":"a"}]', state: 'kept' },
  { name: 'null literal', value: 'null', state: 'kept' },
  { name: 'string literal', value: '"x"', state: 'kept' },
  { name: 'spaces inside', value: '{ "service": "a" }', state: 'kept' },
  { name: 'space before', value: ' {"service":"a"}', state: 'kept' },
  { name: 'raw line feed inside', value: '{"service":"a",\n"region":"b"}', state: 'kept' },
  { name: 'raw tab and carriage return', value: '{"service":"a",\t"region":"b"}\r', state: 'kept' },
  { name: '87.0', value: event(',"latency_ms":87.0'), state: 'kept' },
  { name: '87', value: event(',"latency_ms":87'), state: 'rebuilt' },
  { name: '1e400', value: event(',"latency_ms":1e400'), state: 'kept' },
  { name: '1e2', value: event(',"latency_ms":1e2'), state: 'kept' },
  { name: '-0', value: event(',"latency_ms":-0'), state: 'kept' },
  { name: '-0.0', value: event(',"latency_ms":-0.0'), state: 'kept' },
  { name: '0.1', value: event(',"latency_ms":0.1'), state: 'rebuilt' },
  { name: 'too many digits', value: event(',"latency_ms":0.1000000000000000055'), state: 'kept' },
  { name: 'NaN', value: event(',"latency_ms":NaN'), state: 'kept' },
  { name: '-Infinity', value: event(',"latency_ms":-Infinity'), state: 'kept' },
  { name: 'number as text', value: event(',"latency_ms":"12"'), state: 'kept' },
  { name: '200.5', value: event(',"status_code":200.5'), state: 'kept' },
  { name: '200.0', value: event(',"status_code":200.0'), state: 'kept' },
  { name: 'int32 overflow', value: event(',"status_code":99999999999'), state: 'kept' },
  { name: 'int64 overflow', value: event(',"bytes":99999999999999999999'), state: 'kept' },
  { name: 'int64 max', value: event(',"bytes":9223372036854775807'), state: 'rebuilt' },
  { name: 'leading zero', value: event(',"bytes":007'), state: 'kept' },
  { name: 'boolean as text field', value: event(',"region":true'), state: 'kept' },
  { name: 'repeated key', value: event(',"service":"b"'), state: 'kept' },
  { name: 'repeated key, same value', value: event(',"service":"a"'), state: 'rebuilt' },
  { name: 'unknown field', value: event(',"shoe_size":42'), state: 'kept' },
  { name: 'unknown field that is null', value: event(',"shoe_size":null'), state: 'kept' },
  { name: 'unknown field beside attributes', value: event(',"attributes":{"a":1},"b":2'), state: 'kept' },
  { name: 'unknown field with a name from attributes', value: event(',"attributes":{"b":1},"b":2'), state: 'kept' },
  { name: 'empty name', value: event(',"":1'), state: 'kept' },
  { name: 'comma in a name', value: '{"service,region":"a"}', state: 'kept' },
  { name: 'slash, tilde and quote in a name', value: event(',"a/b~1\\"c":1'), state: 'kept' },
  { name: 'escaped known name', value: '{"\\u0073ervice":"a"}', state: 'kept' },
  { name: 'nul in a name', value: event(',"a\\u0000b":1'), state: 'kept' },
  { name: 'attributes that are a list', value: event(',"attributes":[1]'), state: 'kept' },
  { name: 'attributes that are empty', value: event(',"attributes":{}'), state: 'rebuilt' },
  { name: 'attributes with spaces', value: event(',"attributes":{ "a": 1 }'), state: 'kept' },
  { name: 'attributes with a big number', value: event(',"attributes":{"a":123456789012345678901234567890}'), state: 'rebuilt' },
  { name: 'attributes with 1e400', value: event(',"attributes":{"a":1e400}'), state: 'rebuilt' },
  { name: 'escaped slash', value: event(',"message":"a\\/b"'), state: 'kept' },
  { name: 'escaped letter', value: event(',"message":"\\u0041"'), state: 'kept' },
  { name: 'lone surrogate', value: event(',"message":"\\ud800"'), state: 'kept' },
  { name: 'surrogate pair as escapes', value: event(',"message":"\\ud83d\\ude00"'), state: 'kept' },
  { name: 'escaped nul', value: event(',"message":"a\\u0000b"'), state: 'rebuilt' },
  { name: 'delete character', value: event(`,"message":"${'\u007f'}"`), state: 'rebuilt' },
  { name: 'time with seconds only', value: '{"timestamp":"2026-01-31T23:59:59Z"}', state: 'kept' },
  { name: 'time with microseconds', value: '{"timestamp":"2026-01-31T23:59:59.123456Z"}', state: 'kept' },
  { name: 'time with nanoseconds', value: '{"timestamp":"2026-01-31T23:59:59.123456789Z"}', state: 'kept' },
  { name: 'time with an offset', value: '{"timestamp":"2026-01-31T23:59:59.123+02:00"}', state: 'kept' },
  { name: 'time in lower case', value: '{"timestamp":"2026-01-31t23:59:59.123z"}', state: 'kept' },
  { name: 'time that is no day', value: '{"timestamp":"2026-02-30T00:00:00.000Z"}', state: 'kept' },
  { name: 'time at 24:00', value: '{"timestamp":"2026-01-31T24:00:00.000Z"}', state: 'kept' },
  { name: 'leap second', value: '{"timestamp":"2016-12-31T23:59:60.000Z"}', state: 'kept' },
  { name: 'time in the year 0', value: '{"timestamp":"0000-01-01T00:00:00.000Z"}', state: 'rebuilt' },
  { name: 'time in the year 1', value: '{"timestamp":"0001-01-01T00:00:00.000Z"}', state: 'rebuilt' },
  { name: 'time in the year 9999', value: '{"timestamp":"9999-12-31T23:59:59.999Z"}', state: 'rebuilt' },
  { name: 'the word infinity', value: '{"timestamp":"infinity"}', state: 'kept' },
  { name: 'seconds as a number', value: '{"timestamp":1767323045}', state: 'kept' },
  { name: 'deep nesting', value: event(`,"attributes":{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`), state: 'rebuilt' },
  { name: 'a megabyte of text', value: event(`,"message":"${'é'.repeat(500_000)}"`), state: 'rebuilt' },
  { name: 'two megabytes of zeros', value: Buffer.alloc(2 ** 21), state: 'kept' },
];

const jsonLeaf = fc.oneof(
  fc.constantFrom('null', 'true', '87.0', '1e400', '-0', '1E5', '0.1e-6', '123456789012345678901', '1.7976931348623157e308', '5e-324'),
  fc.integer().map(String),
  fc.maxSafeInteger().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"2026-01-31T23:59:59.123Z"', '"2026-01-31T23:59:59Z"', '"2026-01-31T23:59:59.1234567+05:30"', '"2026-13-01T00:00:00Z"'),
);

const jsonTree = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 4, arbitrary: jsonLeaf },
    { weight: 1, arbitrary: fc.array(tie('tree'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`) },
    {
      weight: 1,
      arbitrary: fc
        .array(fc.tuple(fc.string({ maxLength: 4 }), tie('tree')), { maxLength: 3 })
        .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`),
    },
  ),
})).tree;

const memberName = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...serviceEventFields.map(({ name }) => name)) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
);
const gap = fc.oneof({ weight: 12, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(' ', '\n', '\t', '\r\n') });

const member = fc.tuple(memberName, jsonTree, gap);

/** JSON objects as services might write them: fields of the table and others, of any type, in any order, repeated, oddly spaced. */
export const jsonText: fc.Arbitrary<string> = fc
  .tuple(gap, fc.array(member, { maxLength: 8 }))
  .map(([before, list]) => `{${before}${list.map(([name, value, space]) => `${JSON.stringify(name)}:${space}${value}`).join(',')}}`);

/** The same with one byte changed, left out or put in, or the end cut off. */
export function mutated(texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc.tuple(texts, fc.nat(), fc.nat(255), fc.constantFrom('change', 'drop', 'insert', 'cut')).map(([text, where, byte, how]) => {
    const bytes = Buffer.from(text);
    const at = where % (bytes.length + 1);
    const head = bytes.subarray(0, at);
    if (how === 'cut') return Buffer.from(head);
    const rest = bytes.subarray(how === 'insert' ? at : at + 1);
    return Buffer.concat(how === 'drop' ? [head, rest] : [head, Buffer.from([byte]), rest]);
  });
}
