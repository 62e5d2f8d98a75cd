import { parquetColumns } from '@tailrace/events';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from './duckdb.ts';
import type { LakeRecord } from './records.ts';
import { inFolder, readRecords, recordAt, rowsOf, writeRecords } from './testing/index.ts';
import { seeded } from './testing/seeded.ts';
import { BASE_EVENT, jsonText, mutated, oddValues } from './testing/values.ts';

let database: Database;
beforeAll(async () => {
  database = await Database.open();
});
afterAll(() => database.close());

async function backAndStates(records: readonly LakeRecord[]): Promise<{ back: readonly LakeRecord[]; states: readonly unknown[] }> {
  return await inFolder(async (folder) => {
    const file = await writeRecords(database, folder, records);
    const states = await rowsOf(database, `SELECT value_state FROM '${file.path}' ORDER BY "offset"`);
    return { back: await readRecords(database, file), states: states.map((row) => row.value_state) };
  });
}

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const nullable = fc.option(bytes, { nil: null });
const headers = fc.array(fc.tuple(fc.string({ unit: 'grapheme', maxLength: 12 }), nullable), { maxLength: 4 });
const text = fc.oneof(jsonText, mutated(jsonText)).map((value) => (typeof value === 'string' ? Buffer.from(value) : value));
const value = fc.oneof({ weight: 8, arbitrary: text }, { weight: 1, arbitrary: bytes }, { weight: 1, arbitrary: fc.constant(null) });

describe('records through a lake file', () => {
  it('come back byte for byte, whatever they hold', async () => {
    const record = fc.record({ key: nullable, value, headers, timestampMs: fc.integer({ min: -1, max: 4_102_444_800_000 }) });
    for (let file = 0; file < 4; file++) {
      const { values, name } = seeded(record, 1500);
      const records = values.map((each, i) => ({ ...each, offset: 2 ** 40 + i }));
      const { back } = await backAndStates(records);
      expect(back.length, name).toBe(records.length);
      records.forEach((each, i) => {
        expect(back[i], `${name}, row ${i}`).toEqual(each);
      });
    }
  });

  it('come back byte for byte for a list of values that parsers trip over, and none is rebuilt that should not be', async () => {
    const records = oddValues.map(({ value }, i) => recordAt(i, value));
    const { back, states } = await backAndStates(records);
    records.forEach(({ value }, i) => {
      // Buffer.equals: a deep comparison of megabytes takes seconds.
      const same = value === null ? back[i]?.value === null : back[i]?.value?.equals(value);
      expect([oddValues[i]?.name, same]).toEqual([oddValues[i]?.name, true]);
    });
    expect(Object.fromEntries(oddValues.map(({ name }, i) => [name, states[i]]))).toEqual(
      Object.fromEntries(oddValues.map(({ name, state }) => [name, state])),
    );
  });

  it('hold no value of an event twice: any fields in any order are rebuilt', async () => {
    const { values, name } = seeded(fc.shuffledSubarray(Object.entries(BASE_EVENT), { minLength: 1 }), 3000);
    const records = values.map((entries, i) => recordAt(i, JSON.stringify(Object.fromEntries(entries))));
    const { back, states } = await backAndStates(records);
    records.forEach((each, i) => {
      expect([back[i], states[i]], `${name}, row ${i}`).toEqual([each, 'rebuilt']);
    });
  });

  it('keep nulls as nulls: an absent field and a null field are different bytes', async () => {
    const records = [recordAt(0, '{"service":"a"}'), recordAt(1, '{"service":"a","region":null}')];
    const { back, states } = await backAndStates(records);
    expect(back).toEqual(records);
    expect(states).toEqual(['rebuilt', 'rebuilt']);
  });

  it('fill a typed column for each field of the table', async () => {
    await inFolder(async (folder) => {
      const file = await writeRecords(database, folder, [recordAt(0, JSON.stringify(BASE_EVENT))]);
      const schema = await rowsOf(database, `DESCRIBE SELECT * FROM '${file.path}'`);
      const types = Object.fromEntries(schema.map((row) => [row.column_name, row.column_type]));
      for (const { name, duckdbType } of parquetColumns) expect([name, types[name]]).toEqual([name, duckdbType]);
      expect(types).toMatchObject({ offset: 'BIGINT', kafka_timestamp: 'TIMESTAMP WITH TIME ZONE', key: 'BLOB', value: 'BLOB' });
    });
  });
});
