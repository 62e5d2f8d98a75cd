import { parquetColumns, parseInstant, SERVICE_EVENT_TYPE, serviceEventFields } from '@tailrace/events';
import { goldenRecords } from '@tailrace/events/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import { withoutLoneSurrogates } from './lone-surrogates.ts';
import type { LakeRecord } from './records.ts';
import { inFolder, recordAt, rowsOf, writeRecords } from './testing/index.ts';
import { seeded } from './testing/seeded.ts';
import { BASE_EVENT, jsonText, oddValues } from './testing/values.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const names = new Set<string>(serviceEventFields.map(({ name }) => name));
const ALL_NULL = Object.fromEntries(parquetColumns.map(({ name }) => [name, null]));

/** The typed columns of each record, times as microseconds, numbers as text where they are 64 bits wide. */
async function typed(records: readonly LakeRecord[]): Promise<readonly Record<string, unknown>[]> {
  const columns = parquetColumns.map(({ name, kind }) => (kind === 'instant' ? `epoch_us("${name}")::VARCHAR AS "${name}"` : `"${name}"`));
  return await inFolder(async (folder) => {
    const file = await writeRecords(database, folder, records);
    return await rowsOf(database, `SELECT ${columns.join(', ')} FROM '${file.path}' ORDER BY "offset"`);
  });
}

const typedOf = async (value: string, headers: LakeRecord['headers'] = []) => (await typed([recordAt(0, value, { headers })]))[0];

/** What a typed column must hold, said a second time in JavaScript. `undefined` is not compared. */
function expected(kind: string, duckdbType: string, value: unknown): unknown {
  switch (kind) {
    case 'instant':
      return typeof value === 'string' ? (parseInstant(value)?.epochUs.toString() ?? null) : null;
    case 'string':
    case 'enum':
      return typeof value === 'string' ? value : null;
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? (Object.is(value, -0) ? 0 : value) : null;
    case 'integer': {
      if (typeof value !== 'number' || !Number.isInteger(value)) return null;
      // Beyond 2^53 JavaScript does not know what was written.
      if (!Number.isSafeInteger(value)) return undefined;
      if (duckdbType === 'INTEGER') return Math.abs(value) < 2 ** 31 ? (value === 0 ? 0 : value) : null;
      return String(value);
    }
    default:
      return undefined;
  }
}

function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(withoutLoneSurrogates(Buffer.from(text))?.toString() ?? text);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    // Not JSON: the row has no typed columns.
    return undefined;
  }
}

describe('typed columns', () => {
  it('hold exactly what the values say, for any JSON', async () => {
    const { values, name: seed } = seeded(jsonText, 3000);
    const texts = values;
    expect(texts.length).toBeGreaterThan(1000);
    const rows = await typed(texts.map((text, i) => recordAt(i, text)));
    texts.forEach((text, i) => {
      const parsed = parsedObject(text) ?? {};
      for (const { name, kind, duckdbType } of parquetColumns) {
        const want = expected(kind, duckdbType, parsed[name]);
        if (want !== undefined) expect(rows[i]?.[name], `${seed}, row ${i}, ${name} of ${text}`).toEqual(want);
      }
    });
  });

  it('merge unknown fields into attributes, whose own members win', async () => {
    const { values, name: seed } = seeded(jsonText, 2000);
    const texts = values.filter((text) => !/1e400|\d{17}|-0(?![.\d])/.test(text));
    const rows = await typed(texts.map((text, i) => recordAt(i, text)));
    let merged = 0;
    texts.forEach((text, i) => {
      const parsed = parsedObject(text);
      if (parsed === undefined) return;
      const own = parsed.attributes;
      const isObject = typeof own === 'object' && own !== null && !Array.isArray(own);
      const unknown = Object.fromEntries(Object.entries(parsed).filter(([name]) => !names.has(name)));
      const want = isObject ? { ...unknown, ...own } : unknown;
      const got = rows[i]?.attributes;
      const empty = !isObject && Object.keys(unknown).length === 0;
      if (Object.keys(unknown).length > 0) merged++;
      expect(got === null ? null : JSON.parse(String(got)), `${seed}, row ${i}: ${text}`).toEqual(empty ? null : want);
    });
    expect(merged).toBeGreaterThan(200);
  });

  it('are filled from an event that has every field', async () => {
    const row = await typedOf(JSON.stringify(BASE_EVENT));
    expect(row).toEqual({
      ...BASE_EVENT,
      timestamp: parseInstant(BASE_EVENT.timestamp)?.epochUs.toString(),
      bytes: String(BASE_EVENT.bytes),
      attributes: JSON.stringify(BASE_EVENT.attributes),
    });
  });

  it.each([
    ['2026-01-31T23:59:59.123456789Z', 'nanoseconds are cut'],
    ['1969-12-31T23:59:59.9999999Z', 'cut towards the past'],
    ['2026-01-31t23:59:59.1z', 'lower case'],
    ['2026-01-31T23:59:59-23:59', 'an offset of a day'],
    ['2016-12-31T23:59:60Z', 'a leap second'],
    ['2016-12-31T23:59:60.999Z', 'a leap second with a fraction'],
    ['2017-01-01T05:29:60+05:30', 'a leap second with an offset'],
    ['0000-02-29T00:00:00Z', 'the year 0'],
    ['2100-02-29T00:00:00Z', 'no such day'],
    ['2026-06-15T12:30:60Z', 'no leap second there'],
    ['2026-01-31', 'no time'],
    ['2026-01-31T23:59:59', 'no zone'],
    ['2026-01-31 23:59:59Z', 'no T'],
    ['2026-01-31T23:59:59.1234567891Z', 'ten digits'],
    ['epoch', 'a word'],
  ])('read the instant %s as the rest of the product does (%s)', async (text) => {
    const row = await typedOf(JSON.stringify({ timestamp: text }));
    expect(row?.timestamp).toBe(parseInstant(text)?.epochUs.toString() ?? null);
  });

  it('take a number only when it is one, whole where it must be, and finite', async () => {
    expect(await typedOf('{"status_code":200.0,"bytes":1e3,"latency_ms":7}')).toMatchObject({
      status_code: 200,
      bytes: '1000',
      latency_ms: 7,
    });
    expect(await typedOf('{"status_code":200.5,"bytes":"12","latency_ms":1e400}')).toEqual(ALL_NULL);
    expect(await typedOf('{"status_code":true,"bytes":1e300,"latency_ms":"infinity"}')).toEqual(ALL_NULL);
    expect(await typedOf('{"bytes":9223372036854775807,"status_code":99999999999}')).toMatchObject({
      bytes: '9223372036854775807',
      status_code: null,
    });
  });

  it('stay NULL for an unknown event type and a newer major version, and for what is no object', async () => {
    const value = JSON.stringify(BASE_EVENT);
    const type = (name: string, version: string): LakeRecord['headers'] => [
      ['event.type', Buffer.from(name)],
      ['event.version', Buffer.from(version)],
    ];
    expect(await typedOf(value, type('invoice', '1.0'))).toEqual(ALL_NULL);
    expect(await typedOf(value, type(SERVICE_EVENT_TYPE, '2.0'))).toEqual(ALL_NULL);
    expect(await typedOf(value, type(SERVICE_EVENT_TYPE, '1.7'))).toMatchObject({ region: 'eu-west-1' });
    expect(await typedOf('["a"]')).toEqual(ALL_NULL);
    expect(await typedOf('')).toEqual(ALL_NULL);
  });

  it('decode the records of every released version of the event', async () => {
    const golden = goldenRecords();
    const rows = await typed(golden.map(({ key, value, headers }, i) => recordAt(i, value, { key, headers })));
    golden.forEach(({ value, version, about }, i) => {
      const event = parsedObject(value.toString()) ?? {};
      const got = { service: rows[i]?.service, customer_id: rows[i]?.customer_id, timestamp: rows[i]?.timestamp };
      const timestamp = parseInstant(String(event.timestamp))?.epochUs.toString();
      expect(got, `${version}: ${about}`).toEqual({ service: event.service, customer_id: event.customer_id ?? null, timestamp });
    });
    expect(golden.length).toBeGreaterThan(5);
  });

  it('do not let one odd value spoil the file: the others keep their columns', async () => {
    const records = oddValues.flatMap(({ value }, i) => [recordAt(2 * i, value), recordAt(2 * i + 1, '{"service":"after"}')]);
    const rows = await typed(records);
    expect(rows.filter((_, i) => i % 2 === 1).map(({ service }) => service)).toEqual(oddValues.map(() => 'after'));
  });
});
