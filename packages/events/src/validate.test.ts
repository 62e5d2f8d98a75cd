import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serviceEventFields } from './fields.ts';
import { isInstant } from './instant.ts';
import { serviceEventSchema } from './json-schema.ts';
import { checkEventBytes, validateEvent } from './validate.ts';

const good = { timestamp: '2026-01-31T23:59:59.123Z', service: 'checkout' };
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

describe('validateEvent', () => {
  it('accepts the smallest event, a full one and one with fields that it does not know', () => {
    expect(validateEvent(good)).toEqual([]);
    expect(
      validateEvent({
        ...good,
        customer_id: 'c',
        user_id: 'u',
        endpoint: '/',
        region: 'eu',
        host: 'h',
        latency_ms: 0.5,
        status_code: 599,
        bytes: Number.MAX_SAFE_INTEGER,
        level: 'fatal',
        message: '',
        trace_id: 't',
        span_id: 's',
        attributes: { a: [1] },
      }),
    ).toEqual([]);
    expect(validateEvent({ ...good, constructor: 1, __proto: null, 'a.b': {}, '': [] })).toEqual([]);
    expect(validateEvent(JSON.parse(`{"timestamp":"${good.timestamp}","service":"s","__proto__":5}`))).toEqual([]);
  });

  it.each([
    ['timestamp', undefined, 'is required'],
    ['timestamp', null, 'is required'],
    ['timestamp', 1_769_903_999, 'must be a real instant in RFC 3339 with a zone, like 2026-01-31T23:59:59.123Z'],
    ['timestamp', '2026-02-30T00:00:00Z', 'must be a real instant in RFC 3339 with a zone, like 2026-01-31T23:59:59.123Z'],
    ['service', undefined, 'is required'],
    ['service', '', 'must not be empty'],
    ['customer_id', '', 'must not be empty'],
    ['customer_id', 7, 'must be a string'],
    ['customer_id', 'x'.repeat(129), 'must have at most 128 characters'],
    ['endpoint', 'x'.repeat(2049), 'must have at most 2048 characters'],
    ['latency_ms', -0.001, 'must be at least 0'],
    ['latency_ms', '12', 'must be a finite number'],
    ['status_code', 99, 'must be from 100 to 599'],
    ['status_code', 600, 'must be from 100 to 599'],
    ['status_code', 200.5, 'must be an integer'],
    ['status_code', true, 'must be an integer'],
    ['bytes', -1, 'must be from 0 to 9007199254740991'],
    ['level', 'INFO', 'must be one of trace, debug, info, warn, error, fatal'],
    ['message', {}, 'must be a string'],
    ['attributes', [], 'must be an object'],
    ['attributes', 'a', 'must be an object'],
  ])('names %s when it is %j', (field, value, reason) => {
    expect(validateEvent({ ...good, [field]: value })).toEqual([{ field, reason }]);
  });

  it('names every problem, not only the first', () => {
    expect(validateEvent({ service: 1, level: 2 }).map((problem) => problem.field)).toEqual(['service', 'level', 'timestamp']);
  });

  it('takes null for absent, and requires customer_id only where told', () => {
    expect(validateEvent({ ...good, customer_id: null, level: null, attributes: null })).toEqual([]);
    const rules = { requireCustomerId: true };
    expect(validateEvent({ ...good, customer_id: null }, rules)).toEqual([{ field: 'customer_id', reason: 'is required here' }]);
    expect(validateEvent({ ...good, customer_id: 'c' }, rules)).toEqual([]);
  });

  it('counts characters, not UTF-16 units', () => {
    expect(validateEvent({ ...good, region: '😀'.repeat(64) })).toEqual([]);
    expect(validateEvent({ ...good, region: '😀'.repeat(65) })).toHaveLength(1);
  });

  it.each([[null], [[]], ['x'], [1], [true]])('refuses %j as an event', (value) => {
    expect(validateEvent(value)).toEqual([{ field: null, reason: 'must be a JSON object' }]);
  });
});

describe('the JSON Schema', () => {
  it('accepts exactly what the validator accepts', () => {
    const ajv = new Ajv2020({ formats: { 'date-time': isInstant }, strictTypes: false });
    const accepts = ajv.compile(serviceEventSchema);
    const anyValue = fc.oneof(
      fc.constantFrom('', 'info', '2026-01-31T23:59:59Z', '2026-02-30T00:00:00Z', 'x'.repeat(128), 'x'.repeat(129), '😀'.repeat(128)),
      fc.constantFrom(-1, 0, 99, 100, 599, 600, 200.5, 2 ** 53 - 1, 2 ** 53),
      fc.constantFrom(null, true, {}, [], { a: 1 }),
      fc.string(),
    );
    const anyEvent = fc.record(Object.fromEntries(serviceEventFields.map((field) => [field.name, anyValue])), { requiredKeys: [] });
    const nearlyGood = fc.tuple(anyEvent, fc.subarray(serviceEventFields.map((field) => field.name))).map(([event, kept]) => ({
      ...good,
      ...Object.fromEntries(Object.entries(event).filter(([name]) => kept.slice(0, 2).some((other) => other === name))),
    }));
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(nearlyGood, anyEvent, fc.jsonValue()), (value) => {
        const ok = validateEvent(value).length === 0;
        expect(accepts(value)).toBe(ok);
        if (ok) accepted++;
      }),
      { numRuns: 3000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });
});

describe('checkEventBytes', () => {
  it('gives the parsed event', () => {
    expect(checkEventBytes(bytes({ ...good, message: 'über 😀 \ufffd' }))).toEqual({ event: { ...good, message: 'über 😀 \ufffd' } });
  });

  it.each([
    ['a bad UTF-8 byte', Buffer.concat([bytes('{"service":"'), Buffer.from([0xc3, 0x28]), bytes('"}')]), 'is not valid UTF-8'],
    ['a surrogate in UTF-8', Buffer.concat([bytes('{"service":"'), Buffer.from([0xed, 0xa0, 0x80]), bytes('"}')]), 'is not valid UTF-8'],
    ['half an object', bytes('{"service":'), 'is not valid JSON'],
    ['two objects', bytes('{}{}'), 'is not valid JSON'],
    ['a byte order mark', bytes('\ufeff{}'), 'is not valid JSON'],
    ['nothing', bytes(''), 'is not valid JSON'],
    ['an array', bytes([good]), 'must be a JSON object'],
    ['more bytes than allowed', bytes({ ...good, message: 'x'.repeat(256 * 1024) }), 'is larger than 262144 bytes'],
  ])('refuses %s', (_, body, reason) => {
    expect(checkEventBytes(body)).toEqual({ problem: { field: null, reason } });
  });

  it('lets the last of two equal names count, and bears any nesting', () => {
    expect(checkEventBytes(bytes(`{"service":1,"timestamp":"${good.timestamp}","service":"s"}`))).toHaveProperty('event.service', 's');
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    expect(checkEventBytes(bytes(`{"service":"s","timestamp":"${good.timestamp}","deep":${deep}}`))).toHaveProperty('event');
  });

  it('refuses a number that is too large to be one', () => {
    expect(checkEventBytes(bytes(`{"service":"s","timestamp":"${good.timestamp}","latency_ms":1e400}`))).toEqual({
      problem: { field: 'latency_ms', reason: 'must be a finite number' },
    });
  });
});
