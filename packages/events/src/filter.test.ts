import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventFilter, filterMatches, parseFilter } from './filter.ts';

const event = {
  timestamp: '2026-03-01T10:00:00.5+01:00',
  customer_id: 'acme',
  service: 'check out',
  latency_ms: 12.5,
  status_code: 503,
  level: 'error',
  message: 'said "no"',
  user_id: null,
  attributes: { plan: 'gold', retries: 3, cached: false, 'http.method': 'GET', shared: 'own', odd: null },
  shard: 7,
  shared: 'outer',
};

function filterOf(text: string): EventFilter {
  const parsed = parseFilter(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.filter;
}

function matches(text: string, value: unknown = event): boolean {
  return filterMatches(filterOf(text), Buffer.from(JSON.stringify(value)));
}

function problemOf(text: string): string {
  const parsed = parseFilter(text);
  return 'problem' in parsed ? parsed.problem : 'none';
}

describe('filterMatches', () => {
  it.each([
    ['status_code >= 500', true],
    ['status_code>=504', false],
    ['status_code = 503.0', true],
    ['status_code != 503', false],
    ['latency_ms < 1e3', true],
    ['latency_ms <= 12.5', true],
    ['latency_ms > 12.5', false],
    ['customer_id = acme', true],
    ['customer_id="acme"', true],
    ['customer_id != acme', false],
    ['service = "check out"', true],
    ['level != info', true],
    ['message = "said \\"no\\""', true],
    // Instants, whatever the zone, to the nanosecond.
    ['timestamp = 2026-03-01T09:00:00.500Z', true],
    ['timestamp < 2026-03-01T09:00:00.500000001Z', true],
    ['timestamp >= 2026-03-01T09:00:00.500000001Z', false],
    ['attributes.plan = gold', true],
    ['attributes.retries > 2', true],
    ['attributes.retries = "3"', false],
    ['attributes.cached = false', true],
    ['attributes.cached != false', false],
    ['attributes.http.method = GET', true],
    // As in the lake: fields outside the table are attributes, and the event's own attributes win.
    ['attributes.shard = 7', true],
    ['attributes.shared = own', true],
    ['attributes.shared = outer', false],
    ['attributes.customer_id = acme', false],
  ])('%s: %s', (text, expected) => expect(matches(text)).toBe(expected));

  it.each([
    'region = eu',
    'region != eu',
    'user_id != u1',
    'attributes.none != 1',
    'attributes.odd != 1',
    'attributes.plan != 1',
    'attributes.retries != gold',
    'attributes.constructor != x',
    'attributes.__proto__ != x',
    'attributes.toString != x',
  ])('nothing to compare is no match: %s', (text) => expect(matches(text)).toBe(false));

  it.each([
    ['no value', null],
    ['an empty value', Buffer.alloc(0)],
    ['no JSON', Buffer.from('{"status_code":503')],
    ['no UTF-8', Buffer.concat([Buffer.from('{"service":"'), Buffer.from([0xff]), Buffer.from('","status_code":503}')])],
    ['no object', Buffer.from('[503]')],
    ['null', Buffer.from('null')],
    ['a number beyond all', Buffer.from('{"status_code":1e400}')],
    ['a number as text', Buffer.from('{"status_code":"503"}')],
    ['attributes that are none', Buffer.from('{"attributes":"status_code"}')],
  ])('%s is no match, with != neither', (_, value) => {
    for (const text of ['status_code = 503', 'status_code != 1', 'attributes.length != 0', 'timestamp > 2020-01-01T00:00:00Z'])
      expect(filterMatches(filterOf(text), value)).toBe(false);
  });

  it('of a name that occurs twice the last value counts', () => {
    const twice = Buffer.from('{"status_code":200,"status_code":503}');
    expect(filterMatches(filterOf('status_code = 503'), twice)).toBe(true);
    expect(filterMatches(filterOf('status_code = 200'), twice)).toBe(false);
  });
});

describe('parseFilter', () => {
  it.each([
    ['', /is no comparison: .*= != < <= > >=/],
    ['status_code', /is no comparison/],
    ['status_code ~ 5', /is no comparison/],
    ['= 5', /is no comparison/],
    ['latency = 5', /no field "latency": name one of timestamp, customer_id, .*latency_ms.* or attributes\.NAME/],
    ['attributes = 5', /name what is in it, as attributes\.NAME/],
    ['attributes. = 5', /Name the attribute/],
    ['status_code = 5xx', /status_code is a number/],
    ['status_code = 0x1f7', /status_code is a number/],
    ['status_code = Infinity', /status_code is a number/],
    ['service == api', /"= api" in double quotes/],
    ['latency_ms > 1e999', /latency_ms is a number/],
    ['timestamp > 2026-03-01', /with its zone, like 2026-03-01T09:00:00Z/],
    ['timestamp > 2026-02-30T00:00:00Z', /is a time/],
    ['level = warning', /level is one of trace, debug, info, warn, error, fatal/],
    ['service > a', /texts are compared with = and != only/],
    ['level >= warn', /texts are compared with = and != only/],
    ['attributes.plan < gold', /texts are compared with = and != only/],
    ['attributes.cached > true', /texts are compared with = and != only/],
    ['service =', /The value is missing/],
    ['service = a and level = error', /in double quotes; only one comparison/],
    ['service = "a', /no text in double quotes/],
    ['service = "a" "b"', /no text in double quotes/],
    ['service = "a\\q"', /no text in double quotes/],
    [`service = ${'x'.repeat(5000)}`, /at most 4096 characters/],
  ])('refuses %s in one sentence', (text, sentence) => {
    expect(problemOf(text)).toMatch(sentence);
    expect(problemOf(text)).not.toContain('\n');
  });

  it('keeps what was written, and is plain data', () => {
    const filter = filterOf(' service="a b" ');
    expect(filter.text).toBe(' service="a b" ');
    expect(filterOf(filter.text)).toEqual(filter);
    expect(filter.operand).toEqual({ kind: 'text', value: 'a b' });
  });

  it('answers any text with a filter or one sentence, and any filter any bytes with yes or no', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('service', 'timestamp', 'bytes', 'attributes.', '=', '!=', '<', '"', '\\', ' ', '5', '\n', '\ud800'),
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece).map((pieces) => pieces.join('')),
    );
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(text, bytes, (written, value) => {
        const parsed = parseFilter(written);
        if ('problem' in parsed) expect(parsed.problem).toMatch(/^[^\n]+\.$/);
        else expect(typeof filterMatches(parsed.filter, Buffer.from(value))).toBe('boolean');
      }),
      { numRuns: 2000 },
    );
  });

  it('finds any text by equality, and exactly one of < = > holds of two numbers', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (service, other) => {
        fc.pre(JSON.stringify(service).length < 4000);
        expect(matches(`service = ${JSON.stringify(service)}`, { service })).toBe(true);
        expect(matches(`service != ${JSON.stringify(other)}`, { service })).toBe(service !== other);
      }),
    );
    const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0);
    fc.assert(
      fc.property(number, number, (a, b) => {
        const written = JSON.stringify(b);
        const holds = ['<', '=', '>'].map((operator) => matches(`latency_ms ${operator} ${written}`, { latency_ms: a }));
        expect(holds).toEqual([a < b, a === b, a > b]);
        expect(matches(`latency_ms <= ${written}`, { latency_ms: a })).toBe(a <= b);
        expect(matches(`latency_ms >= ${written}`, { latency_ms: a })).toBe(a >= b);
        expect(matches(`latency_ms != ${written}`, { latency_ms: a })).toBe(a !== b);
      }),
    );
  });
});
