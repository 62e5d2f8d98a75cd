import { afterAll, beforeAll, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import type { LakeRecord } from './records.ts';
import { inFolder, readRecords, recordAt, rowsOf, writeRecords } from './testing/index.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

const event = (version: string): LakeRecord['headers'] => [
  ['event.type', Buffer.from('service-event')],
  ['event.version', Buffer.from(version)],
];

/** What each record of one object is, and what its typed columns and its value hold. */
const RECORDS: readonly (readonly [string, Buffer | null, LakeRecord['headers'], Record<string, unknown>])[] = [
  [
    'of the present version',
    Buffer.from('{"service":"a","status_code":200}'),
    event('1.0'),
    { service: 'a', status_code: 200, attributes: null, value_state: 'rebuilt', value: null },
  ],
  [
    'of a later minor version, with a field that this release does not know',
    Buffer.from('{"service":"b","zone":"z1","attributes":{"k":1}}'),
    event('1.3'),
    { service: 'b', attributes: '{"zone":"z1","k":1}', value_state: 'kept', value: '{"service":"b","zone":"z1","attributes":{"k":1}}' },
  ],
  [
    'of a later major version, in which a field has another type',
    Buffer.from('{"service":{"name":"c"},"status_code":"ok"}'),
    event('2.0'),
    { service: null, status_code: null, attributes: null, value_state: 'kept', value: '{"service":{"name":"c"},"status_code":"ok"}' },
  ],
  [
    'with values of the wrong type: NULL, beside their bytes',
    Buffer.from('{"service":7,"status_code":"200","latency_ms":1e400,"level":"error"}'),
    event('1.0'),
    {
      service: null,
      status_code: null,
      latency_ms: null,
      level: 'error',
      value_state: 'kept',
      value: '{"service":7,"status_code":"200","latency_ms":1e400,"level":"error"}',
    },
  ],
  ['that is no JSON', Buffer.from('{"service":"d"'), event('1.0'), { service: null, value_state: 'kept', value: '{"service":"d"' }],
  ['without headers', Buffer.from('{"service":"e"}'), [], { service: 'e', value_state: 'rebuilt', value: null }],
  ['without a value', null, event('1.0'), { service: null, value_state: 'null', value: null }],
];

it('an object holds records of several versions, and bad values are NULL beside their bytes', async () => {
  const records = RECORDS.map(([, value, headers], i) => recordAt(i, value, { headers }));
  await inFolder(async (folder) => {
    const file = await writeRecords(database, folder, records);
    const rows = await rowsOf(
      database,
      `SELECT * REPLACE (decode(value) AS value, attributes::VARCHAR AS attributes) FROM '${file.path}' ORDER BY "offset"`,
    );
    RECORDS.forEach(([what, , , columns], i) => {
      const attributes = rows[i]?.attributes;
      const got = { ...rows[i], attributes: attributes === null ? null : JSON.parse(String(attributes)) };
      const want = typeof columns.attributes === 'string' ? { ...columns, attributes: JSON.parse(columns.attributes) } : columns;
      expect(got, what).toMatchObject(want);
    });
    expect(await readRecords(database, file)).toEqual(records);
  });
});
