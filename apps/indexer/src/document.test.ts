import { serviceEventFields } from '@tailrace/events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteWriter } from './byte-writer.ts';
import { writeDocument, writeFallback } from './document.ts';

const START = '{"topic":"t"';

function documentOf(value: string | Buffer | null): string | undefined {
  const out = new ByteWriter(16);
  out.ascii(START);
  const bad = writeDocument(typeof value === 'string' ? Buffer.from(value) : value, out);
  return bad === undefined ? out.bytes.toString() : undefined;
}

function badness(value: string | Buffer | null) {
  return writeDocument(typeof value === 'string' ? Buffer.from(value) : value, new ByteWriter(16));
}

function fallbackOf(value: string): unknown {
  const out = new ByteWriter(16);
  out.ascii(START);
  return writeFallback(Buffer.from(value), 'why', out) ?? JSON.parse(out.bytes.toString());
}

const T = '"timestamp":"2026-01-31T23:59:59.5Z"';

describe('writeDocument', () => {
  it('passes an event of known fields on byte for byte', () => {
    expect(documentOf(`{${T},"latency_ms":22.0,"bytes":1e3}`)).toBe(`${START},${T},"latency_ms":22.0,"bytes":1e3}`);
  });

  it('makes spaces of line ends, which would end the item', () => {
    expect(documentOf(` {\r\n${T} ,\n"service":"a\\nb"\r}\n`)).toBe(`${START} ,  ${T} , "service":"a\\nb" } `);
  });

  it('moves fields outside the table under attributes, whatever their names', () => {
    const value = `{${T},"_id":1,"a..b":2,"topic":"mine","":3,"kafka_timestamp":4,"timestamp_raw":5}`;
    expect(JSON.parse(documentOf(value) ?? '')).toEqual({
      topic: 't',
      timestamp: '2026-01-31T23:59:59.5Z',
      attributes: { _id: 1, 'a..b': 2, topic: 'mine', '': 3, kafka_timestamp: 4, timestamp_raw: 5 },
    });
  });

  it('keeps the digits of numbers that it moves', () => {
    expect(documentOf(`{${T},"big":123456789012345678901234567890,"attributes":{"x":1.10}}`)).toBe(
      `${START},${T},"attributes":{"x":1.10,"big":123456789012345678901234567890}}`,
    );
  });

  it('lets an own attribute win over a field of the same name, and then keeps the text', () => {
    const value = `{${T},"build":2,"attributes":{"build":1}}`;
    expect(JSON.parse(documentOf(value) ?? '')).toMatchObject({ attributes: { build: 1 }, event_raw: value });
  });

  it('takes the last of equal names when it rearranges', () => {
    expect(JSON.parse(documentOf(`{"service":"a","x":1,"x":2,"service":"b",${T}}`) ?? '')).toMatchObject({
      service: 'b',
      attributes: { x: 2 },
    });
  });

  it.each([
    ['"2016-12-31T23:59:60.25Z"', '2017-01-01T00:00:00.250Z', '2016-12-31T23:59:60.25Z'],
    ['"1985-04-12t23:20:50z"', '1985-04-12T23:20:50.000Z', '1985-04-12t23:20:50z'],
    ['"2026-01-31T23:59:59+23:59"', '2026-01-31T00:00:59.000Z', '2026-01-31T23:59:59+23:59'],
    ['"2026-02-30T00:00:00Z"', undefined, '2026-02-30T00:00:00Z'],
    ['"0000-01-01T00:00:00+20:00"', undefined, '0000-01-01T00:00:00+20:00'],
    ['"yesterday \\"\\u00fc"', undefined, 'yesterday "ü'],
    ['1769903999', undefined, '1769903999'],
    ['[ {"a": 1} ]', undefined, '[ {"a": 1} ]'],
    ['null', undefined, undefined],
  ])('of the timestamp %s indexes %s', (timestamp, indexed, raw) => {
    const document = JSON.parse(documentOf(`{"timestamp":${timestamp},"service":"s"}`) ?? '');
    expect([document.timestamp, document.timestamp_raw]).toEqual([indexed, raw]);
    expect(document.service).toBe('s');
  });

  it('indexes an event without a timestamp, and an empty one', () => {
    expect(documentOf('{"service":"s"}')).toBe(`${START},"service":"s"}`);
    expect(documentOf(' { } ')).toBe(`${START}}`);
  });

  it('sends nothing that is nested too deeply, which some servers never answer', () => {
    const nested = (levels: number) => `{${T},"service":"s","x":${'['.repeat(levels - 1)}1${']'.repeat(levels - 1)}}`;
    expect(JSON.parse(documentOf(nested(100)) ?? '')).toHaveProperty('attributes.x');
    expect(JSON.parse(documentOf(nested(101)) ?? '')).toMatchObject({
      service: 's',
      event_raw: nested(101),
      raw_reason: 'nested deeper than 100 levels',
    });
    expect(badness(`{${T},"service":${'{"a":'.repeat(200)}1${'}'.repeat(200)}}`)).toEqual({
      reason: 'invalid-field',
      detail: 'service must be a string',
    });
  });

  it.each([
    [null, 'no-value'],
    ['', 'not-json'],
    ['{"a":1}{"b":2}', 'not-json'],
    ['{"a":1}\n{"delete":{"_id":"x"}}', 'not-json'],
    ['[{}]', 'not-an-object'],
    ['null', 'not-an-object'],
    ['5', 'not-an-object'],
    ['\ufeff{}', 'not-json'],
    ['{"attributes":5,"x":1}', 'invalid-field'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'not-utf8'],
  ])('refuses %j as %s', (value, reason) => {
    expect(badness(value)?.reason).toBe(reason);
  });

  it('gives one line of JSON with the event’s content for any object', () => {
    const names = fc.oneof(fc.constantFrom(...serviceEventFields.map((field) => field.name), 'topic', 'x', '_id', ''), fc.string());
    const objects = fc.dictionary(names, fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant('2026-01-31T23:59:59Z')));
    fc.assert(
      fc.property(objects, fc.constantFrom(undefined, 2, '\t'), (object, space) => {
        const known = new Set<string>(serviceEventFields.map((field) => field.name));
        const unknown = Object.entries(object).filter(([name]) => !known.has(name));
        const line = documentOf(JSON.stringify(object, null, space));
        const { attributes } = object;
        const isObject = typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes);
        if (unknown.length > 0 && attributes !== undefined && attributes !== null && !isObject) {
          expect(line).toBeUndefined();
          return;
        }
        expect(line).not.toMatch(/[\r\n]/);
        const document = JSON.parse(line ?? '');
        for (const [name, value] of Object.entries(JSON.parse(JSON.stringify(object)))) {
          if (name === 'timestamp' || name === 'attributes') continue;
          if (known.has(name)) expect(document[name]).toEqual(value);
          else if (!(isObject && Object.hasOwn(attributes, name)))
            expect(Object.getOwnPropertyDescriptor(document.attributes, name)?.value).toEqual(value);
        }
        expect(document.topic).toBe('t');
      }),
      { numRuns: 1000 },
    );
  });
});

describe('writeFallback', () => {
  it('keeps the typed fields and the whole text', () => {
    const value = `{${T},"service":"s","service":"web","latency_ms":5,"level":null,"attributes":{"a":1},"x":2}`;
    expect(fallbackOf(value)).toEqual({
      topic: 't',
      timestamp: '2026-01-31T23:59:59.5Z',
      service: 'web',
      latency_ms: 5,
      event_raw: value,
      raw_reason: 'why',
    });
  });

  it('bears any nesting, also in the timestamp', () => {
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    expect(fallbackOf(`{"service":"s","timestamp":${deep}}`)).toMatchObject({ service: 's', timestamp_raw: deep });
  });

  it('does not save an event that breaks its contract: the sentence names the field', () => {
    expect(fallbackOf(`{${T},"service":{"a":1}}`)).toEqual({ reason: 'invalid-field', detail: 'service must be a string' });
    expect(fallbackOf(`{${T}}`)).toEqual({ reason: 'invalid-field', detail: 'service is required' });
  });
});
