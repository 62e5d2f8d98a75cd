import { isInstant, parseRecordId } from '@tailrace/events';
import { goldenRecords } from '@tailrace/events/testing';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { IncarnationGate, TopicChanged } from './incarnation-gate.ts';
import { indexOfDay } from './index-names.ts';
import { IndexSink } from './index-sink.ts';
import { batchOf, type TestRecord } from './testing/batch.ts';
import { testSearch } from './testing/search.ts';

const DAY_MS = 86_400_000;
const T = '"timestamp":"2026-01-31T23:59:59.5Z","service":"web"';
const search = testSearch();
const fallbacks: string[] = [];
let present: string | undefined = 'AbCd-_12';
const sink = new IndexSink(
  { indexName: search.name, retentionDays: 14, maxBulkBytes: 1_000_000, bulksAtOnce: 4 },
  {
    client: search.client,
    indices: search.indices,
    incarnations: new IncarnationGate(async () => present),
    nowMs: Date.now,
    onFallback: (detail) => fallbacks.push(detail),
  },
);
let partition = 0;
/** Writes records as a partition of their own, so that ids of different tests never meet. */
function write(records: readonly TestRecord[], at = partition++) {
  return sink.write(batchOf(records, { topic: 'service-events', partition: at, incarnation: 'AbCd-_12' }), new AbortController().signal);
}
const documentsOf = async (at: number) => [...(await search.documents(at))];
const kinds = (outcomes: readonly { readonly kind: string }[]) => outcomes.map((outcome) => outcome.kind);

afterAll(() => search.remove());

describe('the index', () => {
  it('holds a record under its id, with coordinates and typed fields, behind the alias', async () => {
    const value = `{${T},"customer_id":"c1","latency_ms":12.5,"status_code":503,"message":"upstream is down","attributes":{"release":"2.7"}}`;
    const at = partition;
    const timestampMs = Date.now();
    expect(await write([{ value, timestampMs }])).toEqual([{ kind: 'stored' }]);
    expect(await documentsOf(at)).toEqual([
      [
        `service-events~AbCd-_12-${at}-100`,
        {
          topic: 'service-events',
          incarnation: 'AbCd-_12',
          partition: at,
          offset: 100,
          kafka_timestamp: timestampMs,
          ...JSON.parse(value),
        },
      ],
    ]);
    for (const query of [
      { range: { timestamp: { gte: '2026-01-31T23:59:59Z', lt: '2026-02-01T00:00:00Z' } } },
      { range: { kafka_timestamp: { gte: timestampMs, lte: timestampMs } } },
      { term: { customer_id: 'c1' } },
      { range: { status_code: { gte: 500 } } },
      { match: { message: 'DOWN' } },
      { term: { 'attributes.release': '2.7' } },
      { term: { offset: 100 } },
    ]) {
      expect(await search.count({ bool: { filter: [query, { term: { partition: at } }] } }), JSON.stringify(query)).toBe(1);
    }
  });

  it('is made as the template says: nothing dynamic, every answer durable', async () => {
    await write([{ value: `{${T},"surprise":{"a":1}}` }]);
    const index = indexOfDay(search.name, Date.now());
    const made = (await search.client.demand({ method: 'GET', path: `/${index}` })) as Record<string, Record<string, unknown>>;
    expect(made[index]).toMatchObject({
      aliases: { [search.name]: {} },
      settings: {
        index: { number_of_shards: '1', number_of_replicas: '0', translog: { durability: expect.stringMatching(/^request$/i) } },
      },
      mappings: { dynamic: 'false' },
    });
    expect(JSON.stringify(made)).not.toContain('surprise');
    expect(await search.count({ term: { 'attributes.surprise.a': '1' } })).toBe(1);
  });

  it('of a record is that of its origin’s broker day, and its id is the origin’s', async () => {
    const origin = { topic: 'old', partition: 7, incarnation: '--------', offset: 5, timestampMs: Date.now() - 3 * DAY_MS };
    expect(await write([{ value: `{${T}}`, origin }])).toEqual([{ kind: 'stored' }]);
    const path = `/${indexOfDay(search.name, origin.timestampMs)}/_doc/old~---------7-5`;
    expect(await search.client.demand({ method: 'GET', path })).toMatchObject({ found: true, _source: { topic: 'old', offset: 5 } });
  });

  it('holds each record once when a batch is handed over again', async () => {
    const at = partition++;
    const records = Array.from({ length: 50 }, (_, i) => ({ value: `{${T},"bytes":${i}}` }));
    expect(kinds(await write(records, at))).toEqual(new Array(50).fill('stored'));
    expect(kinds(await write(records, at))).toEqual(new Array(50).fill('stored'));
    expect(await documentsOf(at)).toHaveLength(50);
  });

  it('takes bodies larger than one request may be', async () => {
    const at = partition++;
    const records = Array.from({ length: 20 }, () => ({ value: `{${T},"message":"${'x '.repeat(100_000)}"}` }));
    expect(kinds(await write(records, at))).toEqual(new Array(20).fill('stored'));
    expect(await documentsOf(at)).toHaveLength(20);
  });
});

describe('what is not indexed', () => {
  it('is skipped by name: beyond retention, of another type, of a newer major version', async () => {
    const header = (name: string, text: string) => [[name, Buffer.from(text)]] as const;
    const at = partition;
    expect(
      await write([
        { value: `{${T}}`, timestampMs: Date.now() - 16 * DAY_MS },
        { value: `{${T}}`, headers: header('event.type', 'audit-event') },
        { value: `{${T}}`, headers: header('event.version', '2.0') },
        { value: `{${T}}`, headers: header('event.version', '1.9') },
        { value: `{${T}}`, timestampMs: Date.now() - 14 * DAY_MS },
      ]),
    ).toEqual([
      { kind: 'skipped', reason: 'beyond-retention' },
      { kind: 'skipped', reason: 'unknown-type' },
      { kind: 'skipped', reason: 'newer-major' },
      { kind: 'stored' },
      { kind: 'stored' },
    ]);
    expect(await documentsOf(at)).toHaveLength(2);
  });

  it('is dead when it is not one JSON object, and spoils nothing around it', async () => {
    const at = partition++;
    const victim = `{"delete":{"_index":"${indexOfDay(search.name, Date.now())}","_id":"service-events~AbCd-_12-${at}-100"}}`;
    const outcomes = await write(
      [
        { value: `{${T}}` },
        { value: `{${T}}\n${victim}` },
        { value: null },
        { value: '"x"' },
        { value: Buffer.from('{"a":"\xff"}', 'latin1') },
        { value: `{\n${T}\r\n}\n` },
      ],
      at,
    );
    expect(outcomes.map((outcome) => ('reason' in outcome ? outcome.reason : outcome.kind))).toEqual([
      'stored',
      'not-json',
      'no-value',
      'not-an-object',
      'not-utf8',
      'stored',
    ]);
    expect((await documentsOf(at)).map(([id]) => parseRecordId(id)?.offset).sort()).toEqual([100, 105]);
  });

  it('is dead when a field breaks the contract so that OpenSearch refuses it, with a sentence that names the field', async () => {
    const outcomes = await write([
      { value: `{${T},"status_code":"abc"}` },
      { value: '{"service":{"a":1}}' },
      { value: `{${T},"latency_ms":"12"}` },
    ]);
    expect(outcomes).toMatchObject([
      { kind: 'dead', reason: 'invalid-field', cause: expect.stringContaining('status_code must be an integer; mapper_parsing_exception') },
      { kind: 'dead', reason: 'invalid-field', cause: expect.stringContaining('service must be a string') },
      { kind: 'dead', reason: 'invalid-field', cause: expect.stringContaining('latency_ms must be a finite number') },
    ]);
  });

  it('is a bad date alone: the field is NULL, its text is kept', async () => {
    const at = partition;
    expect(kinds(await write([{ value: '{"timestamp":"2026-02-30T00:00:00Z","service":"web"}' }]))).toEqual(['stored']);
    expect((await documentsOf(at))[0]?.[1]).toMatchObject({ timestamp_raw: '2026-02-30T00:00:00Z', service: 'web' });
    expect(
      await search.count({
        bool: { must_not: { exists: { field: 'timestamp' } }, filter: { term: { timestamp_raw: '2026-02-30T00:00:00Z' } } },
      }),
    ).toBe(1);
  });
});

describe('every event that keeps the contract', () => {
  it('is stored: the golden records of every version', async () => {
    const records = goldenRecords().map(({ value, headers }) => ({ value, headers }));
    expect(kinds(await write(records))).toEqual(new Array(records.length).fill('stored'));
  });

  const long = (count: number, text: string) => text.repeat(count);
  it.each([
    ['an attribute that is too long for a term', `"attributes":{"stack":"${long(40_000, 's')}"}`],
    ['an attribute name that is too long', `"attributes":{"${long(40_000, 'k')}":1}`],
    ['a name above the parser’s limit', `"${long(60_000, 'k')}":1`],
    ['a number above the parser’s limit', `"x":${long(2000, '1')}`],
    ['a known number above the parser’s limit', `"latency_ms":0.${long(2000, '1')}`],
    ['nesting above the parser’s limit', `"x":${long(5000, '[')}${long(5000, ']')}`],
    ['nesting just within the bound', `"attributes":{"a":${long(98, '{"a":')}1${long(98, '}')}},"b":${long(99, '[')}${long(99, ']')}`],
    ['objects in objects', `"attributes":{"a":${long(2000, '{"a":')}1${long(2000, '}')}}`],
    ['a name that occurs twice', '"message":"a","message":"b"'],
    ['an attribute that occurs twice', '"attributes":{"a":1,"a":2}'],
    ['half a character in a name', '"\\udc00":1'],
    ['a message of one long word', `"message":"${long(200_000, 'w')}"`],
    ['an endless trace id', `"trace_id":"${long(200_000, '客').slice(0, 60_000)}"`],
    ['twenty thousand fields', Array.from({ length: 20_000 }, (_, i) => `"k${i}":0`).join(',')],
  ])('is stored: %s', async (_, members) => {
    const value = `{${T},${members}}`;
    expect(Buffer.byteLength(value)).toBeLessThan(256 * 1024);
    const at = partition;
    expect(await write([{ value }])).toEqual([{ kind: 'stored' }]);
    expect(
      await search.count({
        bool: { filter: [{ term: { partition: at } }, { term: { service: 'web' } }, { exists: { field: 'timestamp' } }] },
      }),
    ).toBe(1);
  });

  it('is stored: whatever else it holds', async () => {
    const names = fc.oneof(
      fc.constantFrom(
        '_id',
        '_source',
        '_routing',
        '_type',
        'topic',
        'offset',
        'a.b',
        'service.x',
        '.',
        '..',
        '',
        ' ',
        'attributes.x',
        'timestamp_raw',
        'event_raw',
        '__proto__',
        '\u0000',
      ),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    const values = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(1e308, -0, 2 ** 53, 'x'.repeat(33_000)));
    const events = fc.record(
      {
        customer_id: fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }),
        message: fc.string({ unit: 'binary' }),
        trace_id: fc.string({ unit: 'binary' }),
        latency_ms: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
        bytes: fc.maxSafeNat(),
        attributes: fc.dictionary(names, values),
        timestamp: fc
          .stringMatching(
            /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$/,
          )
          .filter(isInstant),
      },
      { requiredKeys: ['timestamp'] },
    );
    const event = fc
      .tuple(events, fc.dictionary(names, values), fc.constantFrom(undefined, 1))
      .map(([known, unknown, space]) => JSON.stringify({ ...unknown, service: 'fuzz', ...known }, null, space));
    fallbacks.length = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 100, maxLength: 100 }), async (values_) => {
        const outcomes = await write(values_.map((value) => ({ value })));
        const failed = outcomes.findIndex((outcome) => outcome.kind !== 'stored');
        expect(failed === -1 ? undefined : [outcomes[failed], values_[failed]]).toBeUndefined();
      }),
      { numRuns: 6 },
    );
    // The fallback is for what OpenSearch can not take, not for what is merely odd.
    expect(fallbacks.filter((detail) => !/immense|Duplicate|surrogate|stream_constraints/.test(detail))).toEqual([]);
  });
});

describe('a topic that was made anew', () => {
  it('gets nothing written under the old one’s ids', async () => {
    const at = partition;
    for (const now of ['ZZZZZZZZ', undefined]) {
      present = now;
      await expect(write([{ value: `{${T}}` }], at)).rejects.toThrow(TopicChanged);
    }
    present = 'AbCd-_12';
    expect(await documentsOf(at)).toEqual([]);
  });
});

describe('a canary', () => {
  it('is not in the index, its outcome says so, and what stands beside it is', async () => {
    const at = partition;
    const canary = `{${T.replace('web', 'tailrace.canary')},"customer_id":"c"}`;
    expect(await write([{ value: canary }, { value: `{${T}}` }, { value: canary }])).toEqual([
      { kind: 'skipped', reason: 'canary' },
      { kind: 'stored' },
      { kind: 'skipped', reason: 'canary' },
    ]);
    expect(await write([{ value: canary }], at)).toEqual([{ kind: 'skipped', reason: 'canary' }]);
    expect((await documentsOf(at)).map(([id]) => id)).toEqual([`service-events~AbCd-_12-${at}-101`]);
  });
});
